"""A planned draw, and the draws of a study with their estimates, as JSON values: what the command and the API state."""

from annotation.models import Rater
from calibration.reports.codec import stored
from calibration.reports.registry import Plain
from judging.comparison.routing.draws import RoutingPlan
from judging.comparison.routing.estimates import Routing
from judging.models import RoutedDraw

POPULATION = "such instructions, these raters"
"""Whom the intervals of an estimate are about."""


def plan_json(plan: RoutingPlan) -> Plain:
    return {
        "models": list(plan.pool.models.values()),
        "pool": len(plan.pool.units),
        "left_out": plan.pool.left_out,
        "spread": plan.pool.spread_kind,
        "instructions": plan.budget,
        "responses": plan.ratings / plan.overlap,
        "ratings": plan.ratings,
        "overlap": plan.overlap,
        "chance_of_under_20": plan.too_few,
        "strata": [{**stored(one), "expected": one.expected} for one in plan.strata],
        "saving": stored(plan.saving),
    }


def routing_json(found: Routing) -> Plain:
    return {**stored(found), "population": POPULATION}


def draw_json(made: RoutedDraw) -> Plain:
    """Return the frozen draw with every instruction of its pool, in the order in which chance was asked."""
    return {
        "draw": made.public_id,
        "study": made.rated_in.slug if made.rated_in else "",
        "judges": [str(one) for one in Rater.objects.filter(pk__in=made.judges).order_by("label")],
        "spread": made.spread_kind,
        "strata": made.strata,
        "seed": made.seed,
        "instructions": made.budget,
        "overlap": made.overlap,
        "drawn": sum(bool(unit["drawn"]) for unit in made.frame),
        "frame": made.frame,
    }

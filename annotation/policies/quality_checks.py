"""The schedule of a study's quality checks, and how far one rater is in it."""

from collections.abc import Collection
from typing import Any

from django.db.models import Aggregate, Count, Max, Q
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Study
from annotation.policies.policies import CONTROL, GOLD, PROBE, RATES, CheckPlan, PaceRule, PausingRule, Policies
from annotation.rules.spacing import Given, Rate, kinds_due, phase_of

TRAINING, QUALIFICATION = "training", "qualification"
BEFORE_RATING = (TRAINING, QUALIFICATION)


def plan_of(study: Study) -> CheckPlan:
    """Return the study's schedule. Raises BadPolicy."""
    names = (*(f"{kind}_rate" for kind in RATES), "probe_gap", "probe_times")
    return Policies.of(study).checked(*names).check_plan


def pausing_rule(study: Study) -> PausingRule:
    """Return the rule by which failed checks pause a rater. Raises BadPolicy."""
    return Policies.of(study).checked("checks").pausing


def pace_rule(study: Study) -> PaceRule | None:
    """Return the study's rule on reading pace, or None if it is switched off. Raises BadPolicy."""
    rule = Policies.of(study).checked("reading_pace").reading_pace
    return rule if rule.words else None


_COUNTED = ~(Q(conditions__has_key=TRAINING) | Q(conditions__has_key=QUALIFICATION))
_OF_KIND = {PROBE: Q(repeat__gt=0), GOLD: Q(conditions__has_key=GOLD), CONTROL: Q(conditions__has_key=CONTROL)}


def counts_for(kinds: Collection[str]) -> dict[str, Aggregate | Coalesce]:
    """Return the counts of a rater's assignments for these kinds of check, for the query on their progress."""
    counts: dict[str, Aggregate | Coalesce] = {"handed": Count("pk", filter=_COUNTED)}
    for kind in kinds:
        counts[f"{kind}_count"] = Count("pk", filter=_OF_KIND[kind])
        counts[f"{kind}_last"] = Coalesce(Max("order", filter=_OF_KIND[kind]), 0)
    counts["shown_a"] = Count("pk", filter=Q(shown_first=Assignment.Side.A))
    counts["shown_b"] = Count("pk", filter=Q(shown_first=Assignment.Side.B))
    return counts


def kinds_due_now(study: Study, rater: int, plan: CheckPlan, counts: dict[str, Any]) -> list[str]:
    """Return the kinds of check due for the rater's next task by the counts of `counts_for`, the most overdue first."""
    kinds = [kind for kind, share in plan.rates.items() if share]
    number = counts["handed"] + 1
    found = kinds_due(
        number,
        {kind: Rate(plan.rates[kind], phase_of(study.seed, rater, kind)) for kind in kinds},
        {kind: Given(counts[f"{kind}_count"], counts[f"{kind}_last"]) for kind in kinds},
        insist=frozenset({PROBE}),
    )
    return [kind for kind in found if kind != PROBE or number > plan.gap]


def check_policies(study: Study) -> dict[str, Any]:
    """The schedule as shown to leads: rates in percent, the gap, and the pausing rule. Raises BadPolicy."""
    plan, pausing = plan_of(study), pausing_rule(study)
    return {f"{kind}_percent": float(share * 100) for kind, share in plan.rates.items()} | {
        "gap": plan.gap,
        "times": plan.times,
        "window": pausing.window,
        "failed": pausing.failed,
    }

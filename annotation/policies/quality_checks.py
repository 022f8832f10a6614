"""A study's policies on quality checks, and how far one rater is in their schedule.

Policies read here: "probe_rate" (share of a rater's tasks that are repeated tasks, 0.02), "probe_gap" (minimum
number of tasks before a repeat, 10), "probe_times" (how often one task may come back, 1), "gold_rate" and
"control_rate" (shares of gold items and attention checks, 0.05 each if the study has any), "checks"
({"window": 10, "failed": 3}: a rater who fails 3 of the latest 10 checks is paused), "reading_pace"
({"words": 1000, "told": 5, "paused": 5}: a rater is warned after 5 consecutive answers faster than 1000 words a
minute, and paused after 5 more; 0 words: never).
"""

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from django.db.models import Aggregate, Count, Max, Q
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Study
from annotation.rules.reading_time import FASTEST_WORDS_A_MINUTE
from annotation.rules.spacing import Given, Rate, kinds_due, phase_of
from core.errors import UserError
from core.messages.message import Wording

PROBE, GOLD, CONTROL = "probe", "gold", "control"
TRAINING, QUALIFICATION = "training", "qualification"
BEFORE_RATING = (TRAINING, QUALIFICATION)
HIGHEST_RATE = Fraction(1, 4)
RATES = {PROBE: 0.02, GOLD: 0.05, CONTROL: 0.05}
SHORTEST_GAP, USUAL_GAP, MOST_TIMES = 1, 10, 20
SLOWEST_LIMIT = 300
"""Most adults read up to 300 words a minute (pace.py): a lower limit would take honest reading for haste."""


NO_SHARE = Wording("study.no_share", "Study %(study)s: %(name)s %(value)s is not a share from 0 to %(most)s.")
NOT_WHOLE = Wording(
    "study.not_whole", "Study %(study)s: %(name)s %(value)s is not a whole number from %(low)s to %(high)s."
)
BAD_PACE = Wording(
    "study.bad_pace",
    "Study %(study)s: reading_pace %(value)s needs whole numbers, words 0 or from 300, told and paused from 1.",
)
BAD_CHECKS = Wording(
    "study.bad_checks", "Study %(study)s: checks %(value)s needs whole numbers, failed from 1 to window."
)


class BadPolicy(UserError):
    """A study's policy is invalid; the message names it."""


@dataclass(frozen=True)
class CheckPlan:
    """The quality-check schedule of a study; rates are shares of all tasks of a rater."""

    rates: dict[str, Fraction]
    gap: int
    times: int


def _share(study: Study, kind: str) -> Fraction:
    value = study.policies.get(f"{kind}_rate", RATES[kind])
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= HIGHEST_RATE:
        name, most = f"{kind}_rate", float(HIGHEST_RATE)
        raise BadPolicy(NO_SHARE(study=study.slug, name=name, value=repr(value), most=most))
    return Fraction(str(value))


def whole_policy(study: Study, name: str, default: int, low: int, high: int) -> int:
    """A policy that is a whole number from `low` to `high`. Raises BadPolicy."""
    value = study.policies.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadPolicy(NOT_WHOLE(study=study.slug, name=name, value=repr(value), low=low, high=high))
    return value


def plan_of(study: Study) -> CheckPlan:
    """The study's plan; raises BadPolicy."""
    return CheckPlan(
        rates={kind: _share(study, kind) for kind in RATES},
        gap=whole_policy(study, "probe_gap", USUAL_GAP, SHORTEST_GAP, 100_000),
        times=whole_policy(study, "probe_times", 1, 1, MOST_TIMES),
    )


def pausing_rule(study: Study) -> tuple[int, int]:
    """(window, failed): a rater who fails `failed` of the latest `window` checks is paused."""
    rule = study.policies.get("checks", {})
    window, failed = rule.get("window", 10), rule.get("failed", 3)
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in (window, failed)) or not 1 <= failed <= window:
        raise BadPolicy(BAD_CHECKS(study=study.slug, value=repr(rule)))
    return window, failed


@dataclass(frozen=True)
class PaceRule:
    """Consecutive answers faster than `words` per minute before a rater is warned, and further ones before a pause."""

    words: int = FASTEST_WORDS_A_MINUTE
    told: int = 5
    paused: int = 5


def pace_rule(study: Study) -> PaceRule | None:
    """The study's rule on reading pace, or None if it is switched off. Raises BadPolicy."""
    given = study.policies.get("reading_pace", {})
    usual = PaceRule()
    rule = PaceRule(*(given.get(name, getattr(usual, name)) for name in ("words", "told", "paused")))
    numbers = (rule.words, rule.told, rule.paused)
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
        raise BadPolicy(BAD_PACE(study=study.slug, value=repr(given)))
    if not (rule.words == 0 or rule.words >= SLOWEST_LIMIT) or min(rule.told, rule.paused) < 1:
        raise BadPolicy(BAD_PACE(study=study.slug, value=repr(given)))
    return rule if rule.words else None


_COUNTED = ~(Q(conditions__has_key=TRAINING) | Q(conditions__has_key=QUALIFICATION))
_OF_KIND = {PROBE: Q(repeat__gt=0), GOLD: Q(conditions__has_key=GOLD), CONTROL: Q(conditions__has_key=CONTROL)}


def counts_for(kinds: Collection[str]) -> dict[str, Aggregate | Coalesce]:
    """What to count of a rater's assignments for these kinds of check, in the query that asks for their progress."""
    counts: dict[str, Aggregate | Coalesce] = {"handed": Count("pk", filter=_COUNTED)}
    for kind in kinds:
        counts[f"{kind}_count"] = Count("pk", filter=_OF_KIND[kind])
        counts[f"{kind}_last"] = Coalesce(Max("order", filter=_OF_KIND[kind]), 0)
    counts["shown_a"] = Count("pk", filter=Q(shown_first=Assignment.Side.A))
    counts["shown_b"] = Count("pk", filter=Q(shown_first=Assignment.Side.B))
    return counts


def kinds_due_now(study: Study, rater: int, plan: CheckPlan, counts: dict[str, Any]) -> list[str]:
    """The kinds of check due for the rater's next task by the counts of `counts_for`, the most overdue first."""
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
    plan, (window, failed) = plan_of(study), pausing_rule(study)
    return {f"{kind}_percent": float(share * 100) for kind, share in plan.rates.items()} | {
        "gap": plan.gap,
        "times": plan.times,
        "window": window,
        "failed": failed,
    }

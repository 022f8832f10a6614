"""What a rater is told about their own answers: feedback in training, agreement with gold items, and working time."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from annotation.assignment.leases import GIVEN
from annotation.models import Assignment, CheckOutcome, Criterion, Rater, Study, TimeCorrection, latest_scores
from annotation.policies.policies import CONTROL, GOLD, Policies
from annotation.rubrics.scales import answer_text
from annotation.rules.marking import admits

GOLD_BATCH, FEWEST_GOLD = 50, 10


@dataclass(frozen=True)
class FeedbackLine:
    """One question of a training task."""

    question: str
    answered: str
    expected: str
    as_expected: bool


def expected_text(criterion: Criterion, wanted: Any) -> str:
    """The answer expected, or the two ends of those that are fine."""
    if isinstance(wanted, (list, tuple)):
        ends = {"low": answer_text(criterion, float(wanted[0])), "high": answer_text(criterion, float(wanted[1]))}
        return ends["low"] if ends["low"] == ends["high"] else _("%(low)s to %(high)s") % ends
    return answer_text(criterion, None if wanted is None else float(wanted))


def feedback_on(assignment: Assignment) -> list[FeedbackLine]:
    """The questions with a known answer, in the rubric's order."""
    expected = (assignment.task.gold or {}).get("expected", {})
    scores = latest_scores(assignment.scores.all())
    lines = []
    for criterion in assignment.task.answer_rubric.criteria.all():
        if criterion.key not in expected:
            continue
        value = scores[criterion.pk].value if criterion.pk in scores else None
        lines.append(
            FeedbackLine(
                criterion.question,
                answer_text(criterion, value),
                expected_text(criterion, expected[criterion.key]),
                admits(expected[criterion.key], value),
            )
        )
    return lines


def agreement_with_gold(rater: Rater, study: Study) -> tuple[int, int] | None:
    """(as expected, of) the rater's gold items and controls; None where the study's "show_gold" does not allow it.

    What is said changes only after every GOLD_BATCH answers of any kind, and never by changing an answer, so that no
    single task is given away; nothing is said before FEWEST_GOLD of them.
    """
    if not Policies.of(study).show_gold:
        return None
    given = Assignment.objects.filter(GIVEN, rater=rater).order_by("submitted_at", "pk")
    told = given.count() // GOLD_BATCH * GOLD_BATCH
    if not told:
        return None
    last = given.values_list("submitted_at", "pk")[told - 1]
    before = Q(assignment__submitted_at__lt=last[0]) | Q(assignment__submitted_at=last[0], assignment__lte=last[1])
    outcomes = CheckOutcome.objects.filter(before, assignment__rater=rater, purpose__in=[GOLD, CONTROL])
    counts = outcomes.aggregate(passed=Count("pk", filter=Q(passed=True)), all=Count("pk"))
    return (counts["passed"], counts["all"]) if counts["all"] >= FEWEST_GOLD else None


def seconds_open(assignment: Assignment) -> float | None:
    """Seconds that passed between the task's hand-out and its answer; None where that is not known."""
    if assignment.submitted_at is None:
        return None
    handed = assignment.shown_at or assignment.created_at
    return max(0.0, (assignment.submitted_at - handed).total_seconds())


def with_own_time(assignments: Any) -> Any:
    """With `corrected`, the seconds the rater says (None without a correction), `claimed` where they said more than passed
    between hand-out and answer, `own_reason`, and minutes to show."""
    latest = TimeCorrection.objects.filter(assignment=OuterRef("pk")).order_by("-pk")
    return assignments.annotate(
        corrected=Subquery(latest.values("seconds")[:1]),
        claimed=Subquery(latest.values("claimed")[:1]),
        own_reason=Subquery(latest.values("reason")[:1]),
    ).annotate(
        active_minutes=F("active_seconds") / 60,
        idle_minutes=F("idle_seconds") / 60,
        corrected_minutes=F("corrected") / 60,
        claimed_minutes=F("claimed") / 60,
    )


def worked_seconds(rater: Rater) -> float:
    """The rater's working time: their correction if they gave one, else the measured active time. One query."""
    found = with_own_time(Assignment.objects.filter(GIVEN, rater=rater))
    total = found.aggregate(seconds=Coalesce(Sum(Coalesce(F("corrected"), F("active_seconds"))), 0.0))
    return float(total["seconds"])

"""The page of one rater: work, pace, quality checks, straight-lining and preferred side."""

from dataclasses import dataclass
from statistics import median
from typing import Any, cast

from django.contrib import messages
from django.db.models import Count, F, Max, Min, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.assignment.haste import TOO_FAST, is_unread, pace_limit, words_shown
from annotation.assignment.rater_status import cause_words
from annotation.models import Assignment, CheckOutcome, Criterion, Flag, LateChange, Rater, Score, Study, Task
from annotation.monitoring.checks import fails_checks
from annotation.monitoring.exclusion import standing_exclusion
from annotation.monitoring.progress import ANSWERED
from annotation.policies.policies import CONTROL, GOLD
from annotation.studies.access import study_led_by, study_read_by
from annotation.studies.life_cycle import release_rater
from annotation.studies.provenance import provenance_of

LATEST_SHOWN = 30
LOOKED_AT = 500
FEWEST_ITEMS = 3
"""Answers of fewer items cannot be told from an honest "all the same"."""
FAST_SHARE = 0.25
"""Faster than a quarter of the study's median pace counts as fast."""


@dataclass(frozen=True)
class Habits:
    """Counts (n, of how many) of a rater's latest answers that were fast compared with others', faster than their texts
    can be read, straight-lined, or for the side shown first. `pace` is in seconds per hundred words."""

    pace: float | None
    study_pace: float | None
    fast: tuple[int, int]
    unread: tuple[int, int]
    flat: tuple[int, int]
    first_side: tuple[int, int]


@dataclass(frozen=True)
class _Reading:
    """An answer's active seconds, or those since its assignment (None if unknown), the number of words it is about, and
    whether its pace was recorded as too fast."""

    seconds: float | None
    words: float
    noticed: bool

    @property
    def pace(self) -> float | None:
        """Seconds per hundred words."""
        return 100 * self.seconds / self.words if self.seconds else None

    def is_unread(self, limit: int) -> bool:
        return self.noticed or (bool(self.seconds) and is_unread(self.words, self.seconds or 0.0, limit))


def _readings(assignments: QuerySet[Assignment]) -> list[_Reading]:
    """Readings of the answers whose length is known; three queries."""
    columns = "task_id", "active_seconds", "conditions", "shown_at", "submitted_at"
    rows = list(assignments.values_list(*columns))
    words = words_shown(Task.objects.filter(pk__in={row[0] for row in rows}))
    return [
        _Reading(
            active or ((submitted - shown).total_seconds() if shown and submitted else None),
            words[task],
            TOO_FAST in conditions,
        )
        for task, active, conditions, shown, submitted in rows
        if task in words
    ]


def habits_of(rater: Rater, study: Study) -> Habits:
    """Pace, straight-lining and preferred side in the rater's latest answers; nine queries."""
    own = Assignment.objects.filter(ANSWERED, rater=rater).order_by("-pk")
    latest = own[:LOOKED_AT]
    pks = list(latest.values_list("pk", flat=True))
    read = _readings(Assignment.objects.filter(pk__in=pks))
    mine = [one.pace for one in read if one.pace is not None]
    others = [one.pace for one in _readings(_some_answers(study)) if one.pace is not None]
    usual = median(others) if others else None
    fast = sum(pace < FAST_SHARE * usual for pace in mine) if usual else 0
    limit = pace_limit(study)
    unread = sum(one.is_unread(limit) for one in read)
    return Habits(
        pace=median(mine) if mine else None,
        study_pace=usual,
        fast=(fast, len(mine)),
        unread=(unread, len(read)),
        flat=_flat(pks),
        first_side=_first_side(pks),
    )


def _some_answers(study: Study) -> Any:
    """A sample of the study's latest answers, large enough for a median."""
    pks = Assignment.objects.filter(ANSWERED, rater__study=study).order_by("-pk").values_list("pk", flat=True)
    return Assignment.objects.filter(pk__in=list(pks[:LOOKED_AT]))


def _flat(pks: list[int]) -> tuple[int, int]:
    """Number of straight-lined answers, and of answers with enough items to tell."""
    items = Score.objects.filter(assignment__in=pks, criterion__role=Criterion.Role.ITEM, value__isnull=False)
    counted = (
        items.order_by()
        .values("assignment")
        .annotate(n=Count("criterion", distinct=True), low=Min("value"), high=Max("value"))
        .filter(n__gte=FEWEST_ITEMS)
        .aggregate(all=Count("assignment"), flat=Count("assignment", filter=Q(low=F("high"))))
    )
    return counted["flat"], counted["all"]


def _first_side(pks: list[int]) -> tuple[int, int]:
    """Number of pairs won by the side shown first, and of pairs without a tie."""
    won = Score.objects.filter(
        assignment__in=pks, criterion__role=Criterion.Role.PREFERENCE, assignment__shown_first__in=["a", "b"]
    ).exclude(value=0)
    first = Q(value__gt=0, assignment__shown_first="a") | Q(value__lt=0, assignment__shown_first="b")
    counted = won.aggregate(all=Count("pk"), first=Count("pk", filter=first))
    return counted["first"], counted["all"]


@results_page
@never_cache
@require_safe
def rater_page(request: HttpRequest, slug: str, rater_id: str) -> HttpResponse:
    """Show one rater's work, how it compares, and their latest answers."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    raters = Rater.objects.filter(study=study, kind=Rater.Kind.PERSON).select_related("cohort", "standing")
    rater = get_object_or_404(raters, public_id=rater_id)
    status = Assignment.Status
    counts = Assignment.objects.filter(rater=rater).aggregate(
        answered=Count("pk", filter=ANSWERED),
        repeats=Count("pk", filter=Q(status=status.SUBMITTED, repeat__gt=0)),
        surplus=Count("pk", filter=Q(status=status.SURPLUS)),
        excluded=Count("pk", filter=Q(status=status.EXCLUDED)),
        skipped=Count("pk", filter=Q(status=status.SKIPPED)),
        open=Count("pk", filter=Q(status=status.OPEN)),
        last=Max("submitted_at"),
    )
    checks = CheckOutcome.objects.filter(assignment__rater=rater, purpose__in=[GOLD, CONTROL]).aggregate(
        all=Count("pk"), failed=Count("pk", filter=Q(passed=False))
    )
    latest = (
        Assignment.objects.filter(rater=rater)
        .exclude(status=status.OPEN)
        .select_related("task__response_a__instruction__category", "check_outcome")
        .order_by("-submitted_at", "-pk")[:LATEST_SHOWN]
    )
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": leads_workspace_of(user, study),
        "rater": rater,
        "own_provenance": [rater.provenance] if rater.provenance else [],
        "standing": getattr(rater, "standing", None),
        "cause": cause_words(getattr(rater, "standing", None)),
        "pace_limit": pace_limit(study),
        "late_changes": LateChange.objects.filter(assignment__rater=rater).count(),
        "counts": counts,
        "exclusion": standing_exclusion(rater),
        "checks": checks,
        "failing": fails_checks(checks["failed"], checks["all"]),
        "habits": habits_of(rater, study),
        "latest": latest,
        "notes": Flag.objects.filter(rater=rater, task__study=study).select_related("task")[:20],
    }
    return render(request, "annotation/rater.html", context)


@results_page
@require_POST
def take_back(request: HttpRequest, slug: str, rater_id: str) -> HttpResponse:
    """Release the rater's open tasks to others."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    rater = get_object_or_404(Rater, study=study, kind=Rater.Kind.PERSON, public_id=rater_id)
    freed = release_rater(study, rater.pk, by=user)
    if freed:
        told = ngettext("%(n)s task has been released.", "%(n)s tasks have been released.", freed)
        messages.success(request, told % {"n": freed})
    else:
        messages.info(request, _("This rater has no open tasks."))
    return redirect("annotation:rater", study, rater.public_id)

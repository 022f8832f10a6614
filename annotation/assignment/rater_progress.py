"""A rater's progress in a study, and its limits: the quota, the answers per hour, the study's last day.

Policies read here: "quota" (answers a rater may give, counting every kind of task, since a rater
cannot tell them apart), "answers_per_hour" (no limit), "last_day" (none).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from annotation.assignment.leases import COUNTED, GIVEN
from annotation.models import Assignment, Rater, Study
from annotation.policies.policies import CheckPlan, Policies
from annotation.policies.quality_checks import counts_for
from core.db.prepared import EXAMPLE_ID, EXAMPLE_TIME, PreparedValues
from core.errors import UserError


class NoTaskLeft(UserError):
    """Every task is answered, held by other raters or was seen by this rater, or they gave all answers of their quota."""


class TooFast(NoTaskLeft):
    """The rater has given as many answers in the last hour as the study allows."""


@dataclass(frozen=True)
class Progress:
    """A rater's progress in a study. `submitted` counts every answer given, for any kind of task.

    `timed` counts the answers whose seconds were measured, which `active_seconds` adds up.
    """

    submitted: int
    skipped: int
    open: int
    active_seconds: float
    timed: int = 0


_PROGRESS: dict[str, Any] = {
    "submitted": Count("pk", filter=COUNTED),
    "skipped": Count("pk", filter=Q(status=Assignment.Status.SKIPPED)),
    "open": Count("pk", filter=Q(status=Assignment.Status.OPEN)),
    "timed": Count("active_seconds", filter=GIVEN),
    "active_seconds": Coalesce(Sum("active_seconds", filter=GIVEN), 0.0),
}


def progress_of(rater: Rater) -> Progress:
    """The rater's progress in the study; one query."""
    return Progress(**Assignment.objects.filter(rater=rater).aggregate(**_PROGRESS))


@cache
def _state_query(kinds: frozenset[str]) -> tuple[list[str], PreparedValues]:
    """The counts of a rater's work in a study with these kinds of check, and the query that computes them."""
    counted = _PROGRESS | counts_for(kinds)

    def build(rater: int, since: datetime) -> QuerySet[Any, Any]:
        recent = Count("pk", filter=GIVEN & Q(submitted_at__gt=since))
        own = Assignment.objects.filter(rater=rater).order_by().values_list("rater")
        return own.annotate(**counted, recent=recent)

    return [*counted, "recent"], PreparedValues(build, EXAMPLE_ID, EXAMPLE_TIME)


def state_of(rater: Rater, plan: CheckPlan, since: datetime) -> tuple[Progress, dict[str, Any]]:
    """The rater's progress, the counts for the quality-check schedule, and the answers given `since`; one query."""
    names, query = _state_query(frozenset(kind for kind, share in plan.rates.items() if share))
    rows = query.all(rater.pk, since)
    counts = dict(zip(names, rows[0][1:] if rows else [0] * len(names), strict=True))
    return Progress(**{name: counts.pop(name) for name in _PROGRESS}), counts


def has_ended(study: Study, now: datetime) -> bool:
    """Whether the study's last day (UTC) is over: open tasks may be finished, but no others are assigned."""
    last = Policies.of(study).last_day
    return last is not None and now.astimezone(UTC).date() > last


def refuse_excess(study: Study, progress: Progress, recent: int) -> None:
    """Raise NoTaskLeft, TooFast for the answers of an hour, if the rater has given as many answers as the study allows."""
    policies = Policies.of(study)
    quota, hourly = policies.quota, policies.answers_per_hour
    if quota is not None and progress.submitted >= quota:
        raise NoTaskLeft(f"{progress.submitted} answers of {quota} are given.")
    if hourly is not None and recent >= hourly:
        raise TooFast(f"{recent} answers of {hourly} an hour are given.")

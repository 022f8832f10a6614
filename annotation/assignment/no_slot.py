"""The page for a rater who finds all remaining slots held by others; it reloads automatically."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Min
from django.http import HttpResponse
from django.utils import timezone

from annotation.assignment.rater_progress import has_ended, progress_of
from annotation.assignment.rater_status import is_stopped
from annotation.models import Rater, Seat, Study
from annotation.policies.policies import Policies
from core.clock import Clock

LOOK_AGAIN_SECONDS = 60


def next_seat_for(study: Study, rater: Rater | None, *, clock: Clock) -> datetime | None:
    """The end of the next lease that could give a task to a rater who found none; None if no task can come.

    Counts only tasks that the rater has not had, and only while the rater may get more.
    """
    now, quota = clock(), Policies.of(study).quota
    if study.status != Study.Status.OPEN or has_ended(study, now):
        return None
    held = Seat.objects.filter(study=study, state=Seat.State.HELD, leased_until__gte=now)
    if rater is not None:
        if is_stopped(rater) or (quota is not None and progress_of(rater).submitted >= quota):
            return None
        held = held.exclude(task__assignments__rater=rater)
    earliest: datetime | None = held.aggregate(at=Min("leased_until"))["at"]
    return earliest


def seat_wait(next_seat: datetime) -> dict[str, Any]:
    """The template context: when the page reloads, and when the next lease ends at the latest (both in UTC)."""
    now = timezone.now()
    return {"looks_again_at": now + timedelta(seconds=LOOK_AGAIN_SECONDS), "next_seat_at": max(next_seat, now)}


def look_again(response: HttpResponse) -> HttpResponse:
    """Make the browser reload the page, with and without scripts."""
    response["Refresh"] = response["Retry-After"] = str(LOOK_AGAIN_SECONDS)
    return response

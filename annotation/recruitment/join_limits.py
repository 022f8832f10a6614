"""Limits on joining a study by one entry link: per network address and hour, and by the number of free slots.

People who join and answer nothing must not keep others out: those who joined by an entry link and
have not begun count against the free slots for half an hour, and the slot of one who began is freed when its lease
ends (leases.py).
"""

import hashlib
import hmac
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, F, Min, Q, QuerySet
from django.utils.formats import date_format
from django.utils.translation import gettext as _, ngettext

from accounts.models import Event, User
from annotation.assignment.leases import GIVEN
from annotation.models import Assignment, Cohort, DoorKnock, Rater, RefusedAddress, Seat, Standing, Study
from annotation.policies.policies import Policies
from core.clock import Clock
from core.errors import UserError

JOINS_AN_HOUR = 30
"""The default number of people who may join from one address by a new entry link without accounts."""
MOST_JOINS_AN_HOUR = 10_000
JOINED_SECONDS = 30 * 60
"""Seconds for which somebody who joined and has not begun is expected to take a slot."""
KEPT = timedelta(days=2)


class JoinRefused(UserError):
    """Nobody new can join by this link now; the message is for the visitor. `again`: when to try again."""

    def __init__(self, sentence: str, again: datetime) -> None:
        self.again = again
        super().__init__(sentence)


class TooManyFromAddress(JoinRefused):
    """As many people joined from this network address within the hour as the link allows."""


class NoSeatFree(JoinRefused):
    """All free slots are expected to be taken by people who are at work or have joined but not begun."""


def check_address(cohort: Cohort, address: str, *, clock: Clock) -> None:
    """Raise TooManyFromAddress if the link's limit per hour is reached."""
    limit, now = cohort.joins_per_hour, clock()
    if limit is None:
        return
    hour_ago = now - timedelta(hours=1)
    # Hashes change every day, so an hour around midnight has two.
    visitors = {_visitor(cohort, address, day) for day in (now, hour_ago)}
    recent = DoorKnock.objects.filter(cohort=cohort, visitor__in=visitors, at__gt=hour_ago)
    latest = list(recent.order_by("-at").values_list("at", flat=True)[:limit])
    if len(latest) < limit:
        return
    again = (latest[-1] if latest else now) + timedelta(hours=1)
    raise TooManyFromAddress(
        ngettext(
            "%(limit)s person has joined from your network in the past hour, which is the limit that the study's lead "
            "has set. Try again after %(time)s UTC, or ask the lead to raise the limit.",
            "%(limit)s people have joined from your network in the past hour, which is the limit that the study's "
            "lead has set. Try again after %(time)s UTC, or ask the lead to raise the limit.",
            limit,
        )
        % {"limit": limit, "time": date_format(again, "H:i")},
        again,
    )


def note_join(cohort: Cohort, address: str, *, clock: Clock) -> None:
    """Count a person who joined by this link from the address.

    Stores a keyed hash that changes every day and is deleted after two days.
    """
    now = clock()
    DoorKnock.objects.filter(at__lt=now - KEPT).delete()
    DoorKnock.objects.create(cohort=cohort, visitor=_visitor(cohort, address, now), at=now)


def note_refusal(cohort: Cohort, address: str, *, clock: Clock) -> None:
    """Count one who was refused for the address, for the lead to see; one row an address, kept for two days."""
    now = clock()
    RefusedAddress.objects.filter(last_at__lt=now - KEPT).delete()
    row, _made = RefusedAddress.objects.get_or_create(cohort=cohort, address=address, defaults={"last_at": now})
    RefusedAddress.objects.filter(pk=row.pk).update(refused=F("refused") + 1, last_at=now)


def _visitor(cohort: Cohort, address: str, day: datetime) -> str:
    text = f"{cohort.pk}:{day:%Y-%m-%d}:{address}"
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def check_room(cohort: Cohort, *, clock: Clock) -> None:
    """Raise NoSeatFree if people who have already joined are expected to take all free slots of the study.

    If no slot is left at all, free or held, there is nothing to wait for, and nobody is kept out.
    """
    now, study = clock(), cohort.study
    expected = waiting_at(cohort, now).count() + _at_work(study, now)
    free = free_seats_of(study, now)
    if len(free.values_list("pk", flat=True)[: expected + 1]) > expected:
        return
    again = next_seat_at(study, now)
    if again is None and not free.exists():
        return
    raise NoSeatFree(
        _("Other raters are working on all the remaining tasks right now."),
        again or now + timedelta(seconds=JOINED_SECONDS),
    )


def free_seats_of(study: Study, now: datetime) -> "QuerySet[Seat]":
    """The slots that a rater could claim now: free ones, and those whose lease has expired."""
    return Seat.objects.filter(Q(state=Seat.State.FREE) | Q(state=Seat.State.HELD, leased_until__lt=now), study=study)


def next_seat_at(study: Study, now: datetime) -> datetime | None:
    """When the study's next lease ends, unless its holder answers or keeps reading; None if no slot is held."""
    leases = Seat.objects.filter(study=study, state=Seat.State.HELD, leased_until__gte=now)
    earliest: datetime | None = leases.aggregate(at=Min("leased_until"))["at"]
    return earliest


def waiting_at(cohort: Cohort, now: datetime) -> "QuerySet[Rater]":
    """Raters who joined by this link recently, have answered nothing and hold no slot yet."""
    going_on = [Standing.State.JOINING, Standing.State.RATING]
    joined = Rater.objects.filter(
        cohort=cohort, standing__state__in=going_on, standing__consented_at__gt=now - timedelta(seconds=JOINED_SECONDS)
    )
    begun = Assignment.objects.filter(GIVEN | Q(status=Assignment.Status.OPEN), rater__cohort=cohort)
    return joined.exclude(pk__in=begun.values("rater"))


def _at_work(study: Study, now: datetime) -> int:
    """Raters who have answered, hold a slot, and may want another one after it."""
    status = Assignment.Status
    holders = Seat.objects.filter(study=study, state=Seat.State.HELD, leased_until__gte=now).values("holder")
    answered = (
        Assignment.objects.filter(rater__in=holders)
        .order_by()
        .values("rater")
        .annotate(given=Count("pk", filter=GIVEN), open=Count("pk", filter=Q(status=status.OPEN)))
        .filter(given__gt=0)
    )
    quota = Policies.of(study).quota
    return sum(quota is None or row["given"] + row["open"] < quota for row in answered)


def change_join_limit(cohort: Cohort, joins_per_hour: int | None, *, by: User | None) -> None:
    """Let so many an hour join from one address, or any number; what was refused so far is settled by it."""
    before, cohort.joins_per_hour = cohort.joins_per_hour, joins_per_hour
    cohort.save(update_fields=["joins_per_hour"])
    cohort.refused_addresses.all().delete()
    Event.objects.create(
        workspace_id=cohort.study.workspace_id,
        actor=by,
        verb="change_join_limit",
        object_type="cohort",
        object_id=str(cohort.pk),
        before={"joins_per_hour": before},
        after={"joins_per_hour": joins_per_hour},
    )

"""How long a rater keeps a slot: leases, how an open page prolongs them, and when they end.

A lease is at least three times the reading time of the texts held. A rater who has not answered anything yet
has a shorter one, so that people who join and never begin keep no slots from others. An open page prolongs its lease
until MOST_LEASES times its length after the task was shown.
"""

from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Q

from annotation.models import GIVEN as GIVEN_STATUSES, Assignment, Rater, Seat, Study
from core.clock import Clock

LEASE_SECONDS = 30 * 60
FIRST_LEASE_SECONDS = 10 * 60
LEASE_SECONDS_A_WORD = 0.8
"""A little more than three times the reading time of a word."""
LONGEST_LEASE_SECONDS = 24 * 60 * 60
MOST_LEASES = 3
RENEWAL_SECONDS = 60
"""A lease is updated only if it would grow by at least this much, so that more frequent heartbeats cost no write."""
WORDS_WHERE_UNKNOWN = 1000

GIVEN = Q(status__in=GIVEN_STATUSES)
COUNTED = GIVEN & ~Q(status=Assignment.Status.SURPLUS, reason__gt="")
"""Answers given, except while their rater was stopped or after the study had closed."""


def lease_seconds(words: int | None, *, first: bool = False) -> float:
    """Seconds before a task of this many words goes to another rater; `first`: the rater has not answered anything."""
    known = WORDS_WHERE_UNKNOWN if words is None else words
    base = FIRST_LEASE_SECONDS if first else LEASE_SECONDS
    return min(LONGEST_LEASE_SECONDS, base + LEASE_SECONDS_A_WORD * known)


def words_of(assignment: Assignment) -> int:
    """The number of words in the response or responses of the assignment's task."""
    task = assignment.task
    texts = [task.response_a] + ([task.response_b] if task.response_b is not None else [])
    return sum(WORDS_WHERE_UNKNOWN if text.words is None else text.words for text in texts)


def has_answered(rater: Rater) -> bool:
    """Whether the rater has given an answer to any task of the study."""
    return Assignment.objects.filter(GIVEN, rater=rater).exists()


def renew_lease(assignment: Assignment, *, clock: Clock) -> bool:
    """Extend the lease of an open assignment and of the task held after it; return False if the slot is gone.

    Writes nothing if the lease would grow by less than RENEWAL_SECONDS. No lease grows past its end.
    """
    seat, now = assignment.seat, clock()
    if seat is None or seat.leased_until is None:
        return False
    held = Seat.objects.filter(pk=seat.pk, holder=assignment.rater_id, state=Seat.State.HELD)
    until = _renewed(assignment, now, first=False)
    due = seat.leased_until + timedelta(seconds=RENEWAL_SECONDS)
    if until >= due and not has_answered(assignment.rater):
        until = _renewed(assignment, now, first=True)
    if until < due:
        return seat.state == Seat.State.HELD and seat.holder_id == assignment.rater_id
    if not held.update(leased_until=until):
        return False
    seat.leased_until = until
    _renew_held(assignment, until)
    return True


def _renew_held(current: Assignment, until: datetime) -> None:
    """Extend the lease of the task held ready by the time it needs after the open one."""
    ready = Assignment.objects.filter(rater=current.rater_id, status=Assignment.Status.OPEN, shown_at=None)
    ready = ready.filter(seat__isnull=False).exclude(pk=current.pk)
    for other in ready.select_related("task__response_a", "task__response_b"):
        after = until + timedelta(seconds=lease_seconds(words_of(other)))
        seats = Seat.objects.filter(assignment=other, holder=other.rater_id, state=Seat.State.HELD)
        seats.filter(leased_until__lt=after).update(leased_until=after)


def is_half_over(assignment: Assignment, now: datetime) -> bool:
    """Whether less than half of the shortest lease of the assignment's task is left."""
    until = assignment.seat.leased_until if assignment.seat is not None else None
    half = timedelta(seconds=lease_seconds(words_of(assignment), first=True) / 2)
    return until is not None and until < now + half


def _renewed(assignment: Assignment, now: datetime, *, first: bool) -> datetime:
    """The end of the lease if it is renewed now."""
    seconds = lease_seconds(words_of(assignment), first=first)
    return min(now + timedelta(seconds=seconds), lease_end(assignment, seconds))


def lease_both(current: Assignment, held: Assignment, *, now: datetime) -> None:
    """Lease the open task and the one just held ready for the time needed to read both."""
    if held.seat is None or held.seat.leased_until is None:
        return
    if current.seat is not None and current.seat.leased_until is not None:
        wait = max(timedelta(0), current.seat.leased_until - now)
    else:
        wait = timedelta(seconds=lease_seconds(words_of(current)))
    held.seat.leased_until += wait
    Seat.objects.filter(
        pk__in=[pk for pk in (current.seat_id, held.seat_id) if pk is not None],
        holder=held.rater_id,
        state=Seat.State.HELD,
    ).update(leased_until=held.seat.leased_until)


def lease_end(assignment: Assignment, seconds: float) -> datetime:
    """The latest end of the lease, however long its page stays open."""
    return (assignment.shown_at or assignment.created_at) + timedelta(seconds=MOST_LEASES * seconds)


def release_expired(study: Study, *, clock: Clock) -> int:
    """Free the slots whose lease has expired and return their number; their assignments stay open without a slot."""
    expired = Seat.objects.filter(study=study, state=Seat.State.HELD, leased_until__lt=clock())
    with transaction.atomic():
        if connection.features.has_select_for_update_skip_locked:
            expired = expired.select_for_update(skip_locked=True)
        return free_seats(list(expired.values_list("pk", flat=True)))


def free_seats(seats: list[int]) -> int:
    """Free held slots, within the caller's transaction; return their number."""
    if not seats:
        return 0
    Assignment.objects.filter(seat__in=seats).update(seat=None, queue_place=None)
    return Seat.objects.filter(pk__in=seats).update(state=Seat.State.FREE, holder=None, leased_until=None)

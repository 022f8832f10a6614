"""Claiming, regaining and releasing a slot.

Slots are rows created before anyone rates (annotation/assignment/new_slots.py), each with a random key drawn from the
study's seed. Assigning a task means claiming the free slot with the lowest key in one indexed statement. A claim is a
lease (annotation/assignment/leases.py), renewed while the page is open; an expired slot goes to another rater, and
a late answer is kept as surplus.
"""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from accounts.models import Webhook
from annotation.assignment.leases import (
    FIRST_LEASE_SECONDS,
    LEASE_SECONDS,
    LEASE_SECONDS_A_WORD,
    LONGEST_LEASE_SECONDS,
    WORDS_WHERE_UNKNOWN,
    has_answered,
    lease_end,
    lease_seconds,
    words_of,
)
from annotation.models import Assignment, Rater, Seat, Study
from core.clock import Clock
from core.db.prepared import prepared_cursor
from core.errors import UserError
from generation.webhooks.events import EventName, listening, named, store_messages


class AnotherIsOpen(UserError):
    """A simultaneous request opened a task for this rater first."""


# The claiming statement itself computes the lease's length from the words of the task's responses.
_SECONDS = f"""
    SELECT LEAST({LONGEST_LEASE_SECONDS}, %(base)s + {LEASE_SECONDS_A_WORD} * (
        COALESCE(a.words, {WORDS_WHERE_UNKNOWN})
        + CASE WHEN t.response_b_id IS NULL THEN 0 ELSE COALESCE(b.words, {WORDS_WHERE_UNKNOWN}) END))
    FROM annotation_task t
    JOIN generation_response a ON a.id = t.response_a_id
    LEFT JOIN generation_response b ON b.id = t.response_b_id
    WHERE t.id = annotation_seat.task_id"""  # nosec B608 # constants of our own
_TAKE = """
    UPDATE annotation_seat SET state = 'held', holder_id = %(rater)s, leased_until = {until}
    WHERE id = (
        SELECT s.id FROM annotation_seat s WHERE {which} ORDER BY s.draw_key LIMIT 1 {locking})
    RETURNING id, task_id"""
_NEXT = """s.study_id = %(study)s AND s.state = 'free' AND NOT EXISTS (
            SELECT 1 FROM annotation_assignment g WHERE g.task_id = s.task_id AND g.rater_id = %(rater)s)"""
_OF_TASK = "s.task_id = %(task)s AND s.state = 'free'"
_UNTIL = {
    "postgresql": f"%(since)s + ({_SECONDS}) * INTERVAL '1 second'",
    # The text form in which Django stores times on SQLite, so that they can be compared.
    "sqlite": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', %(since)s, ({}) || ' seconds') || '000'".format(
        _SECONDS.replace("LEAST(", "MIN(")
    ),
}
_LOCKING = {"postgresql": "FOR UPDATE OF s SKIP LOCKED", "sqlite": ""}
_WAITING = {"postgresql": "FOR UPDATE OF s", "sqlite": ""}
MOST_WAITS = 8
"""Slots for whose transaction an answer waits that would else be one too many."""


def _take_seat(
    which: str, parameters: dict[str, Any], since: datetime, *, first: bool, wait: bool = False
) -> tuple[int, int] | None:
    """Lease the first free slot that nobody is changing; with `wait`, the first one, once whoever changes it is done."""
    vendor = connection.vendor
    locking = (_WAITING if wait else _LOCKING)[vendor]
    statement = _TAKE.format(which=which, until=_UNTIL[vendor], locking=locking)
    lease = {
        "since": connection.ops.adapt_datetimefield_value(since),
        "base": FIRST_LEASE_SECONDS if first else LEASE_SECONDS,
    }
    with prepared_cursor() as cursor:
        cursor.execute(statement, parameters | lease)
        rows = cursor.fetchall()
    return (rows[0][0], rows[0][1]) if rows else None


def claim_slot(rater: Rater, study: Study, *, clock: Clock, first: bool = False) -> tuple[int, int] | None:
    """Lease the next free slot for this rater in one statement; return (slot id, task id), or None.

    `first`: the rater has not answered anything yet, so the lease is shorter.
    """
    return _take_seat(_NEXT, {"rater": rater.pk, "study": study.pk}, clock(), first=first)


NEEDS_NO_SEAT = Q(repeat__gt=0) | Q(task__gold__isnull=False)


def needs_no_seat(assignment: Assignment) -> bool:
    """Whether the assignment is a repeated task or its task has a known answer: neither counts towards the overlap."""
    return assignment.repeat > 0 or assignment.task.gold is not None


def regain_seat(assignment: Assignment, *, clock: Clock, closing: bool = False) -> bool:
    """Give an open assignment whose lease has expired a slot of its task again, if one is free.

    True at once for a repeated task or a check, which needs no slot. `closing`: the answer is being stored, so the task
    is no longer open, and its rater may have another one open. Otherwise, a rater with two tasks in hand gets no
    third, and one who has never answered keeps a slot no longer than an open page would have kept it.
    """
    if needs_no_seat(assignment):
        return True
    first = not closing and not has_answered(assignment.rater)
    given = {"rater": assignment.rater_id, "task": assignment.task_id}
    try:
        with transaction.atomic():
            taken = _take_seat(_OF_TASK, given, clock(), first=first)
            if taken is None and closing:
                taken = _take_seat_in_turn(given, clock())
            if taken is None:
                return False
            assignment.seat_id = taken[0]
            if not closing:
                assignment.queue_place = _free_place(assignment)
            assignment.save(update_fields=["seat", "queue_place"])
            if first:
                end = lease_end(assignment, lease_seconds(words_of(assignment), first=True))
                Seat.objects.filter(pk=taken[0], leased_until__gt=end).update(leased_until=max(end, clock()))
    except (IntegrityError, AnotherIsOpen):
        assignment.refresh_from_db(fields=["seat", "queue_place"])
        return assignment.seat_id is not None
    return True


def _take_seat_in_turn(given: dict[str, Any], now: datetime) -> tuple[int, int] | None:
    """Lease a slot of the task that looks free and is being changed, once it turns out that it stays free.

    An answer that is sent twice at once after its lease has expired would else find both slots in the hands of its own
    other requests, and be kept as one too many although none of these is stored.
    """
    for _wait in range(MOST_WAITS):
        if not Seat.objects.filter(task=given["task"], state=Seat.State.FREE).exists():
            return None
        taken = _take_seat(_OF_TASK, given, now, first=False, wait=True)
        if taken is not None:
            return taken
    return None


def _free_place(assignment: Assignment) -> int:
    """The first free place of the two in the rater's queue. Raises AnotherIsOpen if neither is free."""
    others = Assignment.objects.open_for(assignment.rater).exclude(pk=assignment.pk)
    taken = set(others.values_list("queue_place", flat=True))
    for place in (1, 2):
        if place not in taken:
            return place
    raise AnotherIsOpen


def release_seat(assignment: Assignment) -> None:
    """Free the slot of a skipped assignment for other raters."""
    if assignment.seat_id is None:
        return
    held = Seat.objects.filter(pk=assignment.seat_id, holder=assignment.rater_id, state=Seat.State.HELD)
    held.update(state=Seat.State.FREE, holder=None, leased_until=None)
    Assignment.objects.filter(pk=assignment.pk).update(seat=None, queue_place=None)
    assignment.seat = None


def announce_if_all_rated(study: Study, *, took_slot: bool, clock: Clock) -> None:
    """Tell webhooks, if the answer that the caller's transaction records has taken the last slot of the study.

    To be called at the end of that transaction. An answer to a check or a repeated task, which took no slot, asks the
    database the same, so that it takes no other time, and tells nothing. Of two last answers that are recorded at once,
    the one whose transaction locks the webhooks second sees the slot of the other, so exactly one of them tells.
    """
    hooks = listening(study.workspace_id, EventName.STUDY_FINISHED)
    if not hooks or Seat.objects.filter(study=study, state=Seat.State.FREE).exists():
        return
    locked = Webhook.objects.select_for_update(no_key=True).filter(pk__in=[hook.pk for hook in hooks])
    list(locked.order_by("pk").values_list("pk", flat=True))
    if not Seat.objects.filter(study=study).exclude(state=Seat.State.TAKEN).exists() and took_slot:
        about = {"study": named(study), "reason": "rated"}
        store_messages(hooks, EventName.STUDY_FINISHED, about, clock=clock)

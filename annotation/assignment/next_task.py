"""Which task a rater sees next.

A rater has one task open and at most one more held ready; a constraint on Assignment.queue_place decides between
simultaneous requests. An open task is resumed; otherwise the rater claims a slot (annotation/assignment/slots.py).
Tasks without slots come in between: training and qualification first (annotation/assignment/rater_status.py), then
repeated tasks, gold items and attention checks (annotation/policies/quality_checks.py).
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet

from annotation.assignment.attention_checks import check_for
from annotation.assignment.leases import lease_both, release_expired
from annotation.assignment.rater_progress import (
    NoTaskLeft,
    Progress,
    TooFast,
    has_ended,
    progress_of,
    refuse_excess,
    state_of,
)
from annotation.assignment.rater_status import (
    Stage,
    close_stage,
    is_stopped,
    stage_of,
    stop_is_due,
    stop_when_due,
    task_of_stage,
)
from annotation.assignment.repeated_tasks import probe_for
from annotation.assignment.slots import NEEDS_NO_SEAT, AnotherIsOpen, claim_slot, regain_seat
from annotation.models import Assignment, Rater, Seat, Study, still_admitted
from annotation.policies.policies import PROBE, CheckPlan, Policies
from annotation.policies.quality_checks import kinds_due_now, plan_of
from annotation.rules.sides import ShownSide, draw_side
from core.clock import Clock
from core.db.prepared import EXAMPLE_ID, EXAMPLE_NAME, Prepared, PreparedInsert
from core.errors import UserError

CLAIM_ATTEMPTS = 5


class StudyNotOpen(UserError):
    """The study is not open, or the rater is paused, did not qualify or was screened out: no tasks are assigned."""


def _resume(rater: Rater, *, clock: Clock) -> Assignment | None:
    """The rater's earliest open assignment that has or can get a slot, or needs none."""
    for assignment in to_show(Assignment.objects.open_for(rater)):
        if assignment.seat_id is not None or regain_seat(assignment, clock=clock):
            return assignment
    return None


@dataclass(frozen=True)
class Coming:
    """The input of a new assignment: the counts of the rater's work so far, and the study's conditions."""

    counts: dict[str, Any]
    conditions: dict[str, Any]
    clock: Clock
    first: bool = False
    shown: bool = True
    queue_place: int = 1

    @property
    def number(self) -> int:
        return int(self.counts["handed"]) + 1


def _first_side(rater: Rater, study: Study, task_id: int, coming: Coming, kind: str) -> str:
    """The response of a pair that this rater sees first; '' for a task with one response. One query for a pair.

    The side of a repeated task is drawn independently of other raters, since its answers are not compared with theirs.
    """
    if study.kind != Study.Kind.PAIR:
        return ""
    side = Assignment.Side
    shown = {"a": 0, "b": 0}
    if kind != PROBE:
        shown = Assignment.objects.filter(task=task_id, repeat=0).aggregate(
            a=Count("pk", filter=Q(shown_first=side.A)), b=Count("pk", filter=Q(shown_first=side.B))
        )
    drawn = Random(f"{study.seed}:{rater.pk}:{task_id}:{coming.number}")
    return draw_side(ShownSide(coming.counts["shown_a"], coming.counts["shown_b"]), ShownSide(**shown), drawn)


_INSERT = PreparedInsert(Assignment)


def _make(rater: Rater, study: Study, task_id: int, coming: Coming, kind: str = "", **fields: Any) -> int:
    """Create an assignment of the task and return its id. Raises IntegrityError if another tab was faster."""
    made = Assignment(
        task_id=task_id,
        rater=rater,
        conditions=coming.conditions | ({kind: True} if kind else {}),
        shown_at=coming.clock() if coming.shown else None,
        shown_first=_first_side(rater, study, task_id, coming, kind),
        order=coming.number,
        queue_place=coming.queue_place,
        **fields,
    )
    _INSERT.run(made)
    return int(made.pk)


def _as_shown(pk: int) -> Assignment:
    shown = _SHOWN.first(pk)
    assert shown is not None
    return shown


def _hand(rater: Rater, study: Study, task_id: int, coming: Coming, kind: str, **fields: Any) -> Assignment:
    """Assign a task that needs no slot, loaded for the page. Raises IntegrityError if another tab was faster."""
    with transaction.atomic():
        made = _make(rater, study, task_id, coming, kind, **fields)
    return _as_shown(made)


def _claim(rater: Rater, study: Study, coming: Coming) -> Assignment | None:
    """Claim a slot and record it in one transaction; try again after losing a race against the rater's other tab."""
    for _ in range(CLAIM_ATTEMPTS):
        try:
            with transaction.atomic():
                claimed = claim_slot(rater, study, clock=coming.clock, first=coming.first)
                if claimed is None:
                    return None
                made = _make(rater, study, claimed[1], coming, seat_id=claimed[0])
        except IntegrityError:
            _refuse_another(rater, coming)
            continue
        return _as_shown(made)
    return None


def _refuse_another(rater: Rater, coming: Coming) -> None:
    """Raise AnotherIsOpen after a refused row if a task opened in the meantime has taken the rater's place."""
    if Assignment.objects.open_for(rater).filter(queue_place=coming.queue_place).exists():
        raise AnotherIsOpen


def _check(rater: Rater, study: Study, plan: CheckPlan, coming: Coming) -> Assignment | None:
    """The repeated task, gold item or attention check that is due now, if the rater has one left.

    None if no other task is left for the rater: where only checks remain, everything that comes would be one.
    """
    random = Random(f"{study.seed}:{rater.pk}:{coming.number}:check")
    kinds = kinds_due_now(study, rater.pk, plan, coming.counts)
    if not kinds or not _slot_is_left(study, rater, clock=coming.clock):
        return None
    for kind in kinds:
        try:
            if kind == PROBE:
                probe = probe_for(rater, number=coming.number, gap=plan.gap, times=plan.times, random=random)
                if probe is not None:
                    return _hand(rater, study, probe[0], coming, PROBE, repeat=probe[1])
            else:
                task_id = check_for(rater, study, kind, random=random)
                if task_id is not None:
                    return _hand(rater, study, task_id, coming, kind)
        except IntegrityError:
            _refuse_another(rater, coming)
            continue
    return None


def _before_rating(rater: Rater, study: Study, coming: Coming) -> Assignment | None:
    """The next task of training or qualification; None if the rater may rate. Raises StudyNotOpen."""
    while (stage := stage_of(rater, study)) is not Stage.RATING:
        task = task_of_stage(rater, study, stage)
        if task is None:
            close_stage(rater, study, stage, clock=coming.clock)
            _refuse_stopped(rater, study)
            continue
        try:
            return _hand(rater, study, task.pk, coming, str(stage))
        except IntegrityError:
            _refuse_another(rater, coming)
            continue
    return None


def _refuse_stopped(rater: Rater, study: Study) -> None:
    if is_stopped(rater):
        raise StudyNotOpen(f"Rater {rater.pseudonym} may not go on in study {study.slug}.")


def to_show(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Assignments with everything that a rating page needs except the criteria, in one query."""
    return assignments.select_related(
        "rater__standing",
        "seat",
        "task__study__guideline",
        "task__study__workspace",
        "task__answer_rubric",
        "task__response_a__instruction__category",
        "task__response_b",
    )


_SHOWN = Prepared(lambda pk: to_show(Assignment.objects.filter(pk=pk)).order_by(), EXAMPLE_ID)
_OWN = Prepared(
    lambda user, name: to_show(
        Assignment.objects.filter(still_admitted("rater__"), rater__user=user, public_id=name)
    ).order_by(),
    EXAMPLE_ID,
    EXAMPLE_NAME,
)


def assignment_of_user(user: int, public_id: str) -> Assignment | None:
    """The account's own assignment with this public id, loaded for the page; one query."""
    return _OWN.first(user, public_id)


def next_assignment(
    rater: Rater, study: Study, *, clock: Clock, conditions: dict[str, Any] | None = None
) -> tuple[Assignment, Progress]:
    """Return the rater's next task: an open assignment if there is one, else a new one, shown from now on.

    Raises StudyNotOpen, and NoTaskLeft (TooFast among them).
    """
    try:
        return _next_assignment(rater, study, clock=clock, conditions=conditions or {})
    except NoTaskLeft as reason:
        if not isinstance(reason, TooFast) and stop_when_due(rater):
            _refuse_stopped(rater, study)
        raise


def _next_assignment(
    rater: Rater, study: Study, *, clock: Clock, conditions: dict[str, Any]
) -> tuple[Assignment, Progress]:
    if study.status != Study.Status.OPEN:
        raise StudyNotOpen(f"Study {study.slug} is not open.")
    _refuse_stopped(rater, study)
    for _attempt in range(CLAIM_ATTEMPTS):
        with suppress(AnotherIsOpen):
            return _open_or_fresh(rater, study, clock=clock, conditions=conditions or {})
    raise NoTaskLeft(f"Other requests of this rater took every task of study {study.slug} first.")


def _open_or_fresh(
    rater: Rater, study: Study, *, clock: Clock, conditions: dict[str, Any]
) -> tuple[Assignment, Progress]:
    """One attempt of next_assignment. Raises AnotherIsOpen if a simultaneous request was faster."""
    plan = plan_of(study)
    progress, counts = state_of(rater, plan, clock() - timedelta(hours=1))
    if progress.open:
        resumed = _resume(rater, clock=clock)
        if resumed is not None:
            return resumed, progress
        # A slot may have been deleted with its task; an unavailable task must not block the new one.
        lost = Assignment.objects.open_for(rater).exclude(NEEDS_NO_SEAT).filter(seat=None)
        lost.exclude(queue_place=None).update(queue_place=None)
    if has_ended(study, clock()):
        raise NoTaskLeft(f"The last day of study {study.slug} is over.")
    coming = Coming(counts, conditions, clock, first=not progress.submitted)
    if stop_when_due(rater, coming.number):
        _refuse_stopped(rater, study)
    fresh = _before_rating(rater, study, coming)
    if fresh is None:
        refuse_excess(study, progress, counts["recent"])
        fresh = _check(rater, study, plan, coming) or _claim(rater, study, coming)
    if fresh is None and release_expired(study, clock=clock):
        fresh = _claim(rater, study, coming)
    if fresh is None:
        raise NoTaskLeft(f"Study {study.slug} has no task left for this rater.")
    return fresh, progress


def hold_next(current: Assignment, *, clock: Clock, conditions: dict[str, Any] | None = None) -> Assignment | None:
    """Lease a second task while the current one is open, so that it can be shown at once; its time starts when shown.

    At most one task is held: asking again returns the same one. None if nothing may follow before the current answer is
    known: no task is left, the quota is reached, in training and qualification, or the rater is stopped.
    """
    rater, study = current.rater, current.task.study
    if study.status != Study.Status.OPEN or is_stopped(rater) or stage_of(rater, study) is not Stage.RATING:
        return None
    if has_ended(study, clock()):
        return None
    with transaction.atomic():
        # Two tabs hold one task, not two. The lock still lets other requests insert rows that refer to this rater.
        Rater.objects.select_for_update(no_key=True).get(pk=rater.pk)
        others = to_show(Assignment.objects.open_for(rater).exclude(pk=current.pk))
        for other in others:
            if other.seat_id is not None or regain_seat(other, clock=clock):
                return other
        if others or current.status != Assignment.Status.OPEN:
            return None
        progress, counts = state_of(rater, plan_of(study), clock() - timedelta(hours=1))
        try:
            refuse_excess(study, replace(progress, submitted=progress.submitted + 1), counts["recent"] + 1)
        except NoTaskLeft:
            return None
        if rater.cohort_id is not None and rater.user_id is None and not progress.submitted:
            return None  # a rater who joined by link without an account and has not answered holds one slot, not two
        coming = Coming(
            counts,
            conditions or {},
            clock,
            first=not progress.submitted,
            shown=False,
            queue_place=1 if current.queue_place == 2 else 2,
        )
        if stop_is_due(rater, coming.number):
            return None
        with suppress(AnotherIsOpen):
            held = _check(rater, study, plan_of(study), coming) or _claim(rater, study, coming)
            if held is not None:
                lease_both(current, held, now=clock())
            return held
        return None


def _slot_is_left(study: Study, rater: Rater | None, *, clock: Clock) -> bool:
    """Whether a slot is free, or its lease over, of a task that the rater has not had."""
    seats = Seat.objects.filter(study=study).filter(
        Q(state=Seat.State.FREE) | Q(state=Seat.State.HELD, leased_until__lt=clock())
    )
    return (seats if rater is None else seats.exclude(task__assignments__rater=rater)).exists()


def has_more(study: Study, rater: Rater | None, *, clock: Clock) -> bool:
    """Whether the rater would get a task by starting now."""
    if study.status != Study.Status.OPEN:
        return False
    if has_ended(study, clock()):
        return rater is not None and not is_stopped(rater) and Assignment.objects.open_for(rater).exists()
    if rater is None:
        return _slot_is_left(study, None, clock=clock)
    if is_stopped(rater):
        return False
    no_seat_needed = Q(seat__isnull=False) | Q(repeat__gt=0) | Q(task__gold__isnull=False)
    if Assignment.objects.open_for(rater).filter(no_seat_needed).exists():
        return True
    if stage_of(rater, study) is not Stage.RATING:
        return True
    quota = Policies.of(study).quota
    if quota is not None and progress_of(rater).submitted >= quota:
        return False
    return _slot_is_left(study, rater, clock=clock)

"""Which task a rater sees next.

Seats are rows made before anyone rates: `overlap` of them for each task, each with a key drawn at random from
the study's seed. Handing out a task is claiming the free seat with the lowest key in one indexed statement. A
claim is a lease (leases.py), renewed while the page is alive; an expired seat goes to somebody else, and its late
answer is kept as surplus. A rater has one task open and at most one more held ready: a constraint on
Assignment.queue_place decides between requests that arrive at once.

A study's policies that are read here: "overlap" (seats a task, 1), "order" ("spread": every task once before
any twice; "finish": all seats of a task together; "random", the default), "quota" (answers a rater may give, every
kind of task counted, since a rater cannot tell them apart), "answers_per_hour" (no limit),
"last_day" (none). Tasks without seats come in
between: training and qualification first (qualification.py), then probes, gold items and controls (check_plan.py).
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from annotation.assignment.attention_checks import check_for
from annotation.assignment.leases import (
    COUNTED,
    FIRST_LEASE_SECONDS,
    GIVEN as GIVEN,
    LEASE_SECONDS,
    LEASE_SECONDS_A_WORD,
    LONGEST_LEASE_SECONDS,
    WORDS_WHERE_UNKNOWN,
    has_answered,
    lease_both,
    lease_end,
    lease_seconds,
    release_expired,
    words_of,
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
from annotation.models import Assignment, Rater, Seat, Study, Task
from annotation.policies.quality_checks import (
    PROBE,
    BadPolicy,
    CheckPlan,
    counts_for,
    kinds_due_now,
    plan_of,
    whole_policy,
)
from annotation.rules.sides import Shown, draw_side
from core.clock import Clock as Clock
from core.db.prepared import (
    EXAMPLE_ID,
    EXAMPLE_NAME,
    EXAMPLE_TIME,
    Prepared,
    PreparedInsert,
    PreparedValues,
    prepared_cursor,
)
from core.messages.sentences import Wording

CLAIM_ATTEMPTS = 5
ORDERS = ("random", "spread", "finish")
BAD_ORDER = Wording("Study %(study)s: order %(order)s is not one of %(known)s.")


class NoTaskLeft(Exception):
    """Every task of the study is answered, held by others, or was seen by this rater."""


class QuotaReached(NoTaskLeft):
    """The rater has given as many answers as the study asks of one person."""


class StudyNotOpen(Exception):
    """Tasks are handed out only while the study is open."""


class RaterStopped(StudyNotOpen):
    """The rater is paused, did not qualify, or was screened out; their own page says so and what to do."""


class TooFast(NoTaskLeft):
    """The rater has given as many answers in the last hour as the study allows."""


class AnotherIsOpen(Exception):
    """A request at the same moment opened a task for this rater first."""


@dataclass(frozen=True)
class Progress:
    """A rater's own standing in a study. `submitted` counts every answer given, of whatever kind of task."""

    submitted: int
    skipped: int
    open: int
    active_seconds: float


def overlap_of(study: Study) -> int:
    """Seats a task; raises BadPolicy unless it is a whole number from 1 to 1000."""
    return whole_policy(study, "overlap", 1, 1, 1000)


def _draw_keys(random: Random, order: str, overlap: int) -> Iterator[int]:
    """One task's keys, by place: below 2**62, the order of hand-out."""
    together = random.getrandbits(50)
    for place in range(overlap):
        match order:
            case "spread":
                yield (place << 50) + random.getrandbits(50)
            case "finish":
                yield (together << 12) + place
            case _:
                yield random.getrandbits(62)


def make_seats(study: Study) -> int:
    """The seats that the study's tasks still lack, as free rows; how many were made. Dropped tasks (studies.py) get none.

    Keys come from the study's seed and each task's id, so that adding tasks never changes earlier draws.
    """
    overlap, order = overlap_of(study), study.policies.get("order", "random")
    if order not in ORDERS:
        raise BadPolicy(BAD_ORDER(study=study.slug, order=repr(order), known=", ".join(ORDERS)))
    made = 0
    with transaction.atomic():
        present = set(Seat.objects.filter(study=study).values_list("task_id", "place"))
        batch: list[Seat] = []
        tasks = Task.objects.filter(study=study, gold__isnull=True)
        tasks = tasks.exclude(key__in=study.policies.get("dropped", ()))
        for task_id in tasks.order_by("pk").values_list("pk", flat=True):
            keys = _draw_keys(Random(f"{study.seed}:{task_id}"), order, overlap)
            batch.extend(
                Seat(study=study, task_id=task_id, place=place, draw_key=key)
                for place, key in enumerate(keys)
                if (task_id, place) not in present
            )
            if len(batch) >= 5000:
                made += len(Seat.objects.bulk_create(batch, batch_size=1000))
                batch = []
        made += len(Seat.objects.bulk_create(batch, batch_size=1000))
    return made


def has_ended(study: Study, now: datetime) -> bool:
    """Whether the study's last day (UTC) is over: begun tasks may be finished, no other is handed out."""
    last = study.policies.get("last_day")
    return bool(last) and now.astimezone(UTC).date() > date.fromisoformat(str(last))


# The lease's length comes from the words of the task's responses, within the claiming statement itself.
_SECONDS = f"""
    SELECT LEAST({LONGEST_LEASE_SECONDS}, %(base)s + {LEASE_SECONDS_A_WORD} * (
        COALESCE(a.words, {WORDS_WHERE_UNKNOWN})
        + CASE WHEN t.response_b_id IS NULL THEN 0 ELSE COALESCE(b.words, {WORDS_WHERE_UNKNOWN}) END))
    FROM annotation_task t
    JOIN generation_response a ON a.id = t.response_a_id
    LEFT JOIN generation_response b ON b.id = t.response_b_id
    WHERE t.id = annotation_seat.task_id"""
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
    # The text form in which Django keeps times on SQLite, so that they compare.
    "sqlite": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', %(since)s, ({}) || ' seconds') || '000'".format(
        _SECONDS.replace("LEAST(", "MIN(")
    ),
}
_LOCKING = {"postgresql": "FOR UPDATE OF s SKIP LOCKED", "sqlite": ""}


def _take_seat(
    which: str, parameters: dict[str, Any], since: datetime, *, first: bool
) -> tuple[int, int] | None:
    vendor = connection.vendor
    statement = _TAKE.format(which=which, until=_UNTIL[vendor], locking=_LOCKING[vendor])
    lease = {
        "since": connection.ops.adapt_datetimefield_value(since),
        "base": FIRST_LEASE_SECONDS if first else LEASE_SECONDS,
    }
    with prepared_cursor() as cursor:
        cursor.execute(statement, parameters | lease)
        rows = cursor.fetchall()
    return (rows[0][0], rows[0][1]) if rows else None


def claim_seat(rater: Rater, study: Study, *, clock: Clock, first: bool = False) -> tuple[int, int] | None:
    """Lease the free seat that comes next for this rater, in one statement: (seat id, task id), or None.

    `first` says that the rater has not answered anything yet: the lease is a shorter one.
    """
    return _take_seat(_NEXT, {"rater": rater.pk, "study": study.pk}, clock(), first=first)


NEEDS_NO_SEAT = Q(repeat__gt=0) | Q(task__gold__isnull=False)


def needs_no_seat(assignment: Assignment) -> bool:
    """Whether the assignment is a probe, or its task one with a known answer: neither counts for overlap."""
    return assignment.repeat > 0 or assignment.task.gold is not None


def regain_seat(assignment: Assignment, *, clock: Clock, closing: bool = False) -> bool:
    """Give an open assignment whose lease ran out a seat of its task again, where one is free.

    True at once for a probe or a check, which needs none. `closing` says that the answer is being stored: the task
    is not open any longer, and its rater may have another one open. Else a rater with two tasks in hand gets no
    third, and one who has never answered keeps a seat no longer than an open page would have kept it.
    """
    if needs_no_seat(assignment):
        return True
    first = not closing and not has_answered(assignment.rater)
    given = {"rater": assignment.rater_id, "task": assignment.task_id}
    try:
        with transaction.atomic():
            taken = _take_seat(_OF_TASK, given, clock(), first=first)
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


def _free_place(assignment: Assignment) -> int:
    """The first of the two places of the rater's queue that is free; raises AnotherIsOpen where neither is."""
    others = Assignment.objects.open_for(assignment.rater).exclude(pk=assignment.pk)
    taken = set(others.values_list("queue_place", flat=True))
    for place in (1, 2):
        if place not in taken:
            return place
    raise AnotherIsOpen


def release_seat(assignment: Assignment) -> None:
    """Give the seat of a skipped assignment to others."""
    if assignment.seat_id is None:
        return
    held = Seat.objects.filter(pk=assignment.seat_id, holder=assignment.rater_id, state=Seat.State.HELD)
    held.update(state=Seat.State.FREE, holder=None, leased_until=None)
    Assignment.objects.filter(pk=assignment.pk).update(seat=None, queue_place=None)
    assignment.seat = None


_PROGRESS: dict[str, Any] = {
    "submitted": Count("pk", filter=COUNTED),
    "skipped": Count("pk", filter=Q(status=Assignment.Status.SKIPPED)),
    "open": Count("pk", filter=Q(status=Assignment.Status.OPEN)),
    "active_seconds": Coalesce(Sum("active_seconds", filter=GIVEN), 0.0),
}


def progress_of(rater: Rater) -> Progress:
    """What the rater has done in the study, in one query."""
    return Progress(**Assignment.objects.filter(rater=rater).aggregate(**_PROGRESS))


@cache
def _state_query(kinds: frozenset[str]) -> tuple[list[str], PreparedValues]:
    """What is counted of a rater's work in a study that checks with these kinds, and the query that counts it."""
    counted = _PROGRESS | counts_for(kinds)

    def build(rater: int, since: datetime) -> QuerySet[Any, Any]:
        recent = Count("pk", filter=GIVEN & Q(submitted_at__gt=since))
        own = Assignment.objects.filter(rater=rater).order_by().values_list("rater")
        return own.annotate(**counted, recent=recent)

    return [*counted, "recent"], PreparedValues(build, EXAMPLE_ID, EXAMPLE_TIME)


def _state_of(rater: Rater, plan: CheckPlan, since: datetime) -> tuple[Progress, dict[str, Any]]:
    """The rater's progress, and what the plan counts, with the answers given `since`; one query."""
    names, query = _state_query(frozenset(kind for kind, share in plan.rates.items() if share))
    rows = query.all(rater.pk, since)
    counts = dict(zip(names, rows[0][1:] if rows else [0] * len(names), strict=True))
    return Progress(**{name: counts.pop(name) for name in _PROGRESS}), counts


def _resume(rater: Rater, *, clock: Clock) -> Assignment | None:
    """The rater's earliest open assignment that has, or can get, a seat, or needs none."""
    for assignment in to_show(Assignment.objects.open_for(rater)):
        if assignment.seat_id is not None or regain_seat(assignment, clock=clock):
            return assignment
    return None


@dataclass(frozen=True)
class Coming:
    """What a fresh assignment is made with: the counts of the rater's work so far, and the study's conditions."""

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
    """Which response of a pair this rater sees first; '' for a task of one response. One query for a pair.

    A probe's side is drawn whatever others saw, since its answers are not compared with theirs.
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
    return draw_side(Shown(coming.counts["shown_a"], coming.counts["shown_b"]), Shown(**shown), drawn)


_INSERT = PreparedInsert(Assignment)


def _make(rater: Rater, study: Study, task_id: int, coming: Coming, kind: str = "", **fields: Any) -> int:
    """The id of a fresh assignment of a task; raises IntegrityError where another tab was quicker."""
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
    """A task that needs no seat, as the page shows it; raises IntegrityError where another tab was quicker."""
    with transaction.atomic():
        made = _make(rater, study, task_id, coming, kind, **fields)
    return _as_shown(made)


def _claim(rater: Rater, study: Study, coming: Coming) -> Assignment | None:
    """Claim and record in one transaction; a race lost against oneself in a second tab is run again."""
    for _ in range(CLAIM_ATTEMPTS):
        try:
            with transaction.atomic():
                claimed = claim_seat(rater, study, clock=coming.clock, first=coming.first)
                if claimed is None:
                    return None
                made = _make(rater, study, claimed[1], coming, seat_id=claimed[0])
        except IntegrityError:
            _refuse_another(rater, coming)
            continue
        return _as_shown(made)
    return None


def _refuse_another(rater: Rater, coming: Coming) -> None:
    """After a row was refused: raises AnotherIsOpen where the rater's place is taken by a task opened meanwhile."""
    if Assignment.objects.open_for(rater).filter(queue_place=coming.queue_place).exists():
        raise AnotherIsOpen


def _check(rater: Rater, study: Study, plan: CheckPlan, coming: Coming) -> Assignment | None:
    """The probe, gold item or control that is due now, where the rater has one left."""
    random = Random(f"{study.seed}:{rater.pk}:{coming.number}:check")
    for kind in kinds_due_now(study, rater.pk, plan, coming.counts):
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
    """The next task of training or qualification; None once the rater may rate. Raises RaterStopped."""
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
        raise RaterStopped(f"Rater {rater.pseudonym} may not go on in study {study.slug}.")


def to_show(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """With everything a rating page needs, in one query (criteria apart)."""
    return assignments.select_related(
        "rater__standing",
        "seat",
        "task__study__guideline",
        "task__answer_rubric",
        "task__response_a__instruction__category",
        "task__response_b",
    )


_SHOWN = Prepared(lambda pk: to_show(Assignment.objects.filter(pk=pk)).order_by(), EXAMPLE_ID)
_OWN = Prepared(
    lambda user, name: to_show(Assignment.objects.filter(rater__user=user, public_id=name)).order_by(),
    EXAMPLE_ID,
    EXAMPLE_NAME,
)


def assignment_of_user(user: int, public_id: str) -> Assignment | None:
    """The account's own assignment of this name, as the page shows it; one query."""
    return _OWN.first(user, public_id)


def _refuse_excess(study: Study, progress: Progress, recent: int) -> None:
    quota = study.policies.get("quota")
    if quota is not None and progress.submitted >= int(quota):
        raise QuotaReached(f"{progress.submitted} answers of {quota} are given.")
    hourly = study.policies.get("answers_per_hour")
    if hourly is not None and recent >= int(hourly):
        raise TooFast(f"{recent} answers of {hourly} an hour are given.")


def next_assignment(
    rater: Rater, study: Study, *, clock: Clock, conditions: dict[str, Any] | None = None
) -> tuple[Assignment, Progress]:
    """What the rater does next: an open assignment resumed first, else a fresh one, shown from now on.

    Raises StudyNotOpen (RaterStopped among them), and NoTaskLeft (QuotaReached and TooFast among them).
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
    """The same, once; raises AnotherIsOpen where a request at the same moment was quicker."""
    plan = plan_of(study)
    progress, counts = _state_of(rater, plan, clock() - timedelta(hours=1))
    if progress.open:
        resumed = _resume(rater, clock=clock)
        if resumed is not None:
            return resumed, progress
        # A seat may also have gone with its task; what can be had no more keeps no place from what comes now.
        lost = Assignment.objects.open_for(rater).exclude(NEEDS_NO_SEAT).filter(seat=None)
        lost.exclude(queue_place=None).update(queue_place=None)
    if has_ended(study, clock()):
        raise NoTaskLeft(f"The last day of study {study.slug} is over.")
    coming = Coming(counts, conditions, clock, first=not progress.submitted)
    if stop_when_due(rater, coming.number):
        _refuse_stopped(rater, study)
    fresh = _before_rating(rater, study, coming)
    if fresh is None:
        _refuse_excess(study, progress, counts["recent"])
        fresh = _check(rater, study, plan, coming) or _claim(rater, study, coming)
    if fresh is None and release_expired(study, clock=clock):
        fresh = _claim(rater, study, coming)
    if fresh is None:
        raise NoTaskLeft(f"Study {study.slug} has no task left for this rater.")
    return fresh, progress


def hold_next(
    current: Assignment, *, clock: Clock, conditions: dict[str, Any] | None = None
) -> Assignment | None:
    """A second task leased while the current one is open, so that it is there at once; its time starts when shown.

    At most one is held: asking again brings the same. None where nothing may follow before the current answer is
    known: no task left, the quota reached, in training and qualification, and for a rater who is stopped.
    """
    rater, study = current.rater, current.task.study
    if study.status != Study.Status.OPEN or is_stopped(rater) or stage_of(rater, study) is not Stage.RATING:
        return None
    if has_ended(study, clock()):
        return None
    with transaction.atomic():
        # Two tabs hold one task, not two. The key stays readable to whoever inserts a row about this rater meanwhile.
        Rater.objects.select_for_update(no_key=True).get(pk=rater.pk)
        others = to_show(Assignment.objects.open_for(rater).exclude(pk=current.pk))
        for other in others:
            if other.seat_id is not None or regain_seat(other, clock=clock):
                return other
        if others or current.status != Assignment.Status.OPEN:
            return None
        progress, counts = _state_of(rater, plan_of(study), clock() - timedelta(hours=1))
        try:
            _refuse_excess(study, replace(progress, submitted=progress.submitted + 1), counts["recent"] + 1)
        except NoTaskLeft:
            return None
        if rater.cohort_id is not None and rater.user_id is None and not progress.submitted:
            return None  # who came in by a link without an account and has answered nothing holds one seat, not two
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


def has_more(study: Study, rater: Rater | None, *, clock: Clock) -> bool:
    """Whether starting now would bring the rater a task."""
    if study.status != Study.Status.OPEN:
        return False
    if has_ended(study, clock()):
        return rater is not None and not is_stopped(rater) and Assignment.objects.open_for(rater).exists()
    seats = Seat.objects.filter(study=study).filter(
        Q(state=Seat.State.FREE) | Q(state=Seat.State.HELD, leased_until__lt=clock())
    )
    if rater is None:
        return seats.exists()
    if is_stopped(rater):
        return False
    no_seat_needed = Q(seat__isnull=False) | Q(repeat__gt=0) | Q(task__gold__isnull=False)
    if Assignment.objects.open_for(rater).filter(no_seat_needed).exists():
        return True
    if stage_of(rater, study) is not Stage.RATING:
        return True
    quota = study.policies.get("quota")
    if quota is not None and progress_of(rater).submitted >= int(quota):
        return False
    return seats.exclude(task__assignments__rater=rater).exists()

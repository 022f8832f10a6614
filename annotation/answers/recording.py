"""Validate and store one answer exactly once.

Answers are given by criterion key. A missing answer is refused, never stored as zero. Sending the same answer
twice stores it once; a changed answer becomes a new revision. Answers from a stopped rater, or sent after
the study closed, are kept but do not count: a first answer as surplus, a change as a LateChange.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.answers.excluded import set_aside_if_excluded
from annotation.assignment.haste import TOO_FAST, Haste, note_haste, too_fast
from annotation.assignment.rater_status import note_check, too_late
from annotation.assignment.slots import announce_if_all_rated, regain_seat, release_seat
from annotation.models import GIVEN, Assignment, Criterion, Draft, Flag, LateChange, Score, Seat, latest_scores
from annotation.rules.reading_time import bounded
from core.clock import Clock
from core.db.prepared import (
    EXAMPLE_ID,
    EXAMPLE_JSON,
    EXAMPLE_NAME,
    EXAMPLE_NUMBER,
    EXAMPLE_SHARE,
    EXAMPLE_TIME,
    OTHER_ID,
    OTHER_NAME,
    OTHER_SHARE,
    OTHER_TIME,
    PreparedChange,
    PreparedInsert,
)
from core.errors import UserError

REVISION_ATTEMPTS = 5
LONGEST_REASON = 300
LONGEST_DRAFT = 100_000
CLAIMED = "claimed_seconds"
"""The condition that keeps the times a browser claimed, if they exceed the time between assignment and answer."""


@dataclass(frozen=True)
class Answer:
    """The answer to one criterion: a value on its own scale, or that it does not apply (value None).

    `level` is the key of the chosen level, needed if several levels share a value ("tie" and "both are bad").
    """

    value: float | None
    not_applicable: bool = False
    reason: str = ""
    evidence: tuple[Mapping[str, Any], ...] = ()
    level: str = ""


NOT_APPLICABLE = Answer(None, not_applicable=True)


@dataclass(frozen=True)
class Timing:
    """Active and idle seconds of a rater on a task, as the page measured them."""

    active_seconds: float | None = None
    idle_seconds: float | None = None


class Outcome(StrEnum):
    RECORDED = "recorded"
    TOLD = "told"  # recorded, and the rater is warned that the latest answers came too fast
    SURPLUS = "surplus"
    LATE = "late"  # kept, but does not count
    REVISED = "revised"
    UNCHANGED = "unchanged"


class AnswerRefused(UserError):
    """The answer cannot be stored; `problems` says why for each criterion key."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("; ".join(f"{key}: {problem}" for key, problem in self.problems.items()))


class NotOpen(UserError):
    """The assignment was skipped or closed, so it no longer accepts an answer, a draft or a skip."""


class TaskRemoved(NotOpen):
    """The task, or the answer that was to be changed, was removed while the answer was on its way."""


@contextmanager
def refused_where_removed(there: QuerySet[Any], criteria: Iterable[Criterion] = ()) -> Iterator[None]:
    """Where the block fails, raise TaskRemoved if `there` finds no row any more, AnswerRefused if a criterion is gone."""
    try:
        yield
    except (DatabaseError, ObjectDoesNotExist) as error:
        if isinstance(error, OperationalError) or connection.needs_rollback:
            raise
        if not there.exists():
            message = _("This task has been removed from the study, so your answer was not stored.")
            raise TaskRemoved(message) from error
        criteria = list(criteria)
        left = set(Criterion.objects.filter(pk__in=[one.pk for one in criteria]).values_list("pk", flat=True))
        if gone := [one.key for one in criteria if one.pk not in left]:
            problem = _("This question has been removed meanwhile. Reload the page and answer again.")
            raise AnswerRefused(dict.fromkeys(gone, problem)) from error
        raise


def drafts_of(assignment: Assignment) -> QuerySet[Draft]:
    """The rater's draft for this assignment's task and repeat; one row or none."""
    return Draft.objects.filter(task=assignment.task_id, rater=assignment.rater_id, repeat=assignment.repeat)


def _values(answers: Mapping[str, Answer]) -> dict[str, float | None]:
    return {key: answer.value for key, answer in answers.items()}


def problems_with(criteria: Iterable[Criterion], answers: Mapping[str, Answer]) -> dict[str, str]:
    """Return the problems of the answers by criterion key: missing, off the scale, or not a question of the rubric."""
    problems = {}
    known = {criterion.key: criterion for criterion in criteria}
    for key, criterion in known.items():
        answer = answers.get(key)
        if answer is None:
            problems[key] = _("This question is not answered yet.")
        elif answer.not_applicable:
            if not criterion.may_not_apply:
                problems[key] = _("This question always applies; choose a level.")
            elif answer.value is not None:
                problems[key] = _("A question that does not apply cannot have a value.")
        elif not _is_on_scale(criterion, answer):
            problems[key] = _("This value is not on the question's scale.")
    for key in answers.keys() - known.keys():
        problems[key] = _("The rubric of this task has no such question.")
    return problems


def _is_on_scale(criterion: Criterion, answer: Answer) -> bool:
    if answer.value is None or not math.isfinite(answer.value) or not criterion.admits(answer.value):
        return False
    levels = [str(level["key"]) for level in criterion.levels if level["value"] == answer.value]
    return not answer.level or answer.level in levels


def _row(assignment: Assignment, criterion: Criterion, answer: Answer, revision: int) -> Score:
    level = criterion.level_of(answer.value) if answer.value is not None else None
    return Score(
        assignment=assignment,
        criterion=criterion,
        revision=revision,
        value=answer.value,
        level=answer.level or (str(level["key"]) if level else ""),
        not_applicable=answer.not_applicable,
        reason=answer.reason,
        evidence=[dict(piece) for piece in answer.evidence] or None,
    )


def _same(score: Score | None, answer: Answer) -> bool:
    return score is not None and (
        score.value == answer.value
        and (not answer.level or score.level == answer.level)
        and score.not_applicable == answer.not_applicable
        and score.reason == answer.reason
        and (score.evidence or []) == [dict(piece) for piece in answer.evidence]
    )


_TAKE_HELD = PreparedChange(
    lambda task, holder: (
        Seat.objects.filter(task=task, holder=holder, state=Seat.State.HELD),
        {"state": Seat.State.TAKEN, "leased_until": None},
    ),
    EXAMPLE_ID,
    OTHER_ID,
)
_CLOSE = PreparedChange(
    lambda pk, status, reason, conditions, shown, submitted, active, idle: (
        Assignment.objects.filter(pk=pk, status=Assignment.Status.OPEN),
        {
            "status": status,
            "reason": reason,
            "conditions": conditions,
            "shown_at": shown,
            "submitted_at": submitted,
            "active_seconds": active,
            "idle_seconds": idle,
        },
    ),
    EXAMPLE_ID,
    EXAMPLE_NAME,
    OTHER_NAME,
    EXAMPLE_JSON,
    EXAMPLE_TIME,
    OTHER_TIME,
    EXAMPLE_SHARE,
    OTHER_SHARE,
)
_DELETE_DRAFT = PreparedChange(
    lambda task, rater, repeat: (Draft.objects.filter(task=task, rater=rater, repeat=repeat), None),
    EXAMPLE_ID,
    OTHER_ID,
    EXAMPLE_NUMBER,
)
_INSERT_SCORES = PreparedInsert(Score)


def _take_seat(assignment: Assignment, clock: Clock) -> bool:
    """Turn the lease into a taken slot; an expired lease is regained if the task still has a free slot."""
    if assignment.repeat or assignment.task.gold is not None:
        return True
    if _TAKE_HELD.run(assignment.task_id, assignment.rater_id):
        return True
    return regain_seat(assignment, clock=clock, closing=True) and bool(
        _TAKE_HELD.run(assignment.task_id, assignment.rater_id)
    )


def _record_first(
    assignment: Assignment,
    criteria: Mapping[str, Criterion],
    answers: Mapping[str, Answer],
    clock: Clock,
    timing: Timing,
) -> Outcome | None:
    """Store the first answer; return None and change nothing if the assignment is no longer open."""
    late = too_late(assignment.rater, assignment.task.study)
    with transaction.atomic():
        # Lock the slot before the assignment, in the same order as releasing leases does, to avoid a deadlock.
        if late:
            release_seat(assignment)
        seated = not late and _take_seat(assignment, clock)
        checked = assignment.task.gold is not None
        status = Assignment.Status.CHECKED if checked else Assignment.Status.SUBMITTED
        if not seated:
            status = Assignment.Status.SURPLUS
        now = clock()
        spent = _spent(assignment, timing, now)
        rule, pace = too_fast(assignment, spent.passed)
        hurried = {TOO_FAST: round(pace)} if rule and pace and pace > rule.words else {}
        conditions = assignment.conditions | spent.marks | hurried
        if not _CLOSE.run(assignment.pk, status, late, conditions, spent.shown_at, now, *spent.seconds):
            transaction.set_rollback(True)
            return None
        # After the row is closed, so that an exclusion made meanwhile is seen here, or sees the answer.
        if seated and set_aside_if_excluded(assignment, now):
            status = Assignment.Status.EXCLUDED
        rows = (_row(assignment, criterion, answers[key], revision=0) for key, criterion in criteria.items())
        _INSERT_SCORES.run(*rows)
        _DELETE_DRAFT.run(assignment.task_id, assignment.rater_id, assignment.repeat)
        if checked and not late:
            note_check(assignment, criteria.values(), _values(answers), clock=clock)
        haste = Haste.NONE if late else note_haste(assignment, rule, pace, clock=clock)
        if seated:
            slot = not checked and not assignment.repeat
            announce_if_all_rated(assignment.task.study, took_slot=slot, clock=clock)
    assignment.status, assignment.reason, assignment.submitted_at = status, late, now
    assignment.conditions, assignment.shown_at = conditions, spent.shown_at
    if late:
        return Outcome.LATE
    if haste is Haste.TOLD:
        return Outcome.TOLD
    return Outcome.RECORDED if seated else Outcome.SURPLUS


@dataclass(frozen=True)
class _Spent:
    """The browser's times, bounded by the server's clock; `passed`: seconds between assignment and answer."""

    passed: float
    shown_at: datetime
    seconds: tuple[float | None, float | None]
    marks: Mapping[str, Any]


def _spent(assignment: Assignment, timing: Timing, now: datetime) -> _Spent:
    handed = assignment.shown_at or assignment.created_at
    passed = (now - handed).total_seconds()
    time = bounded(timing.active_seconds, timing.idle_seconds, passed)
    shown = assignment.shown_at
    if shown is None:
        # The task was prefetched and shown offline, so its time began that long ago.
        shown = max(handed, now - timedelta(seconds=(time.active or 0) + (time.idle or 0)))
    marks = {CLAIMED: dict(time.claimed)} if time.claimed else {}
    return _Spent(passed, shown, (time.active, time.idle), marks)


def _revise(assignment: Assignment, criteria: Mapping[str, Criterion], answers: Mapping[str, Answer]) -> Outcome:
    """Add revisions for what changed; simultaneous changes take turns, and the unique constraint guards against the rest."""
    attempt = 0
    while True:
        attempt += 1
        try:
            with transaction.atomic():
                # From the first attempt on: whoever did not wait could make those that do wait fail again and again.
                Assignment.objects.select_for_update(no_key=True).get(pk=assignment.pk)
                latest = latest_scores(Score.objects.filter(assignment=assignment))
                rows = []
                for key, criterion in criteria.items():
                    before = latest.get(criterion.pk)
                    if not _same(before, answers[key]):
                        revision = before.revision + 1 if before else 0
                        rows.append(_row(assignment, criterion, answers[key], revision))
                if rows:
                    Score.objects.bulk_create(rows)
                drafts_of(assignment).delete()
        except IntegrityError:
            if attempt == REVISION_ATTEMPTS:
                raise
            continue
        return Outcome.REVISED if rows else Outcome.UNCHANGED


def _keep_late(
    assignment: Assignment, criteria: Mapping[str, Criterion], answers: Mapping[str, Answer], cause: str
) -> Outcome:
    """Keep a change that does not count; a change equal to the last one sent is not stored again."""
    with transaction.atomic():
        drafts_of(assignment).delete()
        before = assignment.late_changes.order_by("-pk").first()
        sent = {key: _plain(answers[key]) for key in criteria}
        if before is not None and before.answers == sent:
            return Outcome.UNCHANGED
        latest = latest_scores(Score.objects.filter(assignment=assignment))
        if before is None and all(_same(latest.get(one.pk), answers[key]) for key, one in criteria.items()):
            return Outcome.UNCHANGED
        LateChange.objects.create(assignment=assignment, cause=cause, answers=sent)
    return Outcome.LATE


def late_scores(assignment: Assignment) -> dict[int, Score]:
    """The latest change that does not count, as unsaved scores by criterion id, for the page of a stopped rater.

    Returns {} without a query if the rater's answers count.
    """
    if not too_late(assignment.rater, assignment.task.study):
        return {}
    change = assignment.late_changes.order_by("-pk").first()
    criteria = {one.key: one for one in assignment.task.answer_rubric.criteria.all()} if change else {}
    kept = change.answers if change else {}
    return {
        criteria[key].pk: Score(assignment=assignment, criterion=criteria[key], **sent)
        for key, sent in kept.items()
        if key in criteria
    }


def _plain(answer: Answer) -> dict[str, Any]:
    evidence = [dict(piece) for piece in answer.evidence] or None
    return {
        "value": answer.value,
        "level": answer.level,
        "not_applicable": answer.not_applicable,
        "reason": answer.reason,
        "evidence": evidence,
    }


def record_answer(
    *,
    assignment: Assignment,
    answers: Mapping[str, Answer],
    clock: Clock,
    timing: Timing | None = None,
    criteria: Iterable[Criterion] | None = None,
    note: str = "",
) -> Outcome:
    """Store the answer to every criterion of the assignment's rubric, exactly once.

    The first answer takes the assignment's slot; an answer whose lease has expired and whose task is full is kept as
    surplus. A different later answer is a revision; the same answer changes nothing. Answers from a stopped rater,
    or from anybody after the study has closed, are kept but do not count (LATE).
    Raises AnswerRefused, and NotOpen where the task was skipped, or has been removed (TaskRemoved).
    """
    there = Assignment.objects.filter(pk=assignment.pk)
    with refused_where_removed(there):
        if criteria is None:
            criteria = assignment.task.answer_rubric.criteria.all()
        by_key = {criterion.key: criterion for criterion in criteria}
    problems = problems_with(by_key.values(), answers)
    if problems:
        raise AnswerRefused(problems)
    with refused_where_removed(there, by_key.values()):
        return _record(assignment, by_key, answers, clock, timing or Timing(), note)


def _record(
    assignment: Assignment,
    by_key: Mapping[str, Criterion],
    answers: Mapping[str, Answer],
    clock: Clock,
    timing: Timing,
    note: str,
) -> Outcome:
    outcome = None
    if assignment.status == Assignment.Status.OPEN:
        outcome = _record_first(assignment, by_key, answers, clock, timing)
        if outcome is None:
            assignment.refresh_from_db(fields=["status"])
    if outcome is None:
        if assignment.status not in GIVEN:
            raise NotOpen(f"Assignment {assignment.public_id} is {assignment.status}; it takes no answer.")
        late = too_late(assignment.rater, assignment.task.study)
        outcome = _keep_late(assignment, by_key, answers, late) if late else _revise(assignment, by_key, answers)
    if note.strip() and outcome is not Outcome.UNCHANGED:
        Flag.objects.create(task_id=assignment.task_id, rater_id=assignment.rater_id, kind="note", text=note.strip())
    return outcome


def save_draft(
    *, assignment: Assignment, answers: Mapping[str, str], serial: int, paragraph: int = 0, paragraph_b: int = 0
) -> bool:
    """Keep the entries so far, by form field name; an older serial never replaces a newer one.

    Returns True if this draft is now the stored one. Raises NotOpen for a skipped task.
    """
    if assignment.status != Assignment.Status.OPEN and assignment.status not in GIVEN:
        raise NotOpen(f"Assignment {assignment.public_id} is {assignment.status}; it takes no draft.")
    kept = drafts_of(assignment)
    fields = {"answers": dict(answers), "serial": serial, "paragraph": paragraph, "paragraph_b": paragraph_b}
    if kept.filter(serial__lt=serial).update(**fields):
        return True
    try:
        with transaction.atomic():
            Draft.objects.create(
                task_id=assignment.task_id, rater_id=assignment.rater_id, repeat=assignment.repeat, **fields
            )
    except IntegrityError:
        return bool(kept.filter(serial__lt=serial).update(**fields))
    return True


def save_place(*, assignment: Assignment, paragraph: int, paragraph_b: int = 0) -> None:
    """Keep only the reading position, since the entries may be newer elsewhere."""
    places = {"paragraph": paragraph, "paragraph_b": paragraph_b}
    if assignment.status != Assignment.Status.OPEN or drafts_of(assignment).update(**places):
        return
    with suppress(IntegrityError), transaction.atomic():  # created by another tab at the same moment
        Draft.objects.create(
            task_id=assignment.task_id, rater_id=assignment.rater_id, repeat=assignment.repeat, **places
        )


def skip(*, assignment: Assignment, reason: str, clock: Clock, timing: Timing | None = None) -> None:
    """Give the task back with a reason; its slot goes to other raters. Skipping twice changes nothing.

    Raises AnswerRefused without a reason, and NotOpen if an answer was already given, or the task has been removed
    (TaskRemoved).
    """
    if not reason.strip():
        raise AnswerRefused({"reason": _("Choose a reason for skipping this task.")})
    with refused_where_removed(Assignment.objects.filter(pk=assignment.pk)):
        _skip(assignment, reason.strip()[:LONGEST_REASON], clock(), timing or Timing())


def _skip(assignment: Assignment, reason: str, now: datetime, timing: Timing) -> None:
    spent = _spent(assignment, timing, now)
    with transaction.atomic():
        release_seat(assignment)
        skipped = Assignment.objects.filter(pk=assignment.pk, status=Assignment.Status.OPEN).update(
            status=Assignment.Status.SKIPPED,
            reason=reason,
            submitted_at=now,
            active_seconds=spent.seconds[0],
            idle_seconds=spent.seconds[1],
            conditions=assignment.conditions | spent.marks,
        )
        if skipped:
            drafts_of(assignment).delete()
        else:
            transaction.set_rollback(True)
    if skipped:
        assignment.status = Assignment.Status.SKIPPED
        return
    assignment.refresh_from_db(fields=["status"])
    if assignment.status != Assignment.Status.SKIPPED:
        raise NotOpen(f"Assignment {assignment.public_id} is {assignment.status}; it cannot be skipped.")

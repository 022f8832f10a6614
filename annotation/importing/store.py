"""Store imported answers as tasks, assignments and scores of one study, in batches.

Nothing is written twice: stored answers are compared, and a differing value is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from annotation.answers.excluded import set_aside_all
from annotation.importing import messages
from annotation.models import Assignment, Score, Study, Task
from annotation.rubrics.scales import Reading, Rules
from core.db.bulk_insert import Inserting
from core.db.created_rows import is_collecting, note_changed, note_created, note_ids
from core.db.removal import conditions
from core.tables.bad_rows import Place

LONGEST_REASON = 300
UNUSABLE = "unusable"
WRITTEN = ("assignment", "criterion", "value", "level", "not_applicable", "reason")


@dataclass(frozen=True, slots=True)
class TaskName:
    """The rated response or pair of responses; the order of a pair does not matter."""

    response: int
    rubric: int
    second: int | None = None

    @property
    def key(self) -> str:
        if self.second is None:
            return f"r:{self.response}"
        return f"p:{min(self.response, self.second)}:{max(self.response, self.second)}"


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """The answer to one criterion: a reading, or why it cannot be used."""

    criterion: int
    key: str
    reading: Reading | None
    unusable: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The circumstances of an answer that its source records; `shown_first` refers to the task's own A and B.

    `left_out` says why the answer does not count: it is stored as excluded.
    """

    order: int | None = None
    seconds: float | None = None
    shown_first: str = ""
    conditions: Mapping[str, Any] = field(default_factory=dict)
    left_out: str = ""


@dataclass(slots=True)
class _Pending:
    assignment: Assignment
    scores: list[GivenAnswer] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)


class AnswerStore:
    """One study's answers; `repeated` counts those stored that repeat an answer of the same load.

    With `whole`, one unusable part makes the whole answer unscored, as for a verdict from one reply. Otherwise an
    unusable part is noted in the assignment's conditions under "unusable", and the answer is unscored only if no part
    can be used.
    """

    def __init__(self, study: Study, rules: Rules | None = None, *, whole: bool = False) -> None:
        self.study, self.rules, self.whole = study, rules or Rules(), whole
        self.made: set[int] = set()
        self._inserting = Inserting(Score, *WRITTEN)
        self.touched: set[int] = set()
        self._tasks: dict[str, tuple[int, int]] = {}
        self._assignments: dict[tuple[int, int, int], int] = {}
        self._scores: dict[tuple[int, int], float | None] = {}
        self._unscored: set[int] = set()
        self._scored: set[int] = set()
        self._unusable: set[tuple[int, str]] = set()
        self._times: dict[int, int] = {}
        self.repeated = 0
        self._given: dict[tuple[str, int, int], Reading | None] = {}
        self._numbers: dict[str, int] = {}
        self._new_tasks: dict[str, Task] = {}
        self._pending: dict[tuple[str, int, int], _Pending] = {}
        self._read()

    def _read(self) -> None:
        tasks = self.study.tasks.order_by().values_list("key", "pk", "response_a_id")
        self._tasks = {key: (pk, response) for key, pk, response in tasks.iterator(5000)}
        assignments = Assignment.objects.filter(task__study=self.study).order_by()
        for pk, task, rater, repeat, status, circumstances in assignments.values_list(
            "pk", "task_id", "rater_id", "repeat", "status", "conditions"
        ).iterator(5000):
            self._assignments[task, rater, repeat] = pk
            if status == Assignment.Status.UNSCORED:
                self._unscored.add(pk)
            self._unusable.update((pk, key) for key in circumstances.get(UNUSABLE, ()))
        scores = Score.objects.filter(assignment__task__study=self.study).order_by("revision")
        for pk, criterion, value in scores.values_list("assignment_id", "criterion_id", "value").iterator(5000):
            self._scores[pk, criterion] = value
            self._scored.add(pk)

    def first_response(self, name: TaskName) -> int:
        """The task's response A: as stored, or as named first."""
        known = self._tasks.get(name.key)
        if known:
            return known[1]
        new = self._new_tasks.get(name.key)
        return new.response_a_id if new else name.response

    def is_unscored(self, name: TaskName, rater: int) -> bool:
        """Whether the study already has this rater's answer as unusable."""
        known = self._tasks.get(name.key)
        return known is not None and self._assignments.get((known[0], rater, 0), 0) in self._unscored

    def add(self, place: Place, name: TaskName, rater: int, who: str, given: GivenAnswer, how: Circumstances) -> str:
        """Add one answer and return "created", "already_there", "dropped", "unscored" or "left_out".

        Raises BadRow for a second one. A correct answer that a table gives again, as one does that has a row per rater,
        is there already.
        """
        known = self._tasks.get(name.key)
        if self.rules.truth and known is None:
            raise place.bad(f"study {self.study.slug} has no answers to this item", "load its ratings first")
        if self.rules.truth and self._is_given_again(name, rater, given):
            return "already_there"
        repeat = self._count(place, name, rater, who, given)
        if repeat and self.rules.duplicates == "drop":
            return "dropped"
        pk = self._assignments.get((known[0], rater, repeat)) if known else None
        if pk is not None and pk not in self.made and self._compare(place, pk, who, given):
            return "already_there"
        self.repeated += repeat > 0
        pending = self._pending.get((name.key, rater, repeat))
        if pending is None:
            if not known and name.key not in self._new_tasks:
                self._new_tasks[name.key] = self._task(name)
            assignment = Assignment(pk=pk) if pk else _assignment(rater, repeat, how)
            pending = self._pending[name.key, rater, repeat] = _Pending(assignment)
        if given.reading is None:
            pending.unusable[given.key] = given.unusable
            return "unscored"
        pending.scores.append(given)
        return "left_out" if how.left_out else "created"

    def _count(self, place: Place, name: TaskName, rater: int, who: str, given: GivenAnswer) -> int:
        """How often this load has had this answer before; a second one is a repeat if repeats are allowed."""
        number = self._numbers.setdefault(name.key, len(self._numbers))
        mark = (number << 80) | (rater << 40) | given.criterion
        repeat = self._times.get(mark, 0)
        if repeat and self.rules.truth:
            raise place.bad(messages.TWO_TRUTHS(), messages.KEEP_ONE())
        if repeat and self.rules.duplicates == "refuse":
            raise place.bad(messages.TWO_ANSWERS(who=who), messages.REMOVE_ONE())
        self._times[mark] = repeat + 1
        return repeat

    def _is_given_again(self, name: TaskName, rater: int, given: GivenAnswer) -> bool:
        """Whether an earlier row has given this answer; the first row that gives it is remembered."""
        mark = name.key, rater, given.criterion
        again = mark in self._given and self._given[mark] == given.reading
        self._given.setdefault(mark, given.reading)
        return again

    def _compare(self, place: Place, pk: int, who: str, given: GivenAnswer) -> bool:
        """Whether a stored assignment has the same answer; false if it has none yet. Raises BadRow if it differs."""
        stored = self._scores.get((pk, given.criterion), given)
        if given.reading is None:
            if (pk, given.key) in self._unusable or (self.whole and pk in self._unscored):
                return True
            if stored is given and not self.whole:
                return False
        elif stored is given:
            return False
        elif stored == given.reading.value:
            return True
        was = "something else" if stored is given else "n/a" if stored is None else f"{stored:g}"
        raise place.bad(f"{who} has already answered {was} here", "load it into a study of its own")

    def _task(self, name: TaskName) -> Task:
        return Task(
            study=self.study,
            kind=Task.Kind.SINGLE if name.second is None else Task.Kind.PAIR,
            key=name.key,
            response_a_id=name.response,
            response_b_id=name.second,
            answer_rubric_id=name.rubric,
            position=len(self._tasks) + len(self._new_tasks),
        )

    def flush(self) -> None:
        """Write the answers added since the last call."""
        note_created(tasks := Task.objects.bulk_create(self._new_tasks.values()))
        for task in tasks:
            self._tasks[task.key] = task.pk, task.response_a_id
        new: list[tuple[int, int, _Pending]] = []
        for (key, rater, repeat), pending in self._pending.items():
            if pending.assignment.pk is None:
                pending.assignment.task_id = self._tasks[key][0]
                self._settle(pending, scored=False)
                new.append((rater, repeat, pending))
            elif pending.unusable or pending.assignment.pk in self._unscored:
                self._amend(pending)
        note_created(Assignment.objects.bulk_create(pending.assignment for _rater, _repeat, pending in new))
        for rater, repeat, pending in new:
            pk = pending.assignment.pk
            self._assignments[pending.assignment.task_id, rater, repeat] = pk
            self.made.add(pk)
            self.touched.add(pk)
            if pending.assignment.status == Assignment.Status.UNSCORED:
                self._unscored.add(pk)
        self._write_scores()
        set_aside_all(self.study)
        self._pending.clear()
        self._new_tasks.clear()

    def _settle(self, pending: _Pending, *, scored: bool) -> None:
        """Set the status, reason and conditions of an assignment by its usable parts."""
        assignment = pending.assignment
        unusable = {**assignment.conditions.get(UNUSABLE, {}), **pending.unusable}
        if unusable:
            assignment.conditions = {**assignment.conditions, UNUSABLE: unusable}
        lost = bool(unusable) and (self.whole or not (scored or pending.scores))
        if lost:
            assignment.status = Assignment.Status.UNSCORED
            assignment.reason = "; ".join(unusable.values())[:LONGEST_REASON]
        elif assignment.status != Assignment.Status.EXCLUDED:
            assignment.status, assignment.reason = Assignment.Status.SUBMITTED, ""

    def _amend(self, pending: _Pending) -> None:
        """Settle an assignment that is already stored."""
        pending.assignment = Assignment.objects.get(pk=pending.assignment.pk)
        pk = pending.assignment.pk
        self.touched.add(pk)
        former = {name: getattr(pending.assignment, name) for name in ("status", "reason", "conditions")}
        note_changed(pending.assignment, former)
        self._settle(pending, scored=pk in self._scored)
        pending.assignment.save(update_fields=["status", "reason", "conditions"])
        if pending.assignment.status == Assignment.Status.UNSCORED:
            self._unscored.add(pk)
        else:
            self._unscored.discard(pk)

    def _write_scores(self) -> None:
        rows = [
            (
                pending.assignment.pk,
                given.criterion,
                given.reading.value,
                given.reading.level,
                given.reading.value is None,
                given.reason,
            )
            for pending in self._pending.values()
            for given in pending.scores
            if given.reading is not None
        ]
        # Creating a model instance per score took half of the load time, and SQLite blocks other writers meanwhile.
        now = timezone.now()
        self._inserting.insert(rows, revision=0, created_at=now)
        answered = {int(row[0]) for row in rows if row[0] is not None}
        self._scored.update(answered)
        for some in conditions("assignment_id", answered) if is_collecting() else ():
            note_ids(Score, Score.objects.filter(some, created_at=now).order_by().values_list("pk", flat=True))


def _assignment(rater: int, repeat: int, how: Circumstances) -> Assignment:
    status = Assignment.Status.EXCLUDED if how.left_out else Assignment.Status.SUBMITTED
    return Assignment(
        status=status,
        reason=how.left_out[:LONGEST_REASON],
        rater_id=rater,
        repeat=repeat,
        shown_first=how.shown_first,
        order=how.order,
        active_seconds=how.seconds,
        conditions=dict(how.conditions),
    )

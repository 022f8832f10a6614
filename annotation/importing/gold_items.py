"""Load known answers from a table: the tasks that check raters, and the answers expected to them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction

from annotation.assignment.attention_checks import mark_gold
from annotation.importing import messages
from annotation.models import Criterion, Study, Task
from annotation.policies.policies import GOLD
from annotation.rubrics.scales import describe, number_in
from annotation.studies.life_cycle import log_event
from core.errors import UserError
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.reading import Row, read_rows
from generation.library.loading import Counts

COLUMNS = ("instruction", "criterion", "value")


@dataclass
class KnownAnswer:
    """The answers expected to one task; `place` is the first row about it."""

    place: Place
    task: Task
    expected: dict[str, float | list[float]] = field(default_factory=dict)
    purpose: str = GOLD
    why: dict[str, str] = field(default_factory=dict)


def mark_from_table(study: Study, file: Path) -> int:
    """Mark the tasks that the file names, one row per criterion, and return their number. All or nothing.

    Columns: instruction, model (and model_b of a pair), criterion, value (7, 6-8, or a level's key), and optionally
    purpose (gold, training, qualification), why and why_zh. Raises BadRow.
    """
    return mark_rows(study, read_rows(file, COLUMNS)).created


def mark_rows(study: Study, rows: Iterable[Row], on_bad: OnBadRow = refuse) -> Counts:
    """Mark the tasks that the rows of such a table name, and return how many were.

    Bad rows are passed to `on_bad` and left out, and with each all rows of its task that are known by then or come after:
    what is expected of a task counts as a whole.
    """
    known: dict[int, KnownAnswer] = {}
    criteria: dict[int, dict[str, Criterion]] = {}
    finder, counts, left_out = _Tasks(study), Counts(), set[int]()
    with transaction.atomic():
        for row in rows:
            try:
                task = finder.task(row)
            except BadRow as problem:
                on_bad(problem)
                counts += Counts(skipped=1)
                continue
            if task.answer_rubric_id not in criteria:
                criteria[task.answer_rubric_id] = {one.key: one for one in task.answer_rubric.criteria.all()}
            answer = known.setdefault(task.pk, KnownAnswer(row.place, task))
            try:
                _add(answer, row, criteria[task.answer_rubric_id])
            except BadRow as problem:
                on_bad(problem)
                counts += Counts(skipped=1)
                left_out.add(task.pk)
        for answer in known.values():
            if answer.task.pk in left_out:
                continue
            try:
                mark_gold(answer.task, answer.expected, purpose=answer.purpose, why=answer.why)
            except UserError as problem:
                on_bad(answer.place.bad(str(problem).rstrip("."), messages.CORRECT_IT()))
                counts += Counts(skipped=1)
                continue
            log_event(
                study,
                None,
                "mark_known_answer",
                about=answer.task,
                after={"task": answer.task.key, **(answer.task.gold or {})},
            )
            counts += Counts(created=1)
    return counts


def _add(answer: KnownAnswer, row: Row, criteria: dict[str, Criterion]) -> None:
    values = row.values
    criterion = criteria.get(values["criterion"])
    if criterion is None:
        said = messages.NO_CRITERION(rubric=answer.task.answer_rubric.key, criterion=repr(values["criterion"][:50]))
        raise row.place.bad(said, messages.ITS_CRITERIA(known=", ".join(criteria)))
    if criterion.key in answer.expected:
        raise row.place.bad(messages.TWO_ROWS(criterion=criterion.key), messages.REMOVE_A_ROW())
    expected = _expected(row.place, criterion, values["value"].strip())
    low, high = criterion.ends
    if any(not low <= end <= high for end in (expected if isinstance(expected, list) else [expected])):
        said = messages.OFF_SCALE(
            value=repr(values["value"].strip()[:50]), criterion=criterion.key, scale=describe(criterion)
        )
        raise row.place.bad(said, messages.CORRECT_IT())
    answer.expected[criterion.key] = expected
    answer.purpose = values.get("purpose", "").strip() or answer.purpose
    for column, language in (("why", "en"), ("why_zh", "zh-hans")):
        if values.get(column, "").strip():
            answer.why[language] = values[column].strip()


def _expected(place: Place, criterion: Criterion, written: str) -> float | list[float]:
    """7 as 7.0, 6-8 as [6.0, 8.0], a level's key or label as its value."""
    for level in criterion.levels:
        if written in (str(level["key"]), *(level.get("label") or {}).values()):
            return float(level["value"])
    number = number_in(written)
    if number is not None:
        return number
    low, _dash, high = written.partition("-")
    ends = number_in(low), number_in(high)
    if ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        levels = ", ".join(str(level["key"]) for level in criterion.levels)
        remedy = messages.ANSWERS_OR_LEVELS(levels=levels) if levels else messages.ANSWERS()
        raise place.bad(messages.NO_ANSWER(text=repr(written[:50]), criterion=criterion.key), remedy)
    return [ends[0], ends[1]]


class _Tasks:
    """Finds the study's tasks by the names that people use: the instruction and the models."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._known: dict[str, list[Task]] = {}
        rows = Task.objects.filter(study=study).select_related(
            "response_a__instruction", "response_a__model", "response_b__model", "answer_rubric", "study"
        )
        for task in rows.exclude(gold__purpose="control"):
            self._known.setdefault(task.response_a.instruction.external_id, []).append(task)

    def task(self, row: Row) -> Task:
        """The task that the row names. Raises BadRow if none or more than one matches."""
        name = row.values["instruction"]
        if name not in self._known:
            said = messages.NO_TASK(study=self.study.slug, name=repr(name[:50]))
            raise row.place.bad(said, messages.CHECK_TASKS())
        wanted = {row.values[column].strip() for column in ("model", "model_b") if row.values.get(column, "").strip()}
        found = [task for task in self._known[name] if wanted <= set(_models(task))]
        if not found:
            known = sorted({model for task in self._known[name] for model in _models(task)})
            said = messages.NO_MODEL_TASK(name=repr(name[:50]), models=", ".join(sorted(wanted)))
            raise row.place.bad(said, messages.USE_ONE(known=", ".join(known)))
        if len(found) > 1:
            raise row.place.bad(messages.TWO_TASKS(n=len(found), name=repr(name[:50])), messages.NAME_MODELS())
        return found[0]


def _models(task: Task) -> Iterator[str]:
    responses: Iterable[object] = (task.response_a, task.response_b)
    for response in responses:
        model = getattr(response, "model", None)
        if model is not None:
            yield model.name

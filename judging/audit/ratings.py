"""A table's answers as arrays: tasks with people's values and each judge's, and repeats of a judge. PURE."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibration.statistics.resampling import FloatArray, IntArray
from core.errors import UserError
from judging.audit import messages
from judging.audit.report import ValueKind
from judging.audit.roles import MOST_LABELS, AuditTable, ColumnLayout, is_number, moment, plain

FIRST = {"1", "1.0", "a", "first", "left", "model_a", "model_1", "model1", "output_1", "response_a", "response_1"}
SECOND = {"2", "2.0", "b", "second", "right", "model_b", "model_2", "model2", "output_2", "response_b", "response_2"}
TIE = {"0", "0.0", "1.5", "tie", "tied", "both", "draw", "same", "equal", "neither", "both_bad", "tie_bothbad", "c"}
FORMATTED = {"1", "1_0", "true", "yes", "y", "markdown", "formatted", "html", "rich"}
UNFORMATTED = {"0", "0_0", "false", "no", "n", "plain", "plain_text", "prose", "text", "unformatted"}
MARKS = re.compile(
    r"(?m)^ {0,3}#{1,6} \S|^ *(?:[-*+•]|\d{1,2}[.)]) +\S.*\n+ *(?:[-*+•]|\d{1,2}[.)]) +\S|\*\*\S[^*\n]*\*\*|^\|.*\|$"
)
"""A heading, two points of a list one after the other, bold words or a row of a table, as Markdown writes them."""
NUMBERS_ENOUGH = 0.98
"""The share of a table's values that are numbers from which the others count as unreadable."""


@dataclass(frozen=True)
class Repeat:
    """Two answers of one judge to one task; `first` and `again` are values (points of the same response for pairs)."""

    task: int
    first: float
    again: float
    swapped: bool


@dataclass(frozen=True)
class Ratings:
    """Tasks 0..T-1: an item's response (or pair of them) under one criterion; a pair's value is its first side's points.

    `instruction` and `criterion` (T,) are codes. `task`, `rater` and `value` (n,) hold one line for each person's answer, in
    the order of tasks. `judges` maps each judge to its values (T,), nan where it has none. `models` holds a task's model, or
    the models of its sides. `length`, `position` and `formatted` (T,) are nan where unknown; of a pair, `length` is the
    first side's doublings beyond the second's (log2 of the ratio), else log2 of the length; `formatted` is the first side's
    minus the second's, else 1 for a formatted response and 0 for a plain one. `moments` maps each judge to the seconds since
    1970 of its verdicts (T,), nan where unknown. `labels` name the codes of labels.
    """

    kind: ValueKind
    instruction: IntArray
    criterion: IntArray
    task: IntArray
    rater: IntArray
    value: FloatArray
    people: tuple[str, ...]
    judges: Mapping[str, FloatArray]
    repeats: Mapping[str, Sequence[Repeat]]
    models: Sequence[tuple[str, ...]]
    length: FloatArray
    position: FloatArray
    formatted: FloatArray
    moments: Mapping[str, FloatArray]
    labels: tuple[str, ...]
    unreadable: int


@dataclass(frozen=True)
class _Answer:
    row: int
    who: str
    is_judge: bool
    text: str


@dataclass
class _Tasks:
    """Tasks by what they are about, numbered as they appear; `reversed_` says whether a row shows a pair's sides swapped."""

    number: dict[tuple[str, ...], int] = field(default_factory=dict)
    first_row: list[int] = field(default_factory=list)

    def of(self, key: tuple[str, ...], row: int) -> int:
        task = self.number.setdefault(key, len(self.number))
        if task == len(self.first_row):
            self.first_row.append(row)
        return task


def read_ratings(table: AuditTable, layout: ColumnLayout) -> Ratings:
    """Arrange a table's values by task. Raises UserError where they are neither scores nor verdicts."""
    answers = [answer for answer in _answers(table, layout) if answer.text]
    if not answers:
        raise UserError(messages.NOTHING_TO_COMPARE(file=table.file))
    kind, numbers, labels = _values(table, layout, answers)
    tasks, rows, turned = _tasks(table, layout)
    people: dict[tuple[int, str], float] = {}
    judged: dict[str, dict[int, float]] = {name: {} for name in layout.judges}
    repeats: dict[str, list[Repeat]] = {name: [] for name in layout.judges}
    shown: dict[tuple[str, int], bool] = {}
    moments: dict[str, dict[int, float]] = {name: {} for name in layout.judges}
    for answer, number in zip(answers, numbers, strict=True):
        if number != number:
            continue
        task, swapped = rows[answer.row], turned[answer.row]
        value = 1 - number if swapped and kind == "pairs" else number
        if not answer.is_judge:
            people.setdefault((task, answer.who), value)
        elif task not in judged[answer.who]:
            judged[answer.who][task], shown[answer.who, task] = value, swapped
            judged_at = moment(_cell(table, layout.time, answer.row))
            if judged_at is not None:
                moments[answer.who][task] = judged_at
        else:
            repeats[answer.who].append(
                Repeat(task, judged[answer.who][task], value, shown[answer.who, task] != swapped)
            )
    names = tuple(name for name in layout.people if any(who == name for _task, who in people))
    place = {name: code for code, name in enumerate(names)}
    lines = sorted((task, place[who], value) for (task, who), value in people.items())
    return Ratings(
        kind=kind,
        instruction=_codes([_cell(table, layout.item, row) or str(row) for row in tasks.first_row]),
        criterion=_codes([_cell(table, layout.criterion, row) for row in tasks.first_row]),
        task=np.array([line[0] for line in lines], dtype=np.int64),
        rater=np.array([line[1] for line in lines], dtype=np.int64),
        value=np.array([line[2] for line in lines], dtype=np.float64),
        people=names,
        judges={name: _filled(values, len(tasks.first_row)) for name, values in judged.items() if values},
        repeats=repeats,
        models=[_models(table, layout, row) for row in tasks.first_row],
        length=np.array([_length(table, layout, row) for row in tasks.first_row], dtype=np.float64),
        position=np.array([_number(_cell(table, layout.position, row)) for row in tasks.first_row], dtype=np.float64),
        formatted=np.array([_formatted(table, layout, row) for row in tasks.first_row], dtype=np.float64),
        moments={name: _filled(given, len(tasks.first_row)) for name, given in moments.items() if given},
        labels=labels,
        unreadable=sum(number != number for number in numbers),
    )


def _answers(table: AuditTable, layout: ColumnLayout) -> Iterator[_Answer]:
    if layout.shape == "wide":
        for name, is_judge in [*((n, False) for n in layout.people), *((n, True) for n in layout.judges)]:
            for row, text in enumerate(table.columns[name]):
                yield _Answer(row, name, is_judge, text)
        return
    judges, people = set(layout.judges), set(layout.people)
    for row, (who, text) in enumerate(zip(table.columns[layout.rater], table.columns[layout.score], strict=True)):
        if who in judges or who in people:
            yield _Answer(row, who, who in judges, text)


def _values(
    table: AuditTable, layout: ColumnLayout, answers: Sequence[_Answer]
) -> tuple[ValueKind, list[float], tuple[str, ...]]:
    """What the values are, and each as a number, nan where it cannot be read."""
    if layout.sides:
        return "pairs", _points(table, layout, answers), ()
    numbers = [_number(answer.text) for answer in answers]
    readable = sum(number == number for number in numbers)
    if readable >= NUMBERS_ENOUGH * len(numbers):
        return ("numbers" if len(set(numbers)) > 2 else "labels"), numbers, tuple(sorted({a.text for a in answers})[:2])
    labels = {label: code for code, label in enumerate(sorted({answer.text for answer in answers}))}
    if len(labels) > MOST_LABELS:
        odd = next(answer for answer, number in zip(answers, numbers, strict=True) if number != number)
        column = layout.score if layout.shape == "long" else odd.who
        raise UserError(
            messages.NO_SCORES(
                file=table.file, column=column, most=MOST_LABELS, line=table.lines[odd.row], value=repr(odd.text[:60])
            )
        )
    return "labels", [float(labels[answer.text]) for answer in answers], tuple(labels)


def _points(table: AuditTable, layout: ColumnLayout, answers: Sequence[_Answer]) -> list[float]:
    """Points of the first side: 1 it is better, 0.5 a tie, 0 the second is. A model's name stands for its side."""
    column = layout.score if layout.shape == "long" else ", ".join(dict.fromkeys(answer.who for answer in answers))
    if {plain(answer.text) for answer in answers} <= {"0", "1"} and any(answer.text == "0" for answer in answers):
        one, other = messages.ZERO_TIE(column=column), messages.ZERO_SECOND(column=column)
        option = "the values 1, 2 and tie"
        raise UserError(messages.TWO_READINGS(file=table.file, one=one, other=other, option=option))
    found = []
    sides = [table.columns[name] for name in layout.sides]
    fractional = any("." in answer.text and is_number(answer.text) and float(answer.text) % 0.5 for answer in answers)
    for answer in answers:
        word = answer.text.strip()
        name = plain(word)
        if word and word == sides[0][answer.row] != sides[1][answer.row]:
            found.append(1.0)
        elif word and word == sides[1][answer.row] != sides[0][answer.row]:
            found.append(0.0)
        elif fractional and is_number(word) and 1 <= float(word) <= 2:
            found.append(min(1.0, max(0.0, 2 - float(word))))
        elif word in FIRST or name in FIRST:
            found.append(1.0)
        elif word in SECOND or name in SECOND:
            found.append(0.0)
        else:
            found.append(0.5 if word in TIE or name in TIE else float("nan"))
    lost = [answer for answer, point in zip(answers, found, strict=True) if point != point]
    if len(lost) > (1 - NUMBERS_ENOUGH) * len(found):
        odd = lost[0]
        raise UserError(
            messages.NO_VERDICT(
                file=table.file,
                column=layout.score if layout.shape == "long" else odd.who,
                value=repr(odd.text[:60]),
                line=table.lines[odd.row],
            )
        )
    return found


def _tasks(table: AuditTable, layout: ColumnLayout) -> tuple[_Tasks, list[int], list[bool]]:
    """The tasks, the task of each row, and whether it shows the sides of its pair swapped."""
    tasks, rows, turned = _Tasks(), [], []
    for row in range(len(table)):
        models = _models(table, layout, row)
        swapped = len(models) == 2 and models[0] > models[1]
        key = (_cell(table, layout.item, row) or f"\0{row}", _cell(table, layout.criterion, row), *sorted(models))
        rows.append(tasks.of(key, row))
        first = _models(table, layout, tasks.first_row[rows[-1]])
        turned.append(swapped != (len(first) == 2 and first[0] > first[1]))
    return tasks, rows, turned


def _models(table: AuditTable, layout: ColumnLayout, row: int) -> tuple[str, ...]:
    names = layout.sides or ((layout.model,) if layout.model else ())
    return tuple(table.columns[name][row] for name in names)


def _length(table: AuditTable, layout: ColumnLayout, row: int) -> float:
    """log2 of the length, or of the ratio of the first side's length to the second's; nan where one is missing or 0."""
    if layout.lengths:
        sizes = [_number(table.columns[name][row]) for name in layout.lengths]
    else:
        sizes = [float(len(table.columns[name][row])) for name in layout.texts]
    if not sizes or not all(size > 0 for size in sizes) or (layout.sides and len(sizes) < 2):
        return float("nan")
    logs = np.log2(sizes)
    return float(logs[0] - logs[1]) if layout.sides else float(logs[0])


def _formatted(table: AuditTable, layout: ColumnLayout, row: int) -> float:
    """1 formatted, 0 plain, of a pair the difference; from columns that say so, else from marks in the texts."""
    if layout.formats:
        found = [_yes(table.columns[name][row]) for name in layout.formats]
    else:
        texts = [table.columns[name][row] for name in layout.texts]
        found = [float(has_marks(text)) if text else float("nan") for text in texts]
    if not found or (layout.sides and len(found) < 2):
        return float("nan")
    return found[0] - found[1] if layout.sides else found[0]


def has_marks(text: str) -> bool:
    """Whether the text has a heading, a list, bold words or a table, as Markdown writes them."""
    return MARKS.search(text) is not None


def _yes(text: str) -> float:
    word = plain(text)
    return 1.0 if word in FORMATTED else 0.0 if word in UNFORMATTED else float("nan")


def _cell(table: AuditTable, column: str, row: int) -> str:
    return table.columns[column][row] if column else ""


def _number(text: str) -> float:
    return float(text) if is_number(text) else float("nan")


def _codes(labels: Sequence[str]) -> IntArray:
    return np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _filled(values: Mapping[int, float], size: int) -> FloatArray:
    found = np.full(size, np.nan)
    found[list(values)] = list(values.values())
    return found

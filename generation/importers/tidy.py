"""Rows of a tidy table -> ratings, preferences and item verdicts, by the columns the user names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from core.tables.bad_rows import BadRow, OnBadRow, refuse
from core.tables.reading import Row, read_rows
from generation.importers.messages import of_rows
from generation.importers.records import PreferenceRecord, RatingRecord

YES_WORDS = {"1", "true", "yes"}
NO_WORDS = {"0", "false", "no"}
EMPTY_WORDS = {"", "na", "nan", "none", "null"}
CHOICES = ("A", "B", "tie", "both_bad")
SIDES = ("A", "B")
STRENGTHS = (1, 2)
"""How much better the chosen side is: slightly, much."""
LARGEST_WHOLE = 2**31 - 1  # what every database keeps
LONGEST_SECONDS = 1e9
TRUTH = "correct answers"
"""The name under which the correct answers of a table are stored."""
_CHOICE_OF = {choice.lower(): choice for choice in CHOICES}

RATING_COLUMNS = (
    "item",
    "rater",
    "criterion",
    "value",
    "instruction",
    "model",
    "category",
    "variant",
    "order",
    "seconds",
    "reason",
    "rater_kind",
    "hint",
)
PREFERENCE_COLUMNS = (
    "item",
    "model_a",
    "model_b",
    "rater",
    "choice",
    "instruction",
    "category",
    "variant",
    "first",
    "strength",
    "order",
    "seconds",
    "rater_kind",
    "hint",
)
JUDGEMENT_COLUMNS = (
    "item",
    "judge",
    "criterion",
    "item_index",
    "value",
    "instruction",
    "model",
    "category",
    "variant",
    "reason",
)


@dataclass(frozen=True)
class Layout:
    """How a table is laid out.

    `columns` gives our name -> the file's column; `wide` are columns that each hold one rater's answers;
    `judges` are the columns that name judges (wide ones, or one whose value names the judge or says yes);
    `where` keeps the rows whose column has one of the values. `choices` map a label to a choice, such as A, or with a
    strength A:2; `sides` map what stands in the column `first` to A or B. `criteria` gives, for a table with one row per
    annotation, each criterion -> the column of its values. With `truth` the values are the correct answers, which no
    rater gave.
    """

    columns: Mapping[str, str]
    wide: Sequence[str] = ()
    judges: Sequence[str] = ()
    judge_prefix: str = ""
    judge_name: str = ""
    where: Mapping[str, frozenset[str]] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)
    sides: Mapping[str, str] = field(default_factory=dict)
    truth: bool = False
    criteria: Mapping[str, str] = field(default_factory=dict)

    def needed(self) -> list[str]:
        return [*self.columns.values(), *self.wide, *self.judges, *self.where, *self.criteria.values()]

    def keeps(self, row: Row) -> bool:
        return all(row.values[column] in values for column, values in self.where.items())

    def value(self, row: Row, name: str) -> str:
        column = self.columns.get(name)
        return row.one(column).strip() if column else ""

    def required(self, row: Row, name: str) -> str:
        value = self.value(row, name)
        if not value:
            raise row.place.bad(of_rows.COLUMN_EMPTY(column=self.columns[name]), of_rows.NEEDS_VALUE(name=name))
        return value

    def variant(self, row: Row) -> str:
        value = self.value(row, "variant")
        return f"{self.columns['variant']} {value}" if value else ""

    def raters(self, row: Row, name: str) -> Iterator[tuple[str, bool, str]]:
        """(rater, whether a judge, answer) of a row; several where the raters stand side by side."""
        if self.wide:
            for column in self.wide:
                label, is_judge = self.named(column, column in self.judges)
                yield label, is_judge, _answer(row.one(column))
            return
        yield *self.rater(row), _answer(self.value(row, name))

    def rater(self, row: Row) -> tuple[str, bool]:
        """The only rater of a row, and whether it is a judge."""
        if self.truth:
            return TRUTH, False
        if self.judge_name:
            return self.judge_name, True
        mark = row.one(self.judges[0]).strip() if self.judges else ""
        if mark and not ("rater" in self.columns and mark.lower() in YES_WORDS | NO_WORDS):
            return mark, True
        if "rater" not in self.columns:
            raise row.place.bad(of_rows.COLUMN_EMPTY(column=self.judges[0]), of_rows.NAME_JUDGE())
        return self.named(self.required(row, "rater"), mark.lower() in YES_WORDS)

    def named(self, label: str, is_judge: bool) -> tuple[str, bool]:
        """The rater's name without the prefix of judges, and whether it is one."""
        if self.judge_prefix and label.startswith(self.judge_prefix):
            return label.removeprefix(self.judge_prefix) or label, True
        return label, is_judge


def _answer(text: str) -> str:
    text = text.strip()
    return "" if text.lower() in EMPTY_WORDS else text


def _number(row: Row, layout: Layout, name: str) -> float | None:
    text = _answer(layout.value(row, name))
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf") or (name == "seconds" and number > LONGEST_SECONDS):
        raise row.place.bad(of_rows.COLUMN_IS(column=layout.columns[name], value=repr(text)), of_rows.FROM_0_UP())
    return number


def _whole(row: Row, layout: Layout, name: str) -> int | None:
    number = _number(row, layout, name)
    if number is not None and (number != int(number) or number > LARGEST_WHOLE):
        raise row.place.bad(
            of_rows.COLUMN_IS(column=layout.columns[name], value=f"{number:.15g}"), of_rows.WHOLE_NUMBER()
        )
    return None if number is None else int(number)


def read_ratings(
    path: Path, layout: Layout, on_bad: OnBadRow = refuse, *, met: dict[str, None] | None = None
) -> Iterator[RatingRecord]:
    """Ratings of a table. Where no column names the criterion, it is called after the column of the values."""
    for row in read_rows(path, layout.needed(), on_bad, met=met):
        if not layout.keeps(row):
            continue
        try:
            yield from _ratings_of(row, layout)
        except BadRow as problem:
            on_bad(problem)


def _ratings_of(row: Row, layout: Layout) -> list[RatingRecord]:
    record = partial(
        RatingRecord,
        place=row.place,
        item=layout.required(row, "item"),
        instruction=layout.value(row, "instruction"),
        model=layout.value(row, "model"),
        category=layout.value(row, "category"),
        variant=layout.variant(row),
        order=_whole(row, layout, "order"),
        seconds=_number(row, layout, "seconds"),
        reason=layout.value(row, "reason"),
        rater_kind=_rater_kind(layout, row),
        hint=_hint(layout, row),
    )
    if layout.criteria:
        rater, is_judge = layout.rater(row)
        return [
            record(rater=rater, is_judge=is_judge, criterion=criterion, value=_answer(row.one(column)))
            for criterion, column in layout.criteria.items()
        ]
    if "criterion" in layout.columns:
        criterion = layout.required(row, "criterion")
    else:
        criterion = layout.columns.get("value", "rating")
    return [
        record(rater=rater, is_judge=is_judge, criterion=criterion, value=answer)
        for rater, is_judge, answer in layout.raters(row, "value")
    ]


def _rater_kind(layout: Layout, row: Row) -> str:
    """Return onsite, crowd or public, '' where the table does not say it; the study's raters check the word."""
    return _answer(layout.value(row, "rater_kind")).lower()


def _hint(layout: Layout, row: Row) -> bool | None:
    """Whether the rater saw the instruction's hint, None where the table does not say it."""
    word = _answer(layout.value(row, "hint")).lower()
    if word and word not in YES_WORDS | NO_WORDS:
        raise row.place.bad(
            of_rows.COLUMN_IS(column=layout.columns["hint"], value=repr(word[:30])), of_rows.YES_OR_NO()
        )
    return word in YES_WORDS if word else None


def read_judgements(
    path: Path, layout: Layout, on_bad: OnBadRow = refuse, *, met: dict[str, None] | None = None
) -> Iterator[RatingRecord]:
    """A judge's item scores: the criterion by its key or, as `item_index`, by its place from 0."""
    for row in read_rows(path, layout.needed(), on_bad, met=met):
        if not layout.keeps(row):
            continue
        try:
            yield from _judgements_of(row, layout)
        except BadRow as problem:
            on_bad(problem)


def _judgements_of(row: Row, layout: Layout) -> list[RatingRecord]:
    record = partial(
        RatingRecord,
        place=row.place,
        item=layout.required(row, "item"),
        rater=layout.judge_name or layout.named(layout.required(row, "judge"), True)[0],
        is_judge=True,
        instruction=layout.value(row, "instruction"),
        model=layout.value(row, "model"),
        category=layout.value(row, "category"),
        variant=layout.variant(row),
        reason=layout.value(row, "reason"),
    )
    if layout.criteria:
        columns = layout.criteria.items()
        return [record(criterion=criterion, value=_answer(row.one(column))) for criterion, column in columns]
    value = _answer(layout.value(row, "value"))
    if "item_index" not in layout.columns:
        return [record(criterion=layout.required(row, "criterion"), value=value)]
    layout.required(row, "item_index")
    return [record(criterion="", value=value, position=_whole(row, layout, "item_index"))]


def read_preferences(
    path: Path, layout: Layout, on_bad: OnBadRow = refuse, *, met: dict[str, None] | None = None
) -> Iterator[PreferenceRecord]:
    """Choices between two responses; `layout.choices` says what the file's own labels mean."""
    for row in read_rows(path, layout.needed(), on_bad, met=met):
        if not layout.keeps(row):
            continue
        try:
            yield from _preferences_of(row, layout)
        except BadRow as problem:
            on_bad(problem)


def _preferences_of(row: Row, layout: Layout) -> list[PreferenceRecord]:
    model_a, model_b = layout.required(row, "model_a"), layout.required(row, "model_b")
    if model_a == model_b:
        raise row.place.bad(of_rows.SAME_SIDES(model=repr(model_a)), of_rows.TWO_MODELS())
    strength = _strength(row, layout)
    records = []
    for rater, is_judge, answer in layout.raters(row, "choice"):
        choice, graded = _graded(layout.choices.get(answer) or answer)
        records.append(
            PreferenceRecord(
                place=row.place,
                item=layout.required(row, "item"),
                model_a=model_a,
                model_b=model_b,
                rater=rater,
                is_judge=is_judge,
                choice=_CHOICE_OF.get(choice.lower(), choice),
                instruction=layout.value(row, "instruction"),
                category=layout.value(row, "category"),
                variant=layout.variant(row),
                shown_first=_side(row, layout, model_a, model_b),
                order=_whole(row, layout, "order"),
                seconds=_number(row, layout, "seconds"),
                rater_kind=_rater_kind(layout, row),
                hint=_hint(layout, row),
                strength=strength if graded is None else graded,
            )
        )
    return records


def _graded(choice: str) -> tuple[str, int | None]:
    """A choice and its strength, if it states one: ("A", 2) for A:2."""
    side, colon, strength = choice.partition(":")
    if colon and side.upper() in SIDES and strength in map(str, STRENGTHS):
        return side.upper(), int(strength)
    return choice, None


def _strength(row: Row, layout: Layout) -> int | None:
    """How much better the chosen side is; 0, as some sources write for a tie, is none."""
    return _whole(row, layout, "strength") or None


def _side(row: Row, layout: Layout, model_a: str, model_b: str) -> str:
    """Which side was shown first, a or b, if the table says so: by letter or by the model's name."""
    value = layout.value(row, "first")
    if not value:
        return ""
    value = layout.sides.get(value, value)
    side = {"a": "a", "b": "b", model_a: "a", model_b: "b"}.get(value) or {"a": "a", "b": "b"}.get(value.lower())
    if side is None:
        remedy = of_rows.SAY_SIDE(value=value[:50])
        raise row.place.bad(of_rows.COLUMN_IS(column=layout.columns["first"], value=repr(value)), remedy)
    return side

"""Forms in which a lead writes the questions of a questionnaire, one row per question."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy

from annotation.questionnaires.question_file import options_of
from annotation.questionnaires.questions import (
    CHOICE,
    CHOICES,
    LONG_TEXT,
    LONGEST_END,
    LONGEST_WORDING,
    MOST_QUESTIONS,
    NUMBER,
    SCALE,
    TEXT,
    AskedQuestion,
    plain_number,
    read_questions,
)
from core.errors import UserError

KINDS = [
    (CHOICE, gettext_lazy("Single choice")),
    (CHOICES, gettext_lazy("Several choices")),
    (SCALE, gettext_lazy("Scale with numbers")),
    (NUMBER, gettext_lazy("Number")),
    (TEXT, gettext_lazy("Short text")),
    (LONG_TEXT, gettext_lazy("Long text")),
]
OF_KIND = {
    "choices": ("options_en", "options_zh"),
    "scale": ("low", "high", "low_label_en", "low_label_zh", "high_label_en", "high_label_zh"),
    "number": ("minimum", "maximum"),
}
EMPTY_ROWS, MORE_ROWS = 3, 3
LONGEST_OPTIONS = 20_000


def _line(label: Any, longest: int) -> forms.CharField:
    return forms.CharField(required=False, max_length=longest, label=label)


def _lines(label: Any, longest: int, rows: int, help_text: Any = "") -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows, "class": "half"})
    return forms.CharField(required=False, max_length=longest, label=label, help_text=help_text, widget=widget)


class QuestionRow(forms.Form):
    """One question. A row without its text is ignored; `origin` is the key of the question that is edited."""

    origin = forms.CharField(required=False, max_length=60, widget=forms.HiddenInput)
    question_en = _lines(gettext_lazy("Question in English"), LONGEST_WORDING, 2)
    question_zh = _lines(gettext_lazy("Question in Chinese"), LONGEST_WORDING, 2)
    kind = forms.ChoiceField(choices=KINDS, label=gettext_lazy("Kind of answer"))
    required = forms.BooleanField(required=False, label=gettext_lazy("Must be answered"))
    options_en = _lines(gettext_lazy("Options in English"), LONGEST_OPTIONS, 4, gettext_lazy("One option per line."))
    options_zh = _lines(gettext_lazy("Options in Chinese"), LONGEST_OPTIONS, 4, gettext_lazy("In the same order."))
    low = forms.IntegerField(required=False, label=gettext_lazy("Lowest number"))
    high = forms.IntegerField(required=False, label=gettext_lazy("Highest number"))
    low_label_en = _line(gettext_lazy("What the lowest number means"), LONGEST_END)
    low_label_zh = _line(gettext_lazy("What the lowest number means, in Chinese"), LONGEST_END)
    high_label_en = _line(gettext_lazy("What the highest number means"), LONGEST_END)
    high_label_zh = _line(gettext_lazy("What the highest number means, in Chinese"), LONGEST_END)
    minimum = forms.FloatField(required=False, label=gettext_lazy("At least"))
    maximum = forms.FloatField(required=False, label=gettext_lazy("At most"))

    def __init__(
        self, *args: Any, known: Mapping[str, AskedQuestion] | None = None, hidden: tuple[str, ...] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.known = known or {}
        # A language that the study does not use has no field, unless there is a text in it.
        for name in [one for one in self.fields if hidden and one.endswith(hidden) and not self[one].value()]:
            del self.fields[name]

    @property
    def written(self) -> bool:
        return any(
            str(self[name].value() or "").strip() for name in ("question_en", "question_zh") if name in self.fields
        )

    @property
    def plain_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("question_en", "question_zh", "kind", "required") if name in self.fields]

    def _of_kind(self, kind: str) -> list[forms.BoundField]:
        return [self[name] for name in OF_KIND[kind] if name in self.fields]

    @property
    def choice_fields(self) -> list[forms.BoundField]:
        return self._of_kind("choices")

    @property
    def scale_fields(self) -> list[forms.BoundField]:
        return self._of_kind("scale")

    @property
    def number_fields(self) -> list[forms.BoundField]:
        return self._of_kind("number")

    def _texts(self, stem: str) -> dict[str, str]:
        data = self.cleaned_data
        return {"en": data.get(f"{stem}_en") or "", "zh-hans": data.get(f"{stem}_zh") or ""}

    def _options(self) -> list[Any]:
        """The written options; one whose wording is as it was keeps its key."""
        data = self.cleaned_data
        before = self.known.get(data["origin"])
        keys = {tuple(sorted(one.texts.items())): one.key for one in before.options} if before else {}
        written = options_of(data.get("options_en") or "", data.get("options_zh") or "", "\n")
        return [{"texts": one, "key": keys.get(tuple(sorted(one.items())))} for one in written]

    def as_json(self) -> dict[str, Any]:
        """The valid row as the data of a question. Raises UserError."""
        data = self.cleaned_data
        kind = data["kind"]
        found: dict[str, Any] = {"kind": kind, "texts": self._texts("question"), "required": data["required"]}
        if data["origin"]:
            found["key"] = data["origin"]
        if kind in (CHOICE, CHOICES):
            found["options"] = self._options()
        elif kind == SCALE:
            ends = {name: data[name] for name in ("low", "high") if data[name] is not None}
            found |= ends | {name: self._texts(name) for name in ("low_label", "high_label")}
        elif kind == NUMBER:
            found |= {name: _whole(data[name]) for name in ("minimum", "maximum")}
        return found


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value


class QuestionnaireForm:
    """All rows of a questionnaire. Data without a number of rows begins with the questions as they are stored."""

    def __init__(
        self,
        questions: tuple[AskedQuestion, ...],
        data: QueryDict | None = None,
        *,
        hidden: tuple[str, ...] = (),
        rows: int = 0,
    ) -> None:
        sent = data if data is not None else rows_of(questions, len(questions) + EMPTY_ROWS)
        written = str(sent.get("rows", ""))
        count = (
            min(MOST_QUESTIONS, int(written)) if written.isdecimal() and written.isascii() and len(written) < 4 else 0
        )
        known = {question.key: question for question in questions}
        self.rows = [
            QuestionRow(sent, prefix=f"q{number}", known=known, hidden=hidden)
            for number in range(min(max(count, rows), MOST_QUESTIONS))
        ]
        self.problem = ""
        self.questions: tuple[AskedQuestion, ...] = ()

    def is_valid(self) -> bool:
        """Whether all written rows are questions; a problem is told at the row or, where it is of several, in `problem`."""
        wanted: list[dict[str, Any]] = []
        fine = True
        for row in (one for one in self.rows if one.written):
            if not row.is_valid():
                fine = False
                continue
            try:
                wanted.append(row.as_json())
                read_questions(wanted[-1:])
            except UserError as problem:
                row.add_error("kind", str(problem.__cause__ or problem))
                fine = False
        if fine:
            try:
                self.questions = read_questions(wanted)
            except UserError as problem:
                self.problem, fine = str(problem), False
        return fine


def rows_of(questions: tuple[AskedQuestion, ...], rows: int) -> QueryDict:
    """The questions as the values of so many rows of a form."""
    data = QueryDict(mutable=True)
    for number, one in enumerate(questions):
        for name, value in row_of(one).items():
            data[f"q{number}-{name}"] = value
    for number in range(len(questions), rows):
        data[f"q{number}-kind"] = CHOICE
    data["rows"] = str(min(rows, MOST_QUESTIONS))
    return data


def row_of(one: AskedQuestion) -> dict[str, str]:
    """A question as the values of a row's fields, without its prefix."""
    row = {"origin": one.key, "kind": one.kind}
    row |= {"required": "on"} if one.required else {}
    for language, ending in (("en", "en"), ("zh-hans", "zh")):
        row[f"question_{ending}"] = one.texts.get(language, "")
        row[f"options_{ending}"] = "\n".join(option.texts.get(language, "") for option in one.options)
        row[f"low_label_{ending}"] = one.low_label.get(language, "")
        row[f"high_label_{ending}"] = one.high_label.get(language, "")
    if one.kind == SCALE:
        row |= {"low": str(one.low), "high": str(one.high)}
    bounds = {"minimum": one.minimum, "maximum": one.maximum}
    return row | {name: plain_number(value) for name, value in bounds.items() if value is not None}

"""Forms for the questions of a study's own rubric, one row per question."""

import re
from typing import Any

from django import forms
from django.utils.text import slugify
from django.utils.translation import get_language, gettext as _, gettext_lazy

from annotation.models import Criterion, Rubric, Study
from annotation.rubrics.instruction_checks import YES_NO
from annotation.rubrics.library import CRITERION_FIELDS, scale_fields
from annotation.rubrics.offered_scales import OFFERS, offer_of, scale_named
from annotation.rubrics.question_table import MOST_LEVELS
from annotation.rubrics.scales import number_text
from annotation.rules.subtasks import UnreadableNumbers, kind_of, read_numbers, write_numbers
from annotation.studies.selection import fitting_rubrics
from annotation.web.study.texts import texts_of
from core.messages.localized import localized

AS_IT_IS, OWN, OWN_OVERALL = "as-it-is", "own", "own-overall"
OWN_KINDS = (Study.Kind.CHECKLIST, Study.Kind.STARS)
FEWEST_ROWS = 5
MOST_QUESTIONS = 60
EMPTY_ROWS = 3
LONGEST_KEY = 60


class QuestionForm(forms.Form):
    """One question. Rows without text are ignored. `origin` is the key of the question that is edited."""

    origin = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)
    wanted_key = forms.CharField(required=False, max_length=LONGEST_KEY, widget=forms.HiddenInput)
    question_en = forms.CharField(
        required=False,
        max_length=500,
        label=gettext_lazy("Question in English"),
        widget=forms.Textarea(attrs={"rows": 2, "class": "half"}),
    )
    question_zh = forms.CharField(
        required=False,
        max_length=500,
        label=gettext_lazy("Question in Chinese"),
        widget=forms.Textarea(attrs={"rows": 2, "class": "half"}),
    )
    scale = forms.ChoiceField(required=False, label=gettext_lazy("Scale"))
    may_not_apply = forms.BooleanField(required=False, label=gettext_lazy("May not apply"))
    numbers = forms.CharField(
        required=False,
        max_length=2000,
        label=gettext_lazy("Parts to check"),
        help_text=gettext_lazy(
            "For example 19, 23-25 or 13-52/5 (every fifth part). Leave empty to check the whole text."
        ),
    )

    def __init__(self, *args: Any, kind: str, known: dict[str, Criterion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = known
        offered = [(key, name) for key, name, _role in OFFERS.get(Study.Kind(kind), [])]
        origin = known.get(str(self["origin"].value() or ""))
        if origin is not None and not offer_of(kind, origin):
            offered.insert(0, (AS_IT_IS, _("Keep the current scale")))
        self.level_count = 0
        if kind in OWN_KINDS:
            offered += [(OWN, _("Own levels")), (OWN_OVERALL, _("Own levels, for an overall score"))]
            self._add_levels()
        self.fields["scale"].choices = offered  # type: ignore[attr-defined]
        if kind == Study.Kind.CHECK:
            del self.fields["scale"], self.fields["may_not_apply"]
        else:
            del self.fields["numbers"]
        if kind == Study.Kind.PAIR:
            del self.fields["may_not_apply"]

    def _add_levels(self) -> None:
        """Add the fields of the levels that are written, and some empty ones."""
        pattern = re.compile(rf"{re.escape(self.prefix or '')}-level(\d{{1,2}})_(?:value|name)")
        sent = [int(match[1]) for name in self.data if self.data[name] and (match := pattern.fullmatch(name))]
        given = [int(name[5:-6]) for name in self.initial if name.startswith("level") and name.endswith("_value")]
        self.level_count = min(
            MOST_LEVELS, max(FEWEST_ROWS, *(n + 2 for n in (*sent, *given))) if sent or given else FEWEST_ROWS
        )
        for n in range(self.level_count):
            self.fields[f"level{n}_value"] = forms.FloatField(
                required=False, min_value=-1e6, max_value=1e6, label=_("Value of level %(n)s") % {"n": n + 1}
            )
            self.fields[f"level{n}_name"] = forms.CharField(
                required=False, max_length=50, label=_("Name of level %(n)s") % {"n": n + 1}
            )
            self.fields[f"level{n}_meaning"] = forms.CharField(
                required=False, max_length=500, label=_("Meaning of level %(n)s") % {"n": n + 1}
            )

    def level_rows(self) -> list[tuple[forms.BoundField, ...]]:
        """The fields of the levels: value, name and meaning of each."""
        return [
            tuple(self[f"level{n}_{name}"] for name in ("value", "name", "meaning")) for n in range(self.level_count)
        ]

    def plain_fields(self) -> list[forms.BoundField]:
        """The visible fields without those of levels."""
        return [field for field in self.visible_fields() if not field.name.startswith("level")]

    @property
    def has_own_levels(self) -> bool:
        return str(self["scale"].value() or "") in (OWN, OWN_OVERALL) if "scale" in self.fields else False

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("scale") in (OWN, OWN_OVERALL) and not self.errors:
            levels = self.levels()
            values = [level["value"] for level in levels]
            if len(levels) < 2:
                self.add_error("scale", _("Write at least two levels with a value and a name."))
            elif len(set(values)) < len(values):
                self.add_error("scale", _("Two levels have the same value."))
        return data

    def levels(self) -> list[dict[str, Any]]:
        """The written levels as Criterion has them; texts in other languages of the edited question's levels stay."""
        origin = self.known.get(str(self.cleaned_data.get("origin") or ""))
        before = {float(one["value"]): one for one in origin.levels} if origin else {}
        found = []
        for n in range(self.level_count):
            value, name = self.cleaned_data.get(f"level{n}_value"), self.cleaned_data.get(f"level{n}_name")
            if value is None or not name:
                continue
            old = before.get(value, {})
            label, description = dict(old.get("label") or {}), dict(old.get("description") or {})
            meaning = self.cleaned_data.get(f"level{n}_meaning", "")
            for texts, text in ((label, name), (description, meaning)):
                if text != localized(texts):
                    texts["zh-hans" if get_language() == "zh-hans" else "en"] = text
            key = str(old.get("key") or number_text(value))
            found.append({"key": key, "value": value, "label": label, "description": description})
        return sorted(found, key=lambda level: level["value"])

    def clean_numbers(self) -> list[int]:
        try:
            return read_numbers(self.cleaned_data["numbers"])
        except UnreadableNumbers as problem:
            raise forms.ValidationError(
                _("“%(piece)s” is not a part number. Enter numbers such as 19, 23-25 or 13-52/5.") % {"piece": problem}
            ) from problem

    @property
    def questions(self) -> dict[str, str]:
        return texts_of(self.cleaned_data, "question") if self.is_valid() else {}


class PartsForm(forms.Form):
    """The name of the parts of a long response and the number requested."""

    mark = forms.CharField(
        required=False,
        max_length=40,
        label=gettext_lazy("Name of a part"),
        help_text=gettext_lazy("The word before the number at the beginning of a line, such as Week, Day or Floor."),
    )
    asked = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=100_000,
        label=gettext_lazy("Number of parts requested"),
        help_text=gettext_lazy("Used to compute what share of the parts a response contains."),
    )


class RubricForm:
    """All rows and, for instruction checks, the name of the parts."""

    def __init__(self, study: Study, data: Any = None, *, rows: int = 0) -> None:
        self.study = study
        source = self._source(data)
        self.source = source.pk if source else ""
        self.criteria = list(source.criteria.all()) if source else []
        self.known = {criterion.key: criterion for criterion in self.criteria}
        count = len(self.criteria) + (EMPTY_ROWS if self.criteria else EMPTY_ROWS + 2)
        if data is not None:
            written = str(data.get("rows", ""))
            count = min(MOST_QUESTIONS, int(written)) if written.isdecimal() and written.isascii() else 0
        self.rows = [self._row(number, data) for number in range(max(count, rows))]
        where = next((one.subtasks for one in self.criteria if one.subtasks), None) or {}
        initial = {"mark": where.get("mark", ""), "asked": where.get("asked")}
        self.parts = PartsForm(data, initial=initial) if study.kind == Study.Kind.CHECK else None
        self.problem = ""

    def _source(self, data: Any) -> Rubric | None:
        """The rubric whose questions are edited: the one that was copied, else the study's."""
        copied = str(data.get("source", "")) if data is not None else ""
        if copied.isdecimal() and copied.isascii() and len(copied) < 19:
            found = fitting_rubrics(self.study).filter(pk=int(copied)).first()
            if found is not None:
                return found
        return self.study.rubric

    def _row(self, number: int, data: Any) -> QuestionForm:
        initial: dict[str, Any] = {}
        if number < len(self.criteria):
            one = self.criteria[number]
            initial = {
                "origin": one.key,
                "question_en": one.questions.get("en", ""),
                "question_zh": one.questions.get("zh-hans", ""),
                "scale": offer_of(self.study.kind, one) or AS_IT_IS,
                "may_not_apply": one.may_not_apply,
                "numbers": write_numbers((one.subtasks or {}).get("numbers", ())),
                **{
                    f"level{place}_{name}": value
                    for place, level in enumerate(one.levels)
                    for name, value in (
                        ("value", level["value"]),
                        ("name", localized(level.get("label") or {})),
                        ("meaning", localized(level.get("description") or {})),
                    )
                },
            }
        return QuestionForm(data, prefix=f"q{number}", initial=initial, kind=self.study.kind, known=self.known)

    def is_valid(self) -> bool:
        fine = all(row.is_valid() for row in self.rows) and (self.parts is None or self.parts.is_valid())
        written = [row for row in self.rows if row.questions]
        if fine and not written:
            self.problem = _("Write at least one question.")
        elif fine and self.parts is not None and any(row.cleaned_data["numbers"] for row in written):
            fine = bool(self.parts.cleaned_data["mark"].strip())
            if not fine:
                self.parts.add_error("mark", _("Enter the name of the parts, such as Week."))
        return fine and not self.problem

    def criteria_fields(self) -> list[dict[str, Any]]:
        """The valid rows as Criterion fields, in order."""
        taken: set[str] = set()
        found: list[dict[str, Any]] = []
        for row in self.rows:
            if row.questions:
                found.append(self._fields(row, len(found), taken))
        return found

    def _fields(self, row: QuestionForm, position: int, taken: set[str]) -> dict[str, Any]:
        data, origin = row.cleaned_data, row.known.get(row.cleaned_data["origin"])
        key = (
            origin.key
            if origin
            else data.get("wanted_key") or slugify(row.questions.get("en", ""))[:LONGEST_KEY].replace("-", "_")
        )
        key = key or f"question{position + 1}"
        while key in taken:
            key = f"{key[:LONGEST_KEY]}_{position + 1}"
        taken.add(key)
        fields: dict[str, Any] = {"key": key, "questions": row.questions, "position": position}
        if self.parts is not None:
            return fields | {
                "role": Criterion.Role.CHECK.value,
                "levels": YES_NO,
                "subtasks": self._where(data["numbers"]),
            }
        scale = data.get("scale") or OFFERS[Study.Kind(self.study.kind)][0][0]
        fields["may_not_apply"] = bool(data.get("may_not_apply"))
        if scale == AS_IT_IS and origin is not None:
            kept = ("role", "levels", "minimum", "maximum", "step", "anchors")
            return fields | {name: getattr(origin, name) for name in kept}
        if scale in (OWN, OWN_OVERALL):
            own = Criterion.Role.ITEM if scale == OWN else Criterion.Role.OVERALL
            return fields | {"role": own.value, **scale_fields({"levels": row.levels()})}
        role = next(role for name, _title, role in OFFERS[Study.Kind(self.study.kind)] if name == scale)
        return fields | scale_named(scale) | {"role": role}

    def _where(self, numbers: list[int]) -> dict[str, Any] | None:
        if not numbers or self.parts is None:
            return None
        data = self.parts.cleaned_data
        return {"mark": data["mark"].strip(), "numbers": numbers, "kind": kind_of(numbers), "asked": data["asked"]}


def same_criteria(rubric: Rubric, wanted: list[dict[str, Any]]) -> bool:
    """Whether the rubric has exactly these criteria."""
    stored = list(rubric.criteria.all())
    return len(stored) == len(wanted) and all(
        all(getattr(one, name) == fields.get(name, _plain(name)) for name in CRITERION_FIELDS)
        for one, fields in zip(stored, wanted, strict=True)
    )


def _plain(name: str) -> Any:
    return {"levels": [], "anchors": [], "may_not_apply": False}.get(name)

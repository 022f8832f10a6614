"""The form of each rating screen, built from the rubric, so that every scale is data."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from django import forms
from django.utils.translation import get_language, gettext as _, gettext_lazy

from annotation.answers.evidence import Quotations, UnreadableQuotation
from annotation.answers.recording import NOT_APPLICABLE, Answer, Timing
from annotation.models import Cohort, Criterion, Score
from annotation.recruitment.join_limits import MOST_JOINS_AN_HOUR
from annotation.rubrics.scales import number_text
from annotation.rules.canonical import compares, mirrored_level
from core.messages.localized import localized

PREFIX, REASON, EVIDENCE = "c-", "r-", "e-"
ENTERED = (PREFIX, REASON, EVIDENCE)
LONGEST_WHY = 2000
ACCOUNT_NAME = re.compile(r"[\w.@+-]{1,150}")
DOES_NOT_APPLY = "n/a"
MOST_STEPS_AS_BUTTONS = 21
MOST_STARS = 6
MOST_DIGITS = 9
STAR, NO_STAR = "★", "☆"
ACTIONS = {
    "y": "yes",
    "n": "no",
    "a": "left",
    "b": "right",
    "A": "far_left",
    "B": "far_right",
    "t": "tie",
    "d": "both_bad",
}
"""What each letter does, as the page's list of keys names it."""
SKIP_REASONS = [
    ("cannot-judge", gettext_lazy("I cannot judge this subject")),
    ("broken", gettext_lazy("The text is broken or missing")),
    ("language", gettext_lazy("I do not read this language well enough")),
    ("distressing", gettext_lazy("The text is offensive or distressing")),
    ("other", gettext_lazy("Another reason")),
]


class Criteria(tuple[Criterion, ...]):
    """The criteria of a screen. Two objects are never equal, so what is computed for one stays valid while it exists."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True)
class Choice:
    """One button of a scale; `shortcut` is the key that chooses it, or ''.

    `letter` is a second key: a, b, t or d for comparisons, and y and n at the two ends of a scale; `by_letter` says that
    every choice of the question has one. `stars` are drawn before the label and `empty` stars after them.
    """

    value: str
    label: str
    description: str
    shortcut: str
    checked: bool
    letter: str = ""
    stars: str = ""
    empty: str = ""
    by_letter: bool = False

    @property
    def key_shown(self) -> str:
        """The key that the button names: the letter where it says what it means, else the digit."""
        return self.letter if self.by_letter else self.shortcut

    @property
    def action(self) -> str:
        """The name under which the page keeps a key that its user may change; '' for a digit."""
        return ACTIONS.get(self.key_shown, "")


@dataclass(frozen=True)
class Verdict:
    """A judge's answer, for a rater to review; quotations refer to the response."""

    answer: str
    reason: str = ""
    quotations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shown:
    """How a task is shown to its rater, as far as its form needs it.

    `mirrored`: response B of the task stands first. `starred`: levels are drawn as stars. `reviewed`: verdicts by
    criterion key, each of which the rater finds reasonable or not, with a reason. `texts`: the responses in the order
    of the panes; if only a part of a response is shown, it `begins` at this code point.
    """

    paired: bool = False
    mirrored: bool = False
    starred: bool = False
    reviewed: Mapping[str, Verdict] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    begins: int = 0


@dataclass(frozen=True)
class Question:
    """One criterion as the page shows it; `shape` is levels, steps (numbers as buttons) or number (a field)."""

    name: str
    number: int
    text: str
    role: str
    shape: str
    choices: tuple[Choice, ...]
    value: str
    may_not_apply: bool
    not_applicable: bool
    minimum: float
    maximum: float
    step: str
    error: str
    key: str
    evidence_name: str
    evidence: str
    reason_name: str
    reason: str
    verdict: Verdict | None
    compares: bool


def _steps(criterion: Criterion) -> list[float] | None:
    """Return the numbers of a range with few steps, or None for levels and for long or continuous ranges."""
    if criterion.levels or criterion.step is None:
        return None
    low, high = criterion.ends
    count = round((high - low) / criterion.step)
    if count >= MOST_STEPS_AS_BUTTONS:
        return None
    return [low + index * criterion.step for index in range(count + 1)]


def _anchor(criterion: Criterion, value: float) -> str:
    for anchor in criterion.anchors:
        if float(anchor["from"]) <= value <= float(anchor["to"]):
            return localized(anchor.get("description", {}))
    return ""


def is_chosen_by_one_key(criterion: Criterion) -> bool:
    """Whether one key chooses each answer of the criterion: few levels, or steps that are single digits."""
    if criterion.levels:
        return len(criterion.levels) <= MOST_DIGITS
    steps = _steps(criterion)
    return steps is not None and all(len(number_text(step)) == 1 for step in steps)


class SecondsField(forms.Field):
    """Seconds that a page measured. An answer is never refused because of its time; an invalid time counts as none."""

    def to_python(self, value: Any) -> float | None:
        try:
            seconds = float(value)
        except (TypeError, ValueError):
            return None
        return seconds if math.isfinite(seconds) and seconds >= 0 else None


class TimedForm(forms.Form):
    """A form with the seconds that the page measured; empty without JavaScript. The server's clock limits them."""

    active = SecondsField(required=False)
    idle = SecondsField(required=False)

    def timing(self) -> Timing:
        return Timing(self.cleaned_data.get("active"), self.cleaned_data.get("idle"))


class SharedFields(dict[str, forms.Field]):
    """Fields that no form changes, so that all forms with the same criteria can share them."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "SharedFields":
        return self


def _values(criterion: Criterion) -> dict[str, float] | None:
    """Return the value of each choice of the form, or None for a number field."""
    if criterion.levels:
        return {str(level["key"]): float(level["value"]) for level in criterion.levels}
    steps = _steps(criterion)
    return None if steps is None else {number_text(step): step for step in steps}


def _field(criterion: Criterion) -> forms.Field:
    missing = {"required": _("This question is not answered yet.")}
    values = _values(criterion)
    if values is None:
        return forms.CharField(required=True, max_length=40, error_messages=missing)
    choices = [(value, value) for value in values]
    if criterion.may_not_apply:
        choices.append((DOES_NOT_APPLY, DOES_NOT_APPLY))
    return forms.ChoiceField(
        choices=choices, error_messages=missing | {"invalid_choice": _("This value is not on the question's scale.")}
    )


@lru_cache(maxsize=128)
def _fields(criteria: Criteria, reviewed: bool, _language: str) -> SharedFields:
    fields = SharedFields(AnswerForm.base_fields)
    for criterion in criteria:
        fields[EVIDENCE + criterion.key] = forms.CharField(required=False, max_length=10_000)
        if reviewed:
            fields[REASON + criterion.key] = forms.CharField(required=False, max_length=LONGEST_WHY)
        fields[PREFIX + criterion.key] = _field(criterion)
    return fields


class AnswerForm(TimedForm):
    """The answers to a rubric's criteria, and a note to the lead."""

    note = forms.CharField(required=False, max_length=4000, widget=forms.Textarea)

    def __init__(self, criteria: Iterable[Criterion], *args: Any, shown: Shown | None = None, **kwargs: Any) -> None:
        self.shown = shown or Shown()
        self._quotations: dict[str, Quotations] = {}
        known = criteria if isinstance(criteria, Criteria) else Criteria(criteria)
        self.criteria = sorted(known, key=lambda criterion: criterion.position)
        self.base_fields = _fields(known, bool(self.shown.reviewed), get_language() or "")  # type: ignore[misc]
        super().__init__(*args, **kwargs)

    def clean(self) -> dict[str, Any]:
        for criterion in self.criteria:
            name = PREFIX + criterion.key
            entered = self.cleaned_data.get(name)
            self._clean_evidence(criterion)
            if self._needs_reason(criterion, entered) and not self.cleaned_data.get(REASON + criterion.key):
                self.add_error(name, _("Explain why in a few words."))
            if entered is None or entered == DOES_NOT_APPLY or _values(criterion) is not None:
                continue
            low, high = criterion.ends
            try:
                fits = criterion.admits(float(entered.replace(",", ".")))
            except ValueError:
                fits = False
            if not fits:
                limits = {"low": number_text(low), "high": number_text(high)}
                self.add_error(name, _("Enter a number from %(low)s to %(high)s.") % limits)
        return self.cleaned_data

    def _needs_reason(self, criterion: Criterion, entered: str | None) -> bool:
        """Require a reason for a verdict that was found unreasonable."""
        values = _values(criterion)
        if not self.shown.reviewed or not values or entered not in values:
            return False
        return values[entered] == min(values.values())

    def _clean_evidence(self, criterion: Criterion) -> None:
        written = self.cleaned_data.get(EVIDENCE + criterion.key, "")
        try:
            self._quotations[criterion.key] = Quotations.read(written, self.shown.texts)
        except UnreadableQuotation as problem:
            self.add_error(PREFIX + criterion.key, str(problem))

    def answers(self) -> dict[str, Answer]:
        """Return the valid form's answers by criterion key, on the criterion's scale; pairs are in their stored form."""
        return {criterion.key: self._answer(criterion) for criterion in self.criteria}

    def _answer(self, criterion: Criterion) -> Answer:
        entered = self.cleaned_data[PREFIX + criterion.key]
        extras: dict[str, Any] = {
            "reason": self.cleaned_data.get(REASON + criterion.key, "").strip(),
            "evidence": self._quotations[criterion.key].as_stored(
                mirrored=self.shown.mirrored, begins=self.shown.begins
            ),
        }
        if entered == DOES_NOT_APPLY:
            return replace(NOT_APPLICABLE, **extras)
        turned = self.shown.mirrored and compares(*criterion.ends)
        if criterion.levels:
            level = next(level for level in criterion.levels if str(level["key"]) == entered)
            if turned:
                level = mirrored_level(criterion.levels, entered)
            return Answer(float(level["value"]), level=str(level["key"]), **extras)
        value = float(entered.replace(",", "."))
        return Answer(-value if turned else value, **extras)

    def questions(self) -> list[Question]:
        """Return the criteria in order, with what has been entered so far."""
        return [self._question(number, criterion) for number, criterion in enumerate(self.criteria, start=1)]

    def _question(self, number: int, criterion: Criterion) -> Question:
        name = PREFIX + criterion.key
        current = str(self[name].value() or "")
        low, high = criterion.ends
        steps = _steps(criterion)
        if criterion.levels:
            shape = "levels"
            offered = [self._choice(criterion, index, current) for index in range(len(criterion.levels))]
            letters = [choice.letter for choice in offered]
            if all(letters) and len(set(letters)) == len(letters):
                offered = [replace(choice, by_letter=True) for choice in offered]
        elif steps is not None:
            shape = "steps"
            offered = [
                Choice(text, text, _anchor(criterion, step), text, checked=current == text)
                for step, text in ((step, number_text(step)) for step in steps)
            ]
        else:
            shape, offered = "number", []
        return Question(
            name=name,
            number=number,
            text=criterion.question,
            role=criterion.role,
            shape=shape,
            choices=tuple(offered),
            value=current,
            may_not_apply=criterion.may_not_apply,
            not_applicable=current == DOES_NOT_APPLY,
            minimum=low,
            maximum=high,
            step=number_text(criterion.step) if criterion.step else "any",
            error=str(self.errors[name][0]) if self.is_bound and name in self.errors else "",
            key=criterion.key,
            evidence_name=EVIDENCE + criterion.key,
            evidence=str(self[EVIDENCE + criterion.key].value() or ""),
            reason_name=REASON + criterion.key if self.shown.reviewed else "",
            reason=str(self[REASON + criterion.key].value() or "") if self.shown.reviewed else "",
            verdict=self.shown.reviewed.get(criterion.key),
            compares=self.shown.paired and compares(low, high),
        )

    def _choice(self, criterion: Criterion, index: int, current: str) -> Choice:
        level = criterion.levels[index]
        key, value = str(level["key"]), float(level["value"])
        low, high = criterion.ends
        stars, empty = "", ""
        if self.shown.starred and low >= 0 and high <= MOST_STARS and value == int(value) and high == int(high):
            stars, empty = STAR * int(value), NO_STAR * int(high - value)
        return Choice(
            key,
            localized(level.get("label", {})) or key,
            localized(level.get("description", {})),
            str(index + 1) if index < MOST_DIGITS else "",
            checked=current == key,
            letter=_letter(criterion, key, value, paired=self.shown.paired),
            stars=stars,
            empty=empty,
        )


def _letter(criterion: Criterion, key: str, value: float, *, paired: bool) -> str:
    """Return the key that chooses a level: a, b, t (tie), d (both bad), A, B (far better); y and n at a scale's ends."""
    low, high = criterion.ends
    if not (paired and compares(low, high)):
        return {high: "y", low: "n"}.get(value, "")
    if value == 0:
        ties = [str(level["key"]) for level in criterion.levels if float(level["value"]) == 0]
        return "t" if key == ties[0] else "d"
    side = [float(level["value"]) for level in criterion.levels if float(level["value"]) * value > 0]
    nearest = min(abs(one) for one in side)
    letter = "a" if value > 0 else "b"
    return letter if abs(value) == nearest else letter.upper()


class SkipForm(TimedForm):
    reason = forms.ChoiceField(choices=SKIP_REASONS)


class AppealForm(forms.Form):
    text = forms.CharField(min_length=3, max_length=4000)


class TimeForm(forms.Form):
    """A rater's correction of the time that a task took."""

    minutes = forms.FloatField(min_value=0, max_value=600)
    reason = forms.CharField(min_length=3, max_length=300)


class CohortForm(forms.Form):
    """Create a cohort of a study."""

    name = forms.CharField(max_length=100)
    kind = forms.ChoiceField(choices=Cohort.Kind.choices)
    days = forms.IntegerField(required=False, min_value=1, max_value=730)
    joins_per_hour = forms.IntegerField(required=False, min_value=1, max_value=MOST_JOINS_AN_HOUR)
    consent_en = forms.CharField(required=False, max_length=20_000)
    consent_zh = forms.CharField(required=False, max_length=20_000)

    def consents(self) -> dict[str, str]:
        texts = {"en": self.cleaned_data["consent_en"], "zh-hans": self.cleaned_data["consent_zh"]}
        return {language: text for language, text in texts.items() if text}


class SignedLinksForm(forms.Form):
    """The Prolific workspace whose signed links a cohort accepts; empty for links without a signature."""

    workspace = forms.RegexField(r"^[A-Za-z0-9]+$", max_length=64, required=False)


class MinimumForm(forms.Form):
    """The minimum for a complete participation."""

    answers = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)
    checks = forms.IntegerField(required=False, min_value=1, max_value=100)
    minutes = forms.IntegerField(required=False, min_value=1, max_value=10_000)


class JoinLimitForm(forms.Form):
    """The number of people who may join from one network address within an hour; empty for no limit."""

    joins_per_hour = forms.IntegerField(required=False, min_value=1, max_value=MOST_JOINS_AN_HOUR)


class AccountsForm(forms.Form):
    """Names of accounts to create, one per line."""

    usernames = forms.CharField(max_length=10_000)

    def clean_usernames(self) -> list[str]:
        """The names, each once, in order."""
        names = [line.strip() for line in self.cleaned_data["usernames"].splitlines() if line.strip()]
        for name in names:
            if not ACCOUNT_NAME.fullmatch(name):
                raise forms.ValidationError(
                    _("%(name)s cannot be an account's name; use letters, digits and @ . + - _ only.") % {"name": name}
                )
        return list(dict.fromkeys(names))


def entered(criteria: Iterable[Criterion], scores: Mapping[int, Score], shown: Shown | None = None) -> dict[str, str]:
    """Return recorded scores (by criterion id) in the form's names, in the order in which they are shown."""
    shown = shown or Shown()
    values = {}
    for criterion in criteria:
        score = scores.get(criterion.pk)
        if score is None:
            continue
        quotations = Quotations.stored(score.evidence or [], shown.texts, mirrored=shown.mirrored, begins=shown.begins)
        values[EVIDENCE + criterion.key] = quotations.written()
        values[REASON + criterion.key] = score.reason
        if score.not_applicable:
            values[PREFIX + criterion.key] = DOES_NOT_APPLY
        elif score.value is not None:
            turned = shown.mirrored and compares(*criterion.ends)
            if criterion.levels:
                level = level_chosen(criterion, score)
                key = str(level["key"])
                values[PREFIX + criterion.key] = str(mirrored_level(criterion.levels, key)["key"]) if turned else key
            else:
                values[PREFIX + criterion.key] = number_text(-score.value if turned else score.value)
    return {name: value for name, value in values.items() if value}


def level_chosen(criterion: Criterion, score: Score) -> Mapping[str, Any]:
    """Return the level that a score names, or the level of its value if an import named none."""
    named = next((level for level in criterion.levels if str(level["key"]) == score.level), None)
    assert score.value is not None
    return named or criterion.level_of(score.value) or {"key": number_text(score.value), "value": score.value}

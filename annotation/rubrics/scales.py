"""Read written values on a criterion's scale, and the scales that a user gives for a table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Criterion
from core.errors import UserError
from core.messages.localized import localized
from core.messages.message import Wording

NOT_APPLICABLE = "n/a"
LONGEST_LEVEL = 50
LARGEST_END = 1e9
NO_RANGE = Wording("scales.no_range", "%(text)s is not a range; write it as 1:6, or 1:6:1 with its step.")
NO_SCALE = Wording("scales.no_scale", "%(text)s is not a scale; write a range as 1:6 or at least two levels as 1,3,5.")


@dataclass(frozen=True)
class Scale:
    """Levels as Criterion has them, or a range."""

    levels: tuple[dict[str, Any], ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None

    def as_fields(self) -> dict[str, Any]:
        return {"levels": list(self.levels), "minimum": self.minimum, "maximum": self.maximum, "step": self.step}

    def fits(self, criterion: Criterion) -> bool:
        values = [level["value"] for level in criterion.levels]
        ends = criterion.minimum, criterion.maximum, criterion.step
        return values == [level["value"] for level in self.levels] and ends == (self.minimum, self.maximum, self.step)


@dataclass(frozen=True)
class Reading:
    """A value on its criterion's scale; None means that the criterion does not apply."""

    value: float | None
    level: str = ""


@dataclass(frozen=True)
class Rules:
    """How a table's values are read: scales by criterion key ("*" for all others), and how exceptions are handled.

    `excluded` criteria are left out. With `truth`, the values are the correct answers to tasks that the study already has.
    """

    scales: Mapping[str, Scale] = field(default_factory=dict)
    overall: str = ""
    off_scale: str = "refuse"
    duplicates: str = "refuse"
    slots: bool = False
    provenance: str = ""
    excluded: frozenset[str] = frozenset()
    truth: bool = False

    def scale_of(self, key: str) -> Scale | None:
        return self.scales.get(key) or self.scales.get("*")


def level(key: str, value: float, label: str | None = None) -> dict[str, Any]:
    text = key if label is None else label
    return {"key": key[:LONGEST_LEVEL], "value": value, "label": {"en": text}, "description": {}}


def parse_scale(text: str) -> Scale:
    """Parse "1:6" or "1:6:0.5" (range, step), "1,3,5" (levels) or "No,Unsure,Yes" (labels with values 0, 1, 2)."""
    if ":" in text and "," not in text:
        ends = [number_in(part) for part in text.split(":")]
        numbers = [end for end in ends if end is not None]
        sound = len(numbers) == len(ends) in (2, 3) and numbers[0] < numbers[1]
        if not sound or min(numbers[2:], default=1) <= 0 or max(map(abs, numbers)) > LARGEST_END:
            raise UserError(NO_RANGE(text=repr(text)))
        return Scale(minimum=numbers[0], maximum=numbers[1], step=numbers[2] if len(numbers) == 3 else None)
    labels = [part.strip() for part in text.split(",")]
    if len(labels) < 2 or not all(labels) or len(set(labels)) < len(labels):
        raise UserError(NO_SCALE(text=repr(text)))
    numbers_of = [number_in(label) for label in labels]
    if all(number is not None for number in numbers_of):
        return Scale(levels=tuple(level(label, value or 0.0) for label, value in zip(labels, numbers_of, strict=True)))
    return Scale(levels=tuple(level(label, float(place)) for place, label in enumerate(labels)))


def parse_scales(texts: Sequence[str]) -> dict[str, Scale]:
    """Parse KEY=SCALE options. Raises UserError."""
    scales = {}
    for text in texts:
        key, equals, scale = text.partition("=")
        if not equals or not key:
            raise UserError(f"--scale {text!r} names no criterion; write KEY=1:6, or *=1:6 for all.")
        scales[key.strip()] = parse_scale(scale.strip())
    return scales


def number_in(text: str) -> float | None:
    """The finite number that a text spells out, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def describe(criterion: Criterion) -> str:
    if criterion.levels:
        return ", ".join(str(one["key"]) for one in criterion.levels)
    low, high = criterion.ends
    return f"{low:g} to {high:g}" + (f" in steps of {criterion.step:g}" if criterion.step else "")


def read_value(criterion: Criterion, text: str) -> Reading | None:
    """Read `text` on the scale as a number, or a level's key or label; None if it is off the scale."""
    if text.casefold() == NOT_APPLICABLE:
        return Reading(None) if criterion.may_not_apply else None
    number = number_in(text)
    if number is not None and criterion.admits(number):
        found = criterion.level_of(number)
        return Reading(number, str(found["key"]) if found else "")
    for one in criterion.levels:
        names = {str(one["key"]).casefold(), *(str(label).casefold() for label in one["label"].values())}
        if text.casefold() in names:
            return Reading(float(one["value"]), str(one["key"]))
    return None


def number_text(value: float) -> str:
    """Format a number for a form: 3.0 as '3', 2.5 as '2.5'."""
    return f"{value:.12g}"


def answer_text(criterion: Criterion, value: float | None) -> str:
    """The label of a value on its scale."""
    if value is None:
        return _("does not apply")
    level = criterion.level_of(value)
    return localized(level.get("label", {})) or str(level["key"]) if level else number_text(value)

"""The questions of a questionnaire: their shape as data, and the reading of what a rater answered."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from core.errors import UserError
from core.text import storable

CHOICE, CHOICES, SCALE, NUMBER, TEXT, LONG_TEXT = "choice", "choices", "scale", "number", "text", "long_text"
KINDS = (CHOICE, CHOICES, SCALE, NUMBER, TEXT, LONG_TEXT)
FREE_TEXT = (TEXT, LONG_TEXT)
LANGUAGES = ("en", "zh-hans")
MOST_QUESTIONS, MOST_OPTIONS, MOST_STEPS = 40, 50, 100
LONGEST_WORDING, LONGEST_OPTION, LONGEST_END = 500, 200, 100
LONGEST_ANSWER = {TEXT: 300, LONG_TEXT: 5000}
LARGEST_NUMBER = 10**12
KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,13}([.,][0-9]{1,9})?")
FIELDS = {"key", "kind", "texts", "text", "required", "options", "low", "high", "low_label", "high_label"}
FIELDS |= {"minimum", "maximum"}

Texts = Mapping[str, str]
"""A text by language, such as {"en": "Age group"}."""
Value = str | int | float | list[str]


@dataclass(frozen=True)
class Option:
    key: str
    texts: Texts


@dataclass(frozen=True)
class AskedQuestion:
    """One question of a kind of KINDS.

    `options` belong to the choices; `low` and `high` are the whole numbers at the ends of a scale, with their labels;
    `minimum` and `maximum` bound a number, None where it has no bound.
    """

    key: str
    kind: str
    texts: Texts
    required: bool = False
    options: tuple[Option, ...] = ()
    low: int = 1
    high: int = 7
    low_label: Texts = field(default_factory=dict)
    high_label: Texts = field(default_factory=dict)
    minimum: float | None = None
    maximum: float | None = None

    @property
    def steps(self) -> list[int]:
        """The points of a scale."""
        return list(range(self.low, self.high + 1)) if self.kind == SCALE else []

    def as_json(self) -> dict[str, Any]:
        """The question as a row keeps it, with the fields of its kind only."""
        found: dict[str, Any] = {
            "key": self.key,
            "kind": self.kind,
            "texts": dict(self.texts),
            "required": self.required,
        }
        if self.kind in (CHOICE, CHOICES):
            found["options"] = [{"key": one.key, "texts": dict(one.texts)} for one in self.options]
        if self.kind == SCALE:
            found |= {"low": self.low, "high": self.high}
            found |= {"low_label": dict(self.low_label), "high_label": dict(self.high_label)}
        if self.kind == NUMBER:
            found |= {"minimum": self.minimum, "maximum": self.maximum}
        return found


def read_questions(data: Any) -> tuple[AskedQuestion, ...]:
    """Read a list of questions as JSON holds them. Raises UserError.

    A text is {language: text} or an English string; an option is a text, or {"key": ..., "texts": ...}. A question
    without a key gets one from its wording.
    """
    if not isinstance(data, list | tuple):
        raise UserError(_("A questionnaire is a list of questions."))
    if len(data) > MOST_QUESTIONS:
        raise UserError(_("A questionnaire has at most %(n)s questions.") % {"n": MOST_QUESTIONS})
    found: list[AskedQuestion] = []
    for number, one in enumerate(data, 1):
        try:
            found.append(_question(one, number, {question.key for question in found}))
        except UserError as problem:
            told = _("Question %(n)s: %(problem)s")
            raise UserError(told % {"n": number, "problem": problem}) from problem
    return tuple(found)


def _question(one: Any, number: int, taken: set[str]) -> AskedQuestion:
    if not isinstance(one, Mapping):
        raise UserError(_("It is no object with a kind and a text."))
    if unknown := sorted(str(name) for name in set(one) - FIELDS):
        raise UserError(
            _("The field %(name)s is unknown; there are: %(known)s.")
            % {"name": unknown[0][:60], "known": ", ".join(sorted(FIELDS))}
        )
    kind = one.get("kind")
    if kind not in KINDS:
        raise UserError(
            _("The kind %(kind)s is unknown; there are: %(known)s.")
            % {"kind": str(kind)[:60], "known": ", ".join(KINDS)}
        )
    texts = texts_in(one.get("texts", one.get("text")), LONGEST_WORDING)
    if not texts:
        raise UserError(_("It has no text."))
    required = one.get("required", False)
    if not isinstance(required, bool):
        raise UserError(_("“required” is true or false."))
    key = one.get("key") or free_key(texts, f"question{number}", taken)
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise UserError(_("A key has 1 to 60 letters, digits, - and _."))
    if key in taken:
        raise UserError(_("The key %(key)s is there twice.") % {"key": key})
    own: dict[str, Any] = {}
    if kind in (CHOICE, CHOICES):
        own["options"] = _options(one.get("options"))
    elif kind == SCALE:
        own = _scale(one)
    elif kind == NUMBER:
        own = _bounds(one)
    return AskedQuestion(key=key, kind=kind, texts=texts, required=required, **own)


def texts_in(value: Any, longest: int) -> dict[str, str]:
    """A text by language, without empty ones and without spaces around them. Raises UserError."""
    if value is None:
        return {}
    given = {"en": value} if isinstance(value, str) else value
    if not isinstance(given, Mapping) or any(not isinstance(text, str) for text in given.values()):
        raise UserError(_("A text is a string, or strings by language."))
    if unknown := sorted(str(name) for name in set(given) - set(LANGUAGES)):
        raise UserError(
            _("The language %(name)s is unknown; there are: %(known)s.")
            % {"name": unknown[0][:20], "known": ", ".join(LANGUAGES)}
        )
    texts = {name: storable(given[name]).strip() for name in LANGUAGES if given.get(name)}
    if any(len(text) > longest for text in texts.values()):
        raise UserError(_("A text is longer than %(n)s characters.") % {"n": longest})
    return {name: text for name, text in texts.items() if text}


def free_key(texts: Texts, other: str, taken: set[str]) -> str:
    """A key made from the English text, else `other`, that is not taken yet."""
    plain = unicodedata.normalize("NFKD", texts.get("en", "")[:120]).encode("ascii", "ignore").decode().casefold()
    stem = re.sub(r"[^a-z0-9]+", "_", plain)[:50].strip("_") or other
    key, further = stem, 2
    while key in taken:
        key, further = f"{stem}_{further}", further + 1
    return key


def _options(data: Any) -> tuple[Option, ...]:
    if not isinstance(data, list | tuple) or not 2 <= len(data) <= MOST_OPTIONS:
        raise UserError(_("It needs 2 to %(n)s options.") % {"n": MOST_OPTIONS})
    found: list[Option] = []
    for number, one in enumerate(data, 1):
        keyed = isinstance(one, Mapping) and "texts" in one
        texts = texts_in(one["texts"] if keyed else one, LONGEST_OPTION)
        if not texts:
            raise UserError(_("Option %(n)s has no text.") % {"n": number})
        taken = {option.key for option in found}
        key = (one.get("key") if keyed else None) or free_key(texts, f"option{number}", taken)
        if not isinstance(key, str) or not KEY.fullmatch(key):
            raise UserError(_("A key has 1 to 60 letters, digits, - and _."))
        same = any(option.texts.get(name) == text for option in found for name, text in texts.items())
        if key in taken or same:
            raise UserError(_("Option %(n)s is there twice.") % {"n": number})
        found.append(Option(key, texts))
    return tuple(found)


def _scale(one: Mapping[str, Any]) -> dict[str, Any]:
    low, high = one.get("low", 1), one.get("high", 7)
    if any(not isinstance(end, int) or isinstance(end, bool) for end in (low, high)):
        raise UserError(_("The ends of a scale are whole numbers."))
    if not low < high <= low + MOST_STEPS or abs(low) > LARGEST_NUMBER:
        raise UserError(_("The high end of a scale is 1 to %(n)s above its low end.") % {"n": MOST_STEPS})
    labels = {name: texts_in(one.get(name), LONGEST_END) for name in ("low_label", "high_label")}
    return {"low": low, "high": high, **labels}


def _bounds(one: Mapping[str, Any]) -> dict[str, Any]:
    bounds = {name: one.get(name) for name in ("minimum", "maximum")}
    for bound in bounds.values():
        if bound is None:
            continue
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not abs(bound) <= LARGEST_NUMBER:
            raise UserError(_("A bound is a number between −%(n)s and %(n)s.") % {"n": LARGEST_NUMBER})
    low, high = bounds["minimum"], bounds["maximum"]
    if low is not None and high is not None and low > high:
        raise UserError(_("The highest value is lower than the lowest value."))
    return bounds


def read_answers(
    questions: Sequence[AskedQuestion], given: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Value], dict[str, str]]:
    """Read what a form sent: the answers, and one sentence for each question whose answer cannot be taken.

    Both are by the question's key; an optional question without an answer is in neither.
    """
    answers: dict[str, Value] = {}
    problems: dict[str, str] = {}
    for question in questions:
        sent = [text for one in given.get(question.key, ()) if (text := storable(str(one)).strip())]
        if not sent:
            if question.required:
                problems[question.key] = _("Please answer this question.")
            continue
        value, problem = _read(question, sent)
        if problem:
            problems[question.key] = problem
        elif value is not None:
            answers[question.key] = value
    return answers, problems


def _read(question: AskedQuestion, sent: list[str]) -> tuple[Value | None, str]:
    match question.kind:
        case "choice" | "choices":
            known = [option.key for option in question.options]
            if set(sent) - set(known) or (question.kind == CHOICE and len(set(sent)) > 1):
                return None, _("Choose from the options of this question.")
            return (sent[0] if question.kind == CHOICE else [key for key in known if key in sent]), ""
        case "scale":
            if sent[0] not in map(str, question.steps):
                return None, _("Choose a number on the scale.")
            return int(sent[0]), ""
        case "number":
            return _number(question, sent[0])
    longest = LONGEST_ANSWER[question.kind]
    # A browser sends a line break as two characters and counts it as one.
    text = sent[0].replace("\r\n", "\n")
    if len(text) > longest:
        return None, _("Write at most %(n)s characters; these are %(m)s.") % {"n": longest, "m": len(text)}
    return text, ""


def _number(question: AskedQuestion, text: str) -> tuple[Value | None, str]:
    plain = unicodedata.normalize("NFKC", text[:40]).replace("−", "-").replace(" ", "")
    if not _NUMBER.fullmatch(plain) or len(text) > 40:
        return None, _("Write a number in digits, such as 12 or 2.5.")
    value = float(plain.replace(",", "."))
    low, high = question.minimum, question.maximum
    if low is not None and high is not None and not low <= value <= high:
        return None, _("Write a number from %(low)s to %(high)s.") % {
            "low": plain_number(low),
            "high": plain_number(high),
        }
    if low is not None and value < low:
        return None, _("Write a number of at least %(low)s.") % {"low": plain_number(low)}
    if high is not None and value > high:
        return None, _("Write a number of at most %(high)s.") % {"high": plain_number(high)}
    return (int(value) if value.is_integer() else value), ""


def plain_number(value: float) -> str:
    """A number as a form shows it: 3.0 as '3', 2.5 as '2.5'."""
    return f"{value:.15g}"


def without_texts(questions: Sequence[AskedQuestion], answers: Mapping[str, Any]) -> dict[str, Any]:
    """The answers without what a rater wrote in own words, which may name somebody.

    A text whose question is not known goes, too.
    """
    kept = {question.key for question in questions if question.kind not in FREE_TEXT}
    return {key: value for key, value in answers.items() if key in kept}

"""Questions of a rubric from a table: one row a question, with its scale as levels or by the name of an offered scale."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.translation import gettext as _

from annotation.models import Criterion, Study
from annotation.rubrics.offered_scales import OFFERS
from annotation.rubrics.scales import number_in
from core.tables.bad_rows import BadRow
from core.tables.reading import read_rows

COLUMNS = ("key", "name", "question", "question_zh", "role", "scale", "levels", "weight")
MOST_LEVELS = 21
KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")
_RANGE = re.compile(r"\s*(-?\d{1,6})\s*(?::|\.\.|-)\s*(-?\d{1,6})\s*")


@dataclass(frozen=True)
class LevelRead:
    """A level of an own scale as a lead wrote it."""

    value: float
    name: str
    meaning: str = ""


@dataclass(frozen=True)
class QuestionRead:
    """A question of the table; `scale` is the key of an offered scale, or "" with `levels` of its own."""

    key: str
    question: str
    question_zh: str
    scale: str
    overall: bool
    levels: tuple[LevelRead, ...] = ()


@dataclass
class TableRead:
    """The sound questions, and the bad rows as (line, reason); line 0 is the whole file."""

    questions: list[QuestionRead] = field(default_factory=list)
    bad: list[tuple[int, str]] = field(default_factory=list)


class BadQuestion(Exception):
    """A row that is no question; the sentence says why."""


def read_questions(path: Path, kind: str) -> TableRead:
    """Read a table for a study of this kind. A bad row is left out and named; problems of the whole file are line 0."""
    found = TableRead()
    keys: set[str] = set()
    try:
        for row in read_rows(path, on_bad=lambda problem: found.bad.append((problem.line, problem.reason))):
            values = {name.strip().casefold(): text.strip() for name, text in row.values.items()}
            try:
                question = read_question(values, kind)
                if question.key and question.key in keys:
                    raise BadQuestion(_("The key %(key)s is there twice.") % {"key": question.key})
            except BadQuestion as problem:
                found.bad.append((row.place.line, str(problem)))
                continue
            keys.add(question.key)
            found.questions.append(question)
    except BadRow as problem:
        if (problem.line, problem.reason) not in found.bad:
            found.bad.append((problem.line, problem.reason))
    return found


def read_question(values: Mapping[str, str], kind: str) -> QuestionRead:
    """Read one row. Raises BadQuestion."""
    question = values.get("question") or values.get("name", "")
    question_zh = values.get("question_zh", "")
    if not question and not question_zh:
        raise BadQuestion(_("The row has no question."))
    if max(len(question), len(question_zh)) > 500:
        raise BadQuestion(_("The question is longer than 500 characters."))
    key = values.get("key", "")
    if key and not KEY.fullmatch(key):
        raise BadQuestion(
            _("The key “%(key)s” has other characters than letters, digits, - and _, or more than 60.")
            % {"key": key[:70]}
        )
    if (weight := values.get("weight", "")) and ((number := number_in(weight)) is None or number < 0):
        raise BadQuestion(_("The weight “%(weight)s” is not a number from 0.") % {"weight": weight})
    offers = {name: role for name, _label, role in OFFERS[Study.Kind(kind)]}
    role = values.get("role", "").casefold()
    if role and role not in offers.values():
        told = _("The role “%(role)s” is none of a study of this kind: %(known)s.")
        raise BadQuestion(told % {"role": role, "known": ", ".join(sorted(set(offers.values())))})
    overall = role == Criterion.Role.OVERALL
    text = values.get("levels") or values.get("scale", "")
    if text.casefold() in offers:
        scale = text.casefold()
        if role and offers[scale] != role:
            raise BadQuestion(
                _("The scale %(scale)s does not go with the role %(role)s.") % {"scale": scale, "role": role}
            )
        return QuestionRead(key, question, question_zh, scale, offers[scale] == Criterion.Role.OVERALL)
    if not text:
        usual = next(name for name, of in offers.items() if of == (role or next(iter(offers.values()))))
        return QuestionRead(key, question, question_zh, usual, overall)
    if kind not in (Study.Kind.CHECKLIST, Study.Kind.STARS):
        told = _("A study of this kind has only the scales %(known)s.")
        raise BadQuestion(told % {"known": ", ".join(offers)})
    return QuestionRead(key, question, question_zh, "", overall, read_levels(text))


def read_levels(text: str) -> tuple[LevelRead, ...]:
    """Read "0=No: Nothing is there|1=Yes", "No|Unsure|Yes" (values 0, 1, 2) or the range "1:5". Raises BadQuestion."""
    span = _RANGE.fullmatch(text)
    if span:
        low, high = int(span[1]), int(span[2])
        if not low < high < low + MOST_LEVELS:
            raise BadQuestion(_("The range “%(text)s” does not have 2 to 21 levels.") % {"text": text})
        return tuple(LevelRead(float(value), str(value)) for value in range(low, high + 1))
    pieces = [piece.strip() for piece in re.split(r"[|;]", text) if piece.strip()]
    levels = []
    for place, piece in enumerate(pieces):
        left, equals, right = piece.partition("=")
        value = number_in(left.strip()) if equals else float(place)
        if value is None:
            raise BadQuestion(_("The level “%(level)s” does not begin with a number.") % {"level": piece[:60]})
        name, _colon, meaning = (right if equals else left).partition(":")
        levels.append(LevelRead(value, name.strip() or left.strip(), meaning.strip()))
    if not 2 <= len(levels) <= MOST_LEVELS:
        raise BadQuestion(
            _("A scale needs 2 to 21 levels; “%(text)s” has %(n)s.") % {"text": text[:60], "n": len(levels)}
        )
    if len({one.value for one in levels}) < len(levels):
        raise BadQuestion(_("Two levels have the same value."))
    return tuple(levels)

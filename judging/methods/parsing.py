"""Parsing of replies to a Verdict, or to an Unscored with the reason. PURE. Nothing in a reply is executed.

The parser is tolerant of form (code fences, prose around it, single quotes, trailing commas; the last answer wins) and
strict about content: every item once, every score on its scale.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from core.text import has_piled_marks
from judging.methods import messages as reply_messages
from judging.methods.prompts import Item, number_text

LONGEST_REPLY = 200_000
LONGEST_LITERAL = 50_000
MOST_ATTEMPTS = 2_000
MOST_READ = 3
"""The most characters read when a reply is parsed as JSON from each of its brackets, in lengths of LONGEST_REPLY."""
COST_OF_NESTING = 2_000
"""The number of characters that count as read if brackets are nested too deep."""
DEEPEST = 20
"""The number of levels of a reply in which an answer is searched for."""
BRACKET = re.compile(r"[{\[]")
FENCED = re.compile(r"```[\w-]*[^\S\n]*\n(.*?)```", re.DOTALL)
TRAILING_COMMA = re.compile(r",(\s*[}\]])")
ITEM_NAMES = ("item", "name", "key", "question")
SCORE_NAMES = ("score", "value", "evaluation_score")


class Why(StrEnum):
    """The reason why there is no verdict, the first part of every stored reason."""

    PROSE = "prose"
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    CUT_OFF = "cut_off"
    MISSING = "missing_item"
    DOUBLED = "doubled_item"
    UNKNOWN = "unknown_item"
    OFF_SCALE = "off_scale"
    REFUSED = "refused"
    TOO_LONG = "too_long"
    NO_TEXT = "no_text"
    ENDPOINT = "endpoint"


@dataclass(frozen=True)
class Answer:
    """The score of one item on its own scale, with the judge's reason."""

    key: str
    value: float
    reason: str


@dataclass(frozen=True)
class Verdict:
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Unscored:
    why: Why
    detail: str

    @property
    def reason(self) -> str:
        """Return the reason as stored: 'off_scale: item ...'."""
        return reply_messages.UNSCORED(why=self.why.value, detail=self.detail)


FILTERED = "content_filter"
"""The finish reason of a reply that the endpoint withheld; asking again would give the same."""


def without_words(finish_reason: str) -> Unscored:
    """Return the outcome of a reply without words."""
    if finish_reason == FILTERED:
        return Unscored(Why.REFUSED, reply_messages.HELD_BACK())
    if finish_reason == "refusal":
        return Unscored(Why.REFUSED, reply_messages.DECLINED())
    if finish_reason == "length":
        return Unscored(Why.CUT_OFF, reply_messages.TOKENS_USED_UP())
    return Unscored(Why.EMPTY, reply_messages.ENDED_WITHOUT(reason=finish_reason or "stop"))


class Members(dict[str, object]):
    """A JSON object that remembers a name given twice."""

    doubled = ""


def _members(pairs: list[tuple[str, Any]]) -> Members:
    found = Members()
    for name, value in pairs:
        if name in found:
            found.doubled = name
        found[name] = value
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_members)
_DECODER_OF_STRETCHES = json.JSONDecoder(object_pairs_hook=_members)


def read_answers(text: str, items: Sequence[Item], *, finish_reason: str = "stop") -> Verdict | Unscored:
    """Return the scores of `items` in a reply: {name: {"reason", "score"}, ...} or a list of {"item", "reason",
    "score"}.
    """
    if finish_reason == "refusal":
        return Unscored(Why.REFUSED, text.strip()[:200] or reply_messages.DECLINED())
    names = {item.key for item in items}
    text = text[:LONGEST_REPLY]
    for values in (_json_values(text), _loose_values(text)):
        found = [entries for value in values if (entries := _entries(value, names)) is not None]
        if found:
            return _verdict(found[-1], items)
    if finish_reason == "length":
        return Unscored(Why.CUT_OFF, reply_messages.TOKENS_USED_UP())
    if not any(bracket in text for bracket in "{["):
        start = " ".join(text.split())[:150] or reply_messages.EMPTY_REPLY()
        return Unscored(Why.PROSE, reply_messages.NO_JSON(start=start))
    if text.count("{") > text.count("}") or text.count("[") > text.count("]"):
        return Unscored(Why.CUT_OFF, reply_messages.BREAKS_OFF(end=" ".join(text.split())[-60:]))
    return Unscored(Why.UNREADABLE, reply_messages.NO_NAMED_QUESTIONS())


def _json_values(text: str) -> Iterator[object]:
    """Yield every outermost object and list of the text, in order, as far as MOST_READ allows."""
    bracket = BRACKET.search(text)
    left = MOST_READ * LONGEST_REPLY
    for _ in range(MOST_ATTEMPTS):
        if bracket is None or left <= 0:
            return
        start, end = bracket.span()
        try:
            value, end = _DECODER.raw_decode(text, start)
            left -= end - start
            yield value
        except json.JSONDecodeError as error:
            left -= error.pos - start
        except (ValueError, RecursionError):  # a number of too many digits, or too many levels
            left -= COST_OF_NESTING
        bracket = BRACKET.search(text, end)


def _loose_values(text: str) -> Iterator[object]:
    """Yield what is in code fences or between the outer brackets, with trailing commas or as a Python literal."""
    stretches = FENCED.findall(text)
    for opening, closing in ("[]", "{}"):
        if opening in text and closing in text:
            stretches.append(text[text.index(opening) : text.rindex(closing) + 1])
    for stretch in stretches:
        try:
            yield _DECODER_OF_STRETCHES.decode(TRAILING_COMMA.sub(r"\1", stretch))
        except (ValueError, RecursionError):
            if (literal := _literal(stretch)) is not None:
                yield literal


def _literal(stretch: str) -> object:
    """Return the value of a Python literal such as {'a': 1}, of constants only, so that nothing runs; otherwise None."""
    if len(stretch) > LONGEST_LITERAL or has_piled_marks(stretch):
        return None
    try:
        tree = ast.parse(stretch.strip(), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
                if len(keys) != len(set(keys)):
                    return None
        return cast(object, ast.literal_eval(tree))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


Entry = tuple[str, object]


def _entries(value: object, names: set[str], depth: int = 0) -> list[Entry] | Unscored | None:
    """Return (name, answer) pairs if the value is an answer; otherwise None."""
    if depth > DEEPEST:
        return None
    if isinstance(value, Mapping):
        if isinstance(value, Members) and value.doubled in names:
            return Unscored(Why.DOUBLED, reply_messages.TWICE(item=repr(value.doubled)))
        if any(str(name).strip() in names for name in value):
            return [(str(name).strip(), said) for name, said in value.items()]
        inner = [found for part in value.values() if (found := _entries(part, names, depth + 1)) is not None]
        return inner[-1] if inner else None
    if isinstance(value, list):
        entries: list[Entry] = []
        for part in value:
            name = next((part[key] for key in ITEM_NAMES if key in part), None) if isinstance(part, Mapping) else None
            if name is None:
                return None
            entries.append((str(name).strip(), part))
        return entries or None
    return None


def _verdict(entries: list[Entry] | Unscored, items: Sequence[Item]) -> Verdict | Unscored:
    if isinstance(entries, Unscored):
        return entries
    said: dict[str, object] = {}
    names = [item.key for item in items]
    for name, entry in entries:
        if name not in names:
            return Unscored(Why.UNKNOWN, reply_messages.NO_SUCH_QUESTION(name=repr(name[:80]), n=len(names)))
        if name in said:
            return Unscored(Why.DOUBLED, reply_messages.TWICE(item=repr(name)))
        said[name] = entry
    if missing := [name for name in names if name not in said]:
        return Unscored(Why.MISSING, reply_messages.LEFT_OUT(n=len(said), all=len(names), item=repr(missing[0])))
    answers = []
    for item in items:
        answer = _answer(item, said[item.key])
        if isinstance(answer, Unscored):
            return answer
        answers.append(answer)
    return Verdict(tuple(answers))


def _answer(item: Item, entry: object) -> Answer | Unscored:
    score, reason = entry, ""
    if isinstance(entry, Mapping):
        if isinstance(entry, Members) and entry.doubled in SCORE_NAMES:
            return Unscored(Why.DOUBLED, reply_messages.TWO_SCORES(item=repr(item.key)))
        name = next((name for name in SCORE_NAMES if name in entry), None)
        if name is None:
            return Unscored(Why.MISSING, reply_messages.NO_SCORE(item=repr(item.key)))
        score, reason = entry[name], str(entry.get("reason") or "").strip()
    number = _number(score)
    value = next((value for value in item.values if number is not None and abs(value - number) < 1e-9), None)
    if value is None:
        scale = ", ".join(map(number_text, item.values))
        words = reply_messages.OFF_SCALE(item=repr(item.key), score=repr(str(score)[:40]), scale=scale)
        return Unscored(Why.OFF_SCALE, words)
    return Answer(item.key, value, reason)


def _number(score: object) -> float | None:
    """Return a number, or one written as a string; true and false are none."""
    if isinstance(score, bool) or not isinstance(score, int | float | str):
        return None
    try:
        return float(score)
    except (ValueError, OverflowError):
        return None

"""Four ways in which a long text goes wrong: repetition, refusal, meaninglessness, a missed length. PURE.

HelloBench (arXiv 2409.16191, appendix K) counts a sentence said three times or more, an opening that refuses, and the
distance from the requested words. What is meaningless it finds by reading; here three signs of it are counted, which
show passages to read and prove nothing by themselves.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

from core.errors import UserError
from generation.text_metrics.counts import NoWords, most_repeated_sentence
from generation.text_metrics.refusals import OPENINGS, opens_with_refusal

REPETITION, REFUSAL, MEANINGLESS, LENGTH = "repetition", "refusal", "meaningless", "length"
MODES = (REPETITION, REFUSAL, MEANINGLESS, LENGTH)
PASSAGE = 240
"""Characters of a text that are shown of what was found in it."""
TOKEN = re.compile(r"[^\W_]+|[^\s]")
WORD = re.compile(r"[^\W\d_]{2,}\Z")


@dataclass(frozen=True)
class ErrorRules:
    """What counts as an error; the lists can be replaced for an installation.

    `refusals` are openings in lower case and `meaningless` passages, wherever they stand, in any case. A window of
    `window` tokens is meaningless if fewer than `least_words` of them are words of two letters or more, or fewer than
    `least_distinct` are different; so is one token `longest_run` times in a row. Shares are 0 to 1.
    """

    repeated_times: int = 3
    refusals: tuple[str, ...] = OPENINGS
    meaningless: tuple[str, ...] = ("lorem ipsum", "\ufffd\ufffd\ufffd")
    window: int = 100
    least_words: float = 0.25
    least_distinct: float = 0.1
    longest_run: int = 20


RULES = ErrorRules()


@dataclass(frozen=True)
class ErrorFound:
    """A mode with the passage that shows it; `number` is how often, which share, or by how many words."""

    mode: str
    passage: str
    number: float


def rules_from(given: Mapping[str, Any], *, place: str) -> ErrorRules:
    """Return the rules with those that are given in place of the usual ones. Raises UserError, which names the place."""
    known = {field.name: getattr(RULES, field.name) for field in fields(ErrorRules)}
    changed: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise UserError(f"{place}: there is no rule {name!r}; there are: {', '.join(known)}.")
        usual = known[name]
        if isinstance(usual, tuple):
            if not isinstance(value, list) or not all(isinstance(entry, str) and entry.strip() for entry in value):
                raise UserError(f"{place}: {name!r} must be a list of texts.")
            changed[name] = tuple(entry.strip().lower() for entry in value)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError(f"{place}: {name!r} must be a number.")
        elif isinstance(usual, int) and (value != int(value) or value < 1):
            raise UserError(f"{place}: {name!r} must be a whole number of at least 1.")
        elif isinstance(usual, float) and not 0 <= value <= 1:
            raise UserError(f"{place}: {name!r} must lie between 0 and 1.")
        else:
            changed[name] = type(usual)(value)
    return ErrorRules(**{**known, **changed})


def as_plain(rules: ErrorRules) -> dict[str, Any]:
    """Return the rules as a file holds them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(rules).items()}


def errors_in(
    text: str, rules: ErrorRules = RULES, *, words: int | None = None, asked: int | None = None
) -> Iterator[ErrorFound]:
    """Yield the errors of a text, each mode at most once; with `words` and `asked`, a text that is too short is one."""
    try:
        repeated = most_repeated_sentence(text)
    except NoWords:
        repeated = None
    if repeated and repeated.times >= rules.repeated_times:
        yield ErrorFound(REPETITION, cut(repeated.sentence), repeated.times)
    if opens_with_refusal(text, rules.refusals):
        yield ErrorFound(REFUSAL, cut(text), 1)
    found = _meaningless(text, rules)
    if found is not None:
        yield found
    if words is not None and asked is not None and words < asked:
        yield ErrorFound(LENGTH, cut(text[-PASSAGE:]), asked - words)


def cut(text: str) -> str:
    """Return the beginning of a passage on one line."""
    line = " ".join(text.split())
    return line if len(line) <= PASSAGE else line[: PASSAGE - 1] + "…"


def _meaningless(text: str, rules: ErrorRules) -> ErrorFound | None:
    lower = text.lower()
    for phrase in rules.meaningless:
        at = lower.find(phrase)
        if at >= 0:
            return ErrorFound(MEANINGLESS, cut(text[max(0, at - 40) :]), lower.count(phrase))
    spans = [match.span() for match in TOKEN.finditer(text)]
    tokens = [lower[start:end] for start, end in spans]
    return _run(text, spans, tokens, rules) or _window(text, spans, tokens, rules)


def _run(text: str, spans: Sequence[tuple[int, int]], tokens: Sequence[str], rules: ErrorRules) -> ErrorFound | None:
    """Find one word that stands many times in a row; signs may, as in a line under a heading."""
    run = 1
    for place, (one, other) in enumerate(pairwise(tokens), start=1):
        run = run + 1 if one == other and one.isalnum() else 1
        if run >= rules.longest_run:
            return ErrorFound(MEANINGLESS, cut(text[spans[place - run + 1][0] :]), run)
    return None


def _window(text: str, spans: Sequence[tuple[int, int]], tokens: Sequence[str], rules: ErrorRules) -> ErrorFound | None:
    """Find a window with hardly a word, or hardly a different one; windows overlap by half."""
    for start in range(0, len(tokens) - rules.window + 1, max(1, rules.window // 2)):
        inside = tokens[start : start + rules.window]
        words = sum(1 for token in inside if WORD.match(token)) / rules.window
        distinct = len(set(inside)) / rules.window
        if words < rules.least_words or distinct < rules.least_distinct:
            passage = text[spans[start][0] : spans[start + rules.window - 1][1]]
            return ErrorFound(MEANINGLESS, cut(passage), min(words, distinct))
    return None

"""Conversion of a quotation between positions that a rater selects on the page and offsets in the source text.

The page shows Markdown without its marks, so positions on the page differ from positions in the source. Both sides
count code points; on the page only those that are not white space, which browsers and sources treat differently.

PURE.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from html import unescape

import numpy as np

from core.errors import UserError

AHEAD_OF_WORD = 240
AHEAD_OF_CHARACTER = 4

UNKNOWN = -1
"""The offset of a shown position that is not found in the source."""

_PIECE = re.compile(r"\S+")
_TAG = re.compile(r"""<(/?[a-z0-9]+)[^<>"]*(?:"[^"]*"[^<>"]*)*>""")
_CODE = re.compile(r"<pre>.*?</pre>", re.DOTALL)
_COLOUR = re.compile(r"</?span\b[^<>]*>")
_LANGUAGE_AHEAD = re.compile(r"[\W\d_]*?(?:`{3,}|~{3,})[ \t]*(?=[^\s`~])")
"""Up to the language that a block of code names on its first line, which is not shown."""
_OPENING = re.compile(r"\$\$|\$|\\\(|\\\[")
_CLOSING = {"$$": "$$", "$": "$", "\\(": "\\)", "\\[": "\\]"}
MOST_ADDRESSES = 100_000
"""Characters of link addresses that are read per text; beyond this, the text after a link is located by its words
alone.
"""


def _words_of(block: str) -> Iterator[tuple[str, str]]:
    """Return the words of a block in order as (word, kind); kind is text, math, link for the end of a link, or code for
    the beginning of code.

    A block is sanitised HTML: it has no comments, and attribute values are quoted.
    """
    formula: list[str] | None = None
    if "<pre>" in block:  # a word of code may be of several colours
        block = _CODE.sub(lambda code: _COLOUR.sub("", code[0]), block)
    pieces = _TAG.split(block)
    for shown, tag in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        if shown:
            words = _PIECE.findall(unescape(shown) if "&" in shown else shown)
            if formula is not None:
                formula += words
            else:
                for word in words:
                    yield word, "text"
        if tag == "math":
            formula = []
        elif tag == "pre":
            yield "", "code"
        elif tag == "/a":
            yield "", "link"
        elif tag == "/math" and formula is not None:
            yield "".join(formula), "math"
            formula = None


class NotInText(UserError):
    """A quotation does not lie within its text."""


class TextMap:
    """The positions of one text: `blocks` is the HTML of its parts, `starts` the offset of each part in the source.

    Shown position n is the n-th code point, from 0, that is not white space.
    """

    def __init__(self, source: str, blocks: Sequence[str], starts: Sequence[int]) -> None:
        self.source = source
        froms: list[int] = []
        tos: list[int] = []
        bounds = [*starts, len(source)][1:]
        addresses = _Addresses(source)
        for block, start, end in zip(blocks, starts, bounds, strict=True):
            for place, end_of_place in _located(source, block, start, end, addresses):
                froms += place
                tos += end_of_place
        self._firsts, self._lasts = _filled(froms, tos, len(source))

    def __len__(self) -> int:
        return len(self._firsts)

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the source offsets of the shown positions from `start` up to `end`. Raises NotInText."""
        if not 0 <= start < end <= len(self):
            raise NotInText(f"Positions {start} to {end} are not in a text of {len(self)}.")
        first, last = self._firsts[start], self._lasts[end - 1]
        while first < last - 1 and self.source[first].isspace():
            first += 1
        while last - 1 > first and self.source[last - 1].isspace():
            last -= 1
        return first, last

    def shown_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the shown positions of the source offsets from `start` up to `end`. Raises NotInText if none is shown."""
        if not 0 <= start < end <= len(self.source):
            raise NotInText(f"Offsets {start} to {end} are not in a text of {len(self.source)}.")
        first, last = bisect_left(self._lasts, start + 1), bisect_left(self._firsts, end)
        if first >= last:
            raise NotInText(f"Nothing between offsets {start} and {end} is shown.")
        return first, last


class _Addresses:
    """The ends of link addresses in a text, of which at most MOST_ADDRESSES characters are read."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.left = MOST_ADDRESSES

    def after(self, at: int, end: int) -> int:
        """Return the offset after the address of a link whose text has just been read."""
        if not self.source.startswith("](", at):
            return at
        depth = 0
        for position in range(at + 1, min(end, at + 1 + self.left)):
            self.left -= 1
            depth += {"(": 1, ")": -1}.get(self.source[position], 0)
            if depth == 0:
                return position + 1
        return at


def _formulas(source: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each formula between two offsets; reads each character a few times at most."""
    past = start
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(source, start, end):
        mark = opening[0]
        if opening.start() < past or mark in unclosed:
            continue
        closing = source.find(_CLOSING[mark], opening.end() + 1, end)
        if closing < 0:
            unclosed.add(mark)
        elif mark != "$" or not {"\n", "$"} & set(source[opening.end() : closing]):
            past = closing + len(mark)
            yield opening.start(), past


def _located(
    source: str, block: str, start: int, end: int, addresses: _Addresses
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Return the source position of each shown code point of a block, run by run.

    A run holds the start and end for each of its code points; both are UNKNOWN if the position cannot be determined.
    """
    at = start
    formulas = _formulas(source, start, end)
    for word, kind in _words_of(block):
        if kind == "link":
            at = addresses.after(at, end)
            continue
        if kind == "code":
            if named := _LANGUAGE_AHEAD.match(source, at, min(end, at + AHEAD_OF_WORD)):
                at = max(named.end(), source.find("\n", named.end(), end))
            continue
        if kind == "math":
            formula = next((span for span in formulas if span[0] >= at), None)
            # Every character of a formula stands for the whole formula.
            first, last = formula or (UNKNOWN, UNKNOWN)
            yield [first] * len(word), [last] * len(word)
            at = last if formula else at
            continue
        found = source.find(word, at, min(end, at + AHEAD_OF_WORD + len(word)))
        if found >= 0:
            at = found + len(word)
            yield range(found, at), range(found + 1, at + 1)
            continue
        for character in word:
            found = source.find(character, at, min(end, at + AHEAD_OF_CHARACTER))
            if found >= 0:
                at = found + 1
                yield (found,), (at,)
            else:
                yield (UNKNOWN,), (UNKNOWN,)


def _filled(froms: Sequence[int], tos: Sequence[int], length: int) -> tuple[list[int], list[int]]:
    """Return the start and end of every shown position; neither ever decreases.

    Unknown positions extend to their neighbours.
    """
    if not froms:
        return [], []
    begins, ends = np.array(froms), np.array(tos)
    known = begins != UNKNOWN
    # A position begins no earlier than the previous one ends, except inside a formula.
    passed = np.where(ends - begins == 1, ends, 0)
    firsts = np.maximum.accumulate(np.maximum(np.maximum(begins, 0), np.concatenate(([0], passed[:-1]))))
    following = np.minimum.accumulate(np.where(known, np.arange(len(known)), len(known))[::-1])[::-1]
    reached = np.where(known, ends, np.append(begins, length)[following])
    lasts = np.maximum.accumulate(np.maximum(reached, np.minimum(firsts + 1, length)))
    return firsts.tolist(), lasts.tolist()

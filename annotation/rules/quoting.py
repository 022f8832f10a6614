"""Where a quotation stands: from what a reader selected on the page to offsets in the source text, and back.

The page shows Markdown without its marks, so that positions on the page are not positions in the source. Both sides
count code points, and on the page only those that are not white space, which browsers and sources treat differently.

PURE.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser

AHEAD_OF_WORD = 240
AHEAD_OF_CHARACTER = 4

Place = tuple[int, int] | None

_PIECE = re.compile(r"\S+")
_OPENING = re.compile(r"\$\$|\$|\\\(|\\\[")
_CLOSING = {"$$": "$$", "$": "$", "\\(": "\\)", "\\[": "\\]"}
MOST_ADDRESSES = 100_000
"""Characters of addresses that are read for one text; beyond, what follows a link is found by its words alone."""


class _Words(HTMLParser):
    """The words of a block in order: (word, kind), kind being text, math, or link for the end of one."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str]] = []
        self._formula: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "math":
            self._formula = []

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self.found.append(("", "link"))
        if tag == "math" and self._formula is not None:
            self.found.append(("".join(self._formula), "math"))
            self._formula = None

    def handle_data(self, data: str) -> None:
        words = _PIECE.findall(data)
        if self._formula is not None:
            self._formula.extend(words)
        else:
            self.found.extend((word, "text") for word in words)


class NotInText(ValueError):
    """A quotation that does not lie within its text."""


class TextMap:
    """Positions of one text: `blocks` are the HTML of its parts, `starts` where each part begins in the source.

    A shown position n is the n-th code point, from 0, that is not white space.
    """

    def __init__(self, source: str, blocks: Sequence[str], starts: Sequence[int]) -> None:
        self.source = source
        places: list[Place] = []
        bounds = [*starts, len(source)][1:]
        addresses = _Addresses(source)
        for block, start, end in zip(blocks, starts, bounds, strict=True):
            places.extend(_located(source, block, start, end, addresses))
        self._firsts, self._lasts = _filled(places, len(source))

    def __len__(self) -> int:
        return len(self._firsts)

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Source offsets of the shown positions from `start` up to `end`; raises NotInText."""
        if not 0 <= start < end <= len(self):
            raise NotInText(f"Positions {start} to {end} are not in a text of {len(self)}.")
        first, last = self._firsts[start], self._lasts[end - 1]
        while first < last - 1 and self.source[first].isspace():
            first += 1
        while last - 1 > first and self.source[last - 1].isspace():
            last -= 1
        return first, last

    def shown_span(self, start: int, end: int) -> tuple[int, int]:
        """Shown positions of the source offsets from `start` up to `end`; raises NotInText where none is shown."""
        if not 0 <= start < end <= len(self.source):
            raise NotInText(f"Offsets {start} to {end} are not in a text of {len(self.source)}.")
        first, last = bisect_left(self._lasts, start + 1), bisect_left(self._firsts, end)
        if first >= last:
            raise NotInText(f"Nothing between offsets {start} and {end} is shown.")
        return first, last


class _Addresses:
    """The ends of links' addresses in a text, of which MOST_ADDRESSES characters are read in all."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.left = MOST_ADDRESSES

    def after(self, at: int, end: int) -> int:
        """Past the address of a link whose text was just read."""
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
    """From and to of the formulas between two offsets, in order; reads each character a few times at most."""
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


def _located(source: str, block: str, start: int, end: int, addresses: _Addresses) -> Iterator[Place]:
    """For each shown code point of a block where it stands in the source, from and to, None where nobody can tell."""
    reader = _Words()
    reader.feed(block)
    reader.close()
    at = start
    formulas = _formulas(source, start, end)
    for word, kind in reader.found:
        if kind == "link":
            at = addresses.after(at, end)
            continue
        if kind == "math":
            formula = next((span for span in formulas if span[0] >= at), None)
            # Every sign of a formula stands for all of it.
            yield from [formula] * len(word)
            at = formula[1] if formula else at
            continue
        found = source.find(word, at, min(end, at + AHEAD_OF_WORD + len(word)))
        if found >= 0:
            yield from ((place, place + 1) for place in range(found, found + len(word)))
            at = found + len(word)
            continue
        for character in word:
            found = source.find(character, at, min(end, at + AHEAD_OF_CHARACTER))
            yield (found, found + 1) if found >= 0 else None
            at = found + 1 if found >= 0 else at


def _filled(places: Sequence[Place], length: int) -> tuple[list[int], list[int]]:
    """First and end offset of every shown position, neither ever falling; unknown ones reach to their neighbours."""
    firsts, lasts = [], []
    known = 0
    for place in places:
        known = max(known, place[0]) if place else known
        firsts.append(known)
        known = max(known, place[1]) if place and place[1] - place[0] == 1 else known
    following = length
    for place, first in zip(reversed(places), reversed(firsts), strict=True):
        lasts.append(max(place[1] if place else following, min(first + 1, length)))
        following = place[0] if place else following
    lasts.reverse()
    for index in range(1, len(lasts)):
        lasts[index] = max(lasts[index], lasts[index - 1])
    return firsts, lasts

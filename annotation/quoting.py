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
_FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+?\$|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)


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
        bounds = [*starts[1:], len(source)]
        for block, start, end in zip(blocks, starts, bounds, strict=True):
            places.extend(_located(source, block, start, end))
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


def _located(source: str, block: str, start: int, end: int) -> Iterator[Place]:
    """For each shown code point of a block where it stands in the source, from and to, None where nobody can tell."""
    reader = _Words()
    reader.feed(block)
    reader.close()
    at = start
    for word, kind in reader.found:
        if kind == "link":
            at = _after_address(source, at, end)
            continue
        if kind == "math":
            formula = _FORMULA.search(source, at, end)
            # Every sign of a formula stands for all of it.
            yield from [formula.span() if formula else None] * len(word)
            at = formula.end() if formula else at
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


def _after_address(source: str, at: int, end: int) -> int:
    """Past the address of a link whose text was just read."""
    if not source.startswith("](", at):
        return at
    depth = 0
    for position in range(at + 1, end):
        depth += {"(": 1, ")": -1}.get(source[position], 0)
        if depth == 0:
            return position + 1
    return at


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

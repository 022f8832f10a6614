"""The longest run that two sequences share, as difflib finds it, in a bounded number of passes over arrays. PURE."""

from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int32]

FEW_PAIRS = 250
"""Pairs of equal pieces up to which difflib's own loop takes less time than arrays do."""


class EqualPairs:
    """Every pair of places with equal pieces, ordered by the place in `a`, then in `b`.

    Only pieces of `b` that are among those to `compare` are in a pair.
    """

    def __init__(self, a: Sequence[str], b: Sequence[str], compare: Iterable[str]) -> None:
        self._numbers = numbers = {piece: number for number, piece in enumerate(compare)}
        # Numbers that no piece has stand for what is left out and what lies beyond the ends: they are equal to nothing.
        pieces_a = np.fromiter(map(numbers.get, a, repeat(-1)), np.int32, len(a))
        pieces_b = np.fromiter(map(numbers.get, b, repeat(-2)), np.int32, len(b))
        order = np.argsort(pieces_b, kind="stable").astype(np.int32)
        self._flat = flat = order[int((pieces_b < 0).sum()) :]
        sizes = np.bincount(pieces_b[flat], minlength=len(numbers))
        self._until = np.append(np.cumsum(sizes), 0)
        counts = np.where(pieces_a >= 0, np.append(sizes, 0)[pieces_a], 0)
        self._ends = np.concatenate(([0], np.cumsum(counts)))
        firsts = (self._until - np.append(sizes, 0))[pieces_a]
        self._in_a = np.repeat(np.arange(len(a), dtype=np.int32), counts)
        self._in_b = flat[np.arange(len(self._in_a)) + np.repeat(firsts - self._ends[:-1], counts)]
        before_a, after_a = (np.repeat(_moved(pieces_a, step, -1), counts) for step in (1, -1))
        self._begins = before_a != _moved(pieces_b, 1, -2)[self._in_b]
        self._stops = after_a != _moved(pieces_b, -1, -2)[self._in_b]
        self._length, self._width = len(a), len(b)

    def places(self, piece: str) -> list[int]:
        """Where in `b` a piece stands that is compared."""
        number = self._numbers[piece]
        found: list[int] = self._flat[self._until[number - 1] : self._until[number]].tolist()
        return found

    def longest(self, alo: int, ahi: int, blo: int, bhi: int) -> tuple[int, int, int]:
        """(place in a, place in b, length) of the longest run of pairs within both ranges; (alo, blo, 0) without one.

        Of several the first in `a`, of those the first in `b`.
        """
        here = slice(self._ends[alo], self._ends[ahi])
        in_a, in_b, begins, stops = self._in_a[here], self._in_b[here], self._begins[here], self._stops[here]
        if blo or bhi < self._width:
            within = (in_b >= blo) & (in_b < bhi)
            in_a, in_b, begins, stops = in_a[within], in_b[within], begins[within], stops[within]
        if not len(in_a):
            return alo, blo, 0
        # A run is cut off where a range begins or ends.
        begins = begins | (in_a == alo) | (in_b == blo)
        stops = stops | (in_a == ahi - 1) | (in_b == bhi - 1)
        first = self._diagonal(in_a, in_b, begins & ~stops)
        if not len(first):
            return int(in_a[0]), int(in_b[0]), 1
        # Runs of one pair left out, those of one diagonal begin and stop in turn.
        lengths = self._diagonal(in_a, in_b, stops & ~begins) - first + 1
        longest = int(lengths.max())
        offset, start = np.divmod(first[lengths == longest], self._length)
        at = int(start.min())
        return at, int(offset[start == at].min()) + at - self._length, longest

    def _diagonal(self, in_a: Places, in_b: Places, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The chosen pairs as sorted numbers that rise by one from a pair to the next in both sequences."""
        in_a, in_b = in_a[chosen].astype(np.int64), in_b[chosen]
        return np.sort((in_b - in_a + self._length) * self._length + in_a)


def _moved(numbers: Places, step: int, filler: int) -> Places:
    """The numbers one place further, by a step of 1 or -1, with the filler where none comes."""
    moved = np.roll(numbers, step)
    moved[slice(1) if step > 0 else slice(-1, None)] = filler
    return moved

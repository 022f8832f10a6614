"""Texts that are nearly the same, by the share of their word sequences that they have in common.

The texts are compared exactly, not by a sketch. Two sets can only be as similar as asked where they share one of their
rarest elements, so a text is held only against those with which it does (prefix filtering: Bayardo, Ma and Srikant,
Scaling up all pairs similarity search, 2007).
"""

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_CHARACTER = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CHARACTER}]|[^\W{_CHARACTER}]+")
_ROUNDING = 1e-9

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The position of the earlier text that stays, and the Jaccard similarity with it, from 0 to 1."""

    earlier: int
    similarity: float


def words_in(text: str) -> list[str]:
    """The words of a text in small letters, without marks; a Chinese or Japanese character is a word."""
    return _WORD.findall(text.casefold())


def near_duplicates(
    texts: Sequence[str],
    *,
    threshold: float,
    size: int = 3,
    protected: Collection[int] = (),
    step: Callable[[int], None] = lambda _done: None,
) -> dict[int, Duplicate]:
    """Return, by position, the texts that nearly repeat an earlier one that stays.

    Two texts are near-duplicates if the Jaccard similarity of their sets of `size` consecutive words, |A & B| / |A |
    B|, is at least `threshold` (above 0, at most 1). A shorter text counts as one sequence, and one without a word
    repeats nothing. Of several earlier texts the first counts, and a text that goes is not held against later ones.
    Those at the `protected` positions stay in any case. `step` is called with 1 after each text.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"A threshold of {threshold} is not above 0 and at most 1.")
    sets, counts = _sequences(texts, size)
    where: dict[int, list[int]] = {}
    found: dict[int, Duplicate] = {}
    for position, own in enumerate(sets):
        rarest = own[np.lexsort((own, counts[own]))]
        prefix = rarest[: len(own) - math.ceil(threshold * len(own) - _ROUNDING) + 1].tolist()
        if position not in protected:
            others = sorted({other for code in prefix for other in where.get(code, ())})
            match = next((one for one in others if _similarity(own, sets[one], threshold) is not None), None)
            if match is not None:
                found[position] = Duplicate(match, _similarity(own, sets[match], 0.0) or 0.0)
        if position not in found and len(own):
            for code in prefix:
                where.setdefault(code, []).append(position)
        step(1)
    return found


def _similarity(one: Codes, other: Codes, threshold: float) -> float | None:
    """The Jaccard similarity of two sets, None where it is below the threshold."""
    few, many = (one, other) if len(one) <= len(other) else (other, one)
    if len(few) < threshold * len(many) - _ROUNDING:
        return None
    places = np.searchsorted(many, few)
    common = int(np.count_nonzero(many.take(places, mode="clip") == few))
    similarity = common / (len(few) + len(many) - common)
    return similarity if similarity >= threshold - _ROUNDING else None


def _sequences(texts: Sequence[str], size: int) -> tuple[list[Codes], Codes]:
    """The set of word sequences of each text as sorted numbers, and in how many texts each number occurs."""
    numbers: dict[str, int] = {}
    rows = []
    for text in texts:
        words = [numbers.setdefault(word, len(numbers) + 1) for word in words_in(text)]
        # A text that is too short for one sequence is filled up with 0, which is no word.
        rows.append(words + [0] * (size - len(words)) if words else [])
    whole = np.array([number for row in rows for number in row], dtype=np.int64)
    codes = whole.copy()
    for offset in range(1, size):
        following = np.zeros_like(whole)
        following[:-offset] = whole[offset:]
        # Numbered anew after each word, so that the numbers stay below the number of words squared.
        _, codes = np.unique(codes * (len(numbers) + 1) + following, return_inverse=True)
    sets: list[Codes] = []
    start = 0
    for row in rows:
        sets.append(np.unique(codes[start : start + max(0, len(row) - size + 1)]))
        start += len(row)
    every = np.concatenate(sets) if sets else codes
    return sets, np.bincount(every, minlength=1).astype(np.int64)

"""Texts that are nearly the same, by the share of their words or word sequences that they have in common. PURE.

The texts are compared exactly, not by a sketch. Two sets can only be as similar as asked where they share one of their
rarest elements, so a text is held only against those with which it does (prefix filtering: Bayardo, Ma and Srikant,
Scaling up all pairs similarity search, 2007).
"""

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_CHARACTER = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CHARACTER}]|[^\W{_CHARACTER}]+")
_ROUNDING = 1e-9

SAME_CONTENT = 1 / 3
"""The Jaccard similarity of the content words from which two proposals are one: where half of their words are common,
2 |A & B| / (|A| + |B|) >= 1/2, a third of all their words is."""
_CONTENT = re.compile(r"[a-z0-9]+|[㐀-鿿]+")
_COMMON_WORDS = (
    "a an and any are as at be been by can do does for from has have how if in into is it its no not of on or so than "
    "that the their them there these they this to was were what when where whether which who will with without "
    "answer answers check checks criterion evaluate evaluates measure measures response responses should text texts"
)
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that nearly every criterion has, and which therefore say nothing about what two of them have in common."""

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The position of the earlier text that stays, and the Jaccard similarity with it, from 0 to 1."""

    earlier: int
    similarity: float


def words_in(text: str) -> list[str]:
    """The words of a text in small letters, without marks; a Chinese or Japanese character is a word."""
    return _WORD.findall(text.casefold())


def content_words(text: str) -> frozenset[str]:
    """Return what stands for the content of a short text: its words in small letters without a plural s and without
    common words, and for Chinese each pair of neighbouring characters (a single character as it is).
    """
    found: set[str] = set()
    for word in _CONTENT.findall(text.lower()):
        if word[0] > "z":
            found.update([word] if len(word) == 1 else (word[at : at + 2] for at in range(len(word) - 1)))
        elif word not in _COMMON:
            found.add(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word)
    return frozenset(found)


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
    taken_in = _TakenIn(_sequences(texts, size), threshold)
    found: dict[int, Duplicate] = {}
    for position in range(len(texts)):
        like = None if position in protected else next(taken_in.like(position), None)
        if like is None:
            taken_in.add(position)
        else:
            found[position] = like
        step(1)
    return found


def groups_alike(texts: Sequence[tuple[str, str]]) -> list[list[int]]:
    """Group short texts, each a (name, explanation), by near-duplicates; the result holds their positions, in order.

    Two are near-duplicates if their names have the same content words, or if the content words of name and explanation
    together have a Jaccard similarity of at least SAME_CONTENT. A text joins the first group of whose members every one
    is its near-duplicate, so that no chain of small differences joins what has nothing in common.
    """
    names = [content_words(name) for name, _explanation in texts]
    taken_in = _TakenIn(_numbered([content_words(f"{name} {more}") for name, more in texts]), SAME_CONTENT)
    groups: list[list[int]] = []
    for position, name in enumerate(names):
        near = {like.earlier for like in taken_in.like(position)}
        near |= {earlier for earlier in range(position) if name and names[earlier] == name}
        home = next((group for group in groups if near.issuperset(group)), None)
        if home is None:
            groups.append([position])
        else:
            home.append(position)
        taken_in.add(position)
    return groups


class _TakenIn:
    """The texts that later ones are held against, by their rarest elements.

    `sets` has for each text its elements as sorted numbers from 0 on; `threshold` is above 0 and at most 1.
    """

    def __init__(self, sets: Sequence[Codes], threshold: float) -> None:
        self._sets = sets
        self._threshold = threshold
        every = np.concatenate(sets) if sets else np.zeros(0, dtype=np.int64)
        self._counts = np.bincount(every, minlength=1)
        self._where: dict[int, list[int]] = {}
        self._last: tuple[int, list[int]] = (-1, [])

    def like(self, position: int) -> Iterator[Duplicate]:
        """Yield the texts taken in so far that this one nearly repeats, the first one first."""
        own = self._sets[position]
        for other in sorted({other for code in self._rarest(position) for other in self._where.get(code, ())}):
            few, many = sorted((own, self._sets[other]), key=len)
            if len(few) < self._threshold * len(many) - _ROUNDING:
                continue
            similarity = _similarity(few, many)
            if similarity >= self._threshold - _ROUNDING:
                yield Duplicate(other, similarity)

    def add(self, position: int) -> None:
        for code in self._rarest(position):
            self._where.setdefault(code, []).append(position)

    def _rarest(self, position: int) -> list[int]:
        """Return the elements of which two sets that are similar enough share at least one."""
        if self._last[0] != position:
            own = self._sets[position]
            ordered = own[np.lexsort((own, self._counts[own]))]
            enough = math.ceil(self._threshold * len(own) - _ROUNDING)
            self._last = position, ordered[: len(own) - enough + 1].tolist()
        return self._last[1]


def _similarity(few: Codes, many: Codes) -> float:
    """Return the Jaccard similarity of two sets that are not empty."""
    places = np.searchsorted(many, few)
    common = int(np.count_nonzero(many.take(places, mode="clip") == few))
    return common / (len(few) + len(many) - common)


def _numbered(sets: Sequence[Collection[Hashable]]) -> list[Codes]:
    """Return each set as sorted numbers, the same number for the same element."""
    numbers: dict[Hashable, int] = {}
    return [np.sort(np.array([numbers.setdefault(one, len(numbers)) for one in own], dtype=np.int64)) for own in sets]


def _sequences(texts: Sequence[str], size: int) -> list[Codes]:
    """Return the set of word sequences of each text as sorted numbers."""
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
    return sets

"""Two long responses side by side: which sections answer each other, and where near-copies differ.

PURE.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate, chain, count, groupby, product, repeat
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.rules.matching import FEW_PAIRS, EqualPairs
from generation.text_metrics.overlap import common_subsequence

LIKE_ENOUGH = 0.62
NEAR_DUPLICATE = 0.85
PASS_OF_WORDS = 400

MOST_COMPARED = 600_000
"""Comparisons of single letters, words or lines for which two texts are compared at all."""
SETTING_UP = 80
"""Comparisons in whose time difflib's matcher is set up, beside one for each piece."""
COST_OF_MATCHER = 300
"""Comparisons in whose time difflib's matcher is set up for two headings."""
MOST_LISTED = 1_000
"""Pieces of a sequence up to which difflib's lists of their places are made at once."""
ANCHOR = 5
"""Words, spaces and marks in a row by which long passages are held against each other."""
LARGEST = 2**62
"""No number of a run of pieces is larger."""
LONG_PASSAGE = 200
"""Pieces of both texts from which on anchors are looked for."""
MOST_LINES = 2_000
"""Lines of a passage that are still held against each other one by one where its words are too many."""
LONGEST_HEADING = 100
"""Characters of a heading that are compared with another's."""

_NUMBER = r"\d+(?:\.\d+)+[\s.:)、]|(?:\d+|[ivxlc]+|[一二三四五六七八九十]+)\s*[.:)、章节部]"
_NUMBERING = re.compile(rf"^\W*(?:(?:part|chapter|section|step|第)?\s*(?:{_NUMBER})\s*)+", re.IGNORECASE)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:['’\-][^\W_{_CJK}]+)*")
_PIECE = re.compile(rf"[{_CJK}]|\s+|[^\W{_CJK}]+|[^\w\s]")


Kind = Literal["same", "only_a", "only_b"]


class Change(NamedTuple):
    """A run of text: the same in both, only in A, or only in B.

    `coarse` where a whole passage stands for words that were too many to be compared.
    """

    kind: Kind
    text: str
    coarse: bool = False


class TooDifferent(ValueError):
    """Two sequences share too little, or the same pieces too often, to be compared within the bound."""


class Work:
    """Comparisons that are left; several matchers may share them."""

    def __init__(self) -> None:
        self.left = MOST_COMPARED

    def take(self, comparisons: int) -> None:
        """Raises TooDifferent."""
        if comparisons > self.left:
            raise TooDifferent
        self.left -= comparisons

    def is_enough_for(self, a: Sequence[str], b: Sequence[str]) -> bool:
        """Whether a Comparison of the two could be begun."""
        return SETTING_UP + len(a) + len(b) <= self.left


class Comparison(SequenceMatcher[str]):
    """difflib's matcher, whose time may grow with the cube of the lengths, with its comparisons counted beforehand.

    Raises TooDifferent. Counting instead of timing gives the same result for the same texts wherever it runs.
    """

    a: Sequence[str]
    b: Sequence[str]
    b2j: dict[str, list[int]]
    autojunk: bool

    def __init__(self, a: Sequence[str], b: Sequence[str], work: Work, *, autojunk: bool = False) -> None:
        self.work = work
        work.take(SETTING_UP + len(a) + len(b))
        self._pairs: EqualPairs | None = None
        super().__init__(None, a, b, autojunk=autojunk)
        self._before = [0, *accumulate(map(self._costs.get, a, repeat(1)))]

    def set_seq2(self, b: Sequence[str]) -> None:
        """The second sequence; of a long one the places of a piece are listed when they are first needed."""
        self._is_long = len(b) > MOST_LISTED
        if not self._is_long:
            super().set_seq2(b)
            self._costs = {piece: 1 + len(found) for piece, found in self.b2j.items()}
            return
        super().set_seq2("")
        self.b = b
        # difflib leaves out what is more than a hundredth of a sequence of 200 pieces or more.
        most = len(b) // 100 + 1 if self.autojunk and len(b) >= 200 else len(b)
        self._costs = {piece: 1 + times for piece, times in Counter(b).items() if times <= most}

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        ahi, bhi = len(self.a) if ahi is None else ahi, len(self.b) if bhi is None else bhi
        comparisons = self._before[ahi] - self._before[alo]
        self.work.take(comparisons)
        is_short = comparisons - (ahi - alo) <= FEW_PAIRS
        if self._pairs is None and (self._is_long or not is_short):
            self._pairs = EqualPairs(self.a, self.b, self._costs)
        if is_short:
            if self._pairs and self._is_long:
                for piece in self.a[alo:ahi]:
                    if piece in self._costs and piece not in self.b2j:
                        self.b2j[piece] = self._pairs.places(piece)
            return super().find_longest_match(alo, ahi, blo, bhi)
        assert self._pairs
        at, other, length = self._pairs.longest(alo, ahi, blo, bhi)
        # Pieces that stand in a text too often to be looked for belong to a run beside them.
        while at > alo and other > blo and self.a[at - 1] == self.b[other - 1]:
            at, other, length = at - 1, other - 1, length + 1
        while at + length < ahi and other + length < bhi and self.a[at + length] == self.b[other + length]:
            length += 1
        return Match(at, other, length)


def plain_heading(heading: str) -> str:
    """A heading without numbering, marks and case: what it is compared by."""
    bare = _NUMBERING.sub("", heading.strip()) or heading
    return " ".join(_WORD.findall(bare.casefold()))


def likeness(heading_a: str, heading_b: str) -> float:
    """From 0 to 1: how alike two headings are; 0 where either says nothing."""
    return _likeness(_compared(heading_a), _compared(heading_b), Work())


def _compared(heading: str) -> str:
    return plain_heading(heading[: 2 * LONGEST_HEADING])[:LONGEST_HEADING]


def _likeness(a: str, b: str, work: Work) -> float:
    """0, too, where a greater measure, of the letters that both have in one order, is not LIKE_ENOUGH.

    Raises TooDifferent.
    """
    if not a or not b:
        return 0.0
    if a == b:
        return 1.0
    work.take(len(a) + len(b))
    if 2 * common_subsequence(a, b) < LIKE_ENOUGH * (len(a) + len(b)):
        return 0.0
    work.take(COST_OF_MATCHER)
    return Comparison(a, b, work).ratio()


def _letters(plain: str, bits: dict[tuple[str, int], int]) -> int:
    """A number with a bit for each letter, the first a, the second a and so on: what two headings share is counted fast."""
    found = 0
    times: Counter[str] = Counter()
    for letter in plain:
        times[letter] += 1
        found |= 1 << bits.setdefault((letter, times[letter]), len(bits))
    return found


def _likenesses(headings_a: Sequence[str], headings_b: Sequence[str]) -> list[list[float]]:
    """How alike every two are, 0 where they are not LIKE_ENOUGH; raises TooDifferent."""
    work = Work()
    work.take(len(headings_a) * len(headings_b))
    bits: dict[tuple[str, int], int] = {}
    plain_a, plain_b = (
        [(plain := _compared(heading), _letters(plain, bits)) for heading in several]
        for several in (headings_a, headings_b)
    )
    known: dict[tuple[str, str], float] = {}
    for (a, letters_a), (b, letters_b) in product(dict.fromkeys(plain_a), dict.fromkeys(plain_b)):
        if 2 * (letters_a & letters_b).bit_count() >= LIKE_ENOUGH * (len(a) + len(b)):
            known[a, b] = _likeness(a, b, work)
    return [[known.get((a, b), 0.0) for b, _ in plain_b] for a, _ in plain_a]


def align_sections(headings_a: Sequence[str], headings_b: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Pairs of section numbers, in reading order, of which None stands for no counterpart.

    The pairing keeps the order of both and has the greatest sum of likeness; pairs under LIKE_ENOUGH are not made.
    Costs the product of the two numbers of headings. Raises TooDifferent where comparing them would cost more than
    MOST_COMPARED.
    """
    rows, columns = len(headings_a), len(headings_b)
    like = _likenesses(headings_a, headings_b)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            paired = like[i][j] + best[i + 1][j + 1] if like[i][j] >= LIKE_ENOUGH else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < rows and j < columns:
        if like[i][j] >= LIKE_ENOUGH and best[i][j] == like[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    pairs.extend((left, None) for left in range(i, rows))
    pairs.extend((None, right) for right in range(j, columns))
    return pairs


def shared_words(text_a: str, text_b: str) -> float:
    """The share of words (Dice, as multisets) that two texts have in common, from 0 to 1; 0 for empty texts."""
    a, b = Counter(_WORD.findall(text_a.casefold())), Counter(_WORD.findall(text_b.casefold()))
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0


def is_near_duplicate(text_a: str, text_b: str) -> bool:
    """Whether a word diff helps: nearly the same words, in nearly the same passages."""
    shorter, longer = sorted((len(text_a), len(text_b)))
    if not shorter or shorter / longer < NEAR_DUPLICATE or shared_words(text_a, text_b) < NEAR_DUPLICATE:
        return False
    words_a, words_b = text_a.split(), text_b.split()
    if Counter(words_a) == Counter(words_b):
        return True
    try:
        runs = Comparison(words_a[:PASS_OF_WORDS], words_b[:PASS_OF_WORDS], Work())
        return runs.ratio() >= NEAR_DUPLICATE / 2
    except TooDifferent:
        return False


Step = tuple[str, tuple[int, int], tuple[int, int]]
Run = tuple[Kind, bool, str]
"""A change before its neighbours of one kind are joined to it: its kind, whether it is coarse, its text."""


def word_diff(text_a: str, text_b: str) -> list[Change]:
    """A's and B's text as runs that are the same or in one of them only; leaving one kind out gives the other text.

    Compares lines first and words only within lines that differ, so that 10,000 words take well under a second. A
    passage in which that would cost more than is left of MOST_COMPARED is one coarse change on each side, or, where
    it has as many lines on both and no more than MOST_LINES, is compared line by line.
    """
    changes: list[Run] = []
    lines_a, lines_b = text_a.splitlines(keepends=True), text_b.splitlines(keepends=True)
    work = Work()
    for kind, (a0, a1), (b0, b1) in steps_between(lines_a, lines_b, work):
        if kind == "equal":
            changes.append(("same", False, "".join(lines_a[a0:a1])))
        else:
            changes.extend(_lines_between(lines_a[a0:a1], lines_b[b0:b1], work))
    return _joined(changes)


def _lines_between(left: Sequence[str], right: Sequence[str], work: Work) -> list[Run]:
    changes = _words_between("".join(left), "".join(right), work)
    if MOST_LINES >= len(left) == len(right) > 1 and any(coarse for _kind, coarse, _text in changes):
        pairs = zip(left, right, strict=True)
        return [change for a, b in pairs for change in _words_between(a, b, work)]
    return changes


def steps_between(a: Sequence[str], b: Sequence[str], work: Work) -> list[Step]:
    """difflib's steps from a to b; the ends that are equal and, between them, one "coarse" step where that is too much."""
    if not a or not b or a == b:  # as between most neighbouring anchors, where a matcher costs more than it finds
        return [("equal" if a == b else "replace", (0, len(a)), (0, len(b)))] if a or b else []
    if work.is_enough_for(a, b):
        try:
            matcher = Comparison(a, b, work)
            return [(kind, (a0, a1), (b0, b1)) for kind, a0, a1, b0, b1 in matcher.get_opcodes()]
        except TooDifferent:
            pass
    return _ends_alone(a, b)


def _ends_alone(a: Sequence[str], b: Sequence[str]) -> list[Step]:
    shorter = min(len(a), len(b))
    first = 0
    while first < shorter and a[first] == b[first]:
        first += 1
    end_a, end_b = len(a), len(b)
    while min(end_a, end_b) > first and a[end_a - 1] == b[end_b - 1]:
        end_a, end_b = end_a - 1, end_b - 1
    steps: list[Step] = []
    if first:
        steps.append(("equal", (0, first), (0, first)))
    if end_a > first or end_b > first:
        steps.append(("coarse", (first, end_a), (first, end_b)))
    if end_a < len(a):
        steps.append(("equal", (end_a, len(a)), (end_b, len(b))))
    return steps


def _words_between(left: str, right: str, work: Work) -> list[Run]:
    a, b = _PIECE.findall(left), _PIECE.findall(right)
    try:
        matcher = Comparison(a, b, work, autojunk=len(a) > 4 * PASS_OF_WORDS)
        return _runs(a, b, [(kind, (a0, a1), (b0, b1)) for kind, a0, a1, b0, b1 in matcher.get_opcodes()])
    except TooDifferent:
        if len(a) + len(b) < LONG_PASSAGE:
            return _runs(a, b, steps_between(a, b, work))
        found: list[Run] = []
        at = to = 0
        for next_at, next_to in [*_anchors(a, b), (len(a), len(b))]:
            left_over, right_over = a[at:next_at], b[to:next_to]
            found += _runs(left_over, right_over, steps_between(left_over, right_over, work))
            at, to = next_at, next_to
        return found


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places in both, rising together, from which the same ANCHOR pieces follow that follow nowhere else.

    Of neighbours in a row only the first and the last are named.
    """
    in_a, in_b = _single_runs(a, b)
    rising = _longest_rising(in_b.tolist())
    if not rising:
        return []
    in_a, in_b = in_a[rising], in_b[rising]
    # Between neighbours in both texts nothing can differ.
    apart = np.concatenate(([True], (np.diff(in_a) != 1) | (np.diff(in_b) != 1), [True]))
    named = apart[:-1] | apart[1:]
    return list(zip(in_a[named].tolist(), in_b[named].tolist(), strict=True))


def _longest_rising(numbers: Sequence[int]) -> list[int]:
    """The places of a longest row of rising numbers, all of which differ."""
    # For each length the least end of a row of it, and what stood before each number.
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        if not ends or number > ends[-1]:
            before.append(rows[-1] if rows else -1)
            ends.append(number)
            rows.append(place)
            continue
        length = bisect_left(ends, number)
        before.append(rows[length - 1] if length else -1)
        ends[length], rows[length] = number, place
    found = []
    place = rows[-1] if rows else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    found.reverse()
    return found


def _single_runs(a: Sequence[str], b: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each run of ANCHOR pieces stands that both hold once: in a, in order, and in b."""
    if min(len(a), len(b)) < ANCHOR:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    pieces = np.fromiter(map(numbers.__getitem__, chain(a, b)), np.int64, len(a) + len(b))
    runs, below = pieces, len(numbers)
    for further in range(1, ANCHOR):
        if below * len(numbers) >= LARGEST:
            runs = np.unique(runs, return_inverse=True)[1]
            below = len(runs)
        runs = runs[:-1] * len(numbers) + pieces[further:]
        below *= len(numbers)
    ends = len(a) - ANCHOR + 1  # from here on to len(a) a run would reach from one text into the other
    runs = np.concatenate((runs[:ends], runs[len(a) :]))
    order = np.argsort(runs)
    runs = runs[order]
    first = np.flatnonzero(np.concatenate(([True], runs[1:] != runs[:-1])))
    twice = first[np.diff(np.append(first, len(runs))) == 2]
    places = np.sort(np.stack((order[twice], order[twice + 1])), axis=0)
    in_a, in_b = places[:, (places[0] < ends) & (places[1] >= ends)]
    order = np.argsort(in_a)
    return in_a[order], in_b[order] - ends


def _runs(a: Sequence[str], b: Sequence[str], steps: Iterable[Step]) -> list[Run]:
    found: list[Run] = []
    for kind, (a0, a1), (b0, b1) in steps:
        if kind == "equal":
            found.append(("same", False, "".join(a[a0:a1])))
            continue
        coarse = kind == "coarse"
        if a1 > a0:
            found.append(("only_a", coarse, "".join(a[a0:a1])))
        if b1 > b0:
            found.append(("only_b", coarse, "".join(b[b0:b1])))
    return found


def _joined(runs: Iterable[Run]) -> list[Change]:
    """Neighbours of one kind as one, each text put together once."""
    written = groupby((run for run in runs if run[2]), key=itemgetter(0, 1))
    return [Change(kind, "".join([text for *_, text in run]), coarse) for (kind, coarse), run in written]

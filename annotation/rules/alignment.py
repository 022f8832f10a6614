"""Two long responses side by side: which sections answer each other, and where near-copies differ.

PURE.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from itertools import accumulate, groupby, product
from typing import Literal

import numpy as np

from core.errors import UserError
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


@dataclass(frozen=True)
class Change:
    """A run of text: the same in both, only in A, or only in B.

    `coarse` where a whole passage stands for words that were too many to be compared.
    """

    kind: Literal["same", "only_a", "only_b"]
    text: str
    coarse: bool = False


class TooDifferent(UserError):
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
    b2j: dict[str, list[int]]

    def __init__(self, a: Sequence[str], b: Sequence[str], work: Work, *, autojunk: bool = False) -> None:
        self.work = work
        work.take(SETTING_UP + len(a) + len(b))
        super().__init__(None, a, b, autojunk=autojunk)
        places = {piece: len(found) for piece, found in self.b2j.items()}
        self._before = [0, *accumulate(1 + places.get(piece, 0) for piece in a)]

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        self.work.take(self._before[len(self.a) if ahi is None else ahi] - self._before[alo])
        return super().find_longest_match(alo, ahi, blo, bhi)


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


def word_diff(text_a: str, text_b: str) -> list[Change]:
    """A's and B's text as runs that are the same or in one of them only; leaving one kind out gives the other text.

    Compares lines first and words only within lines that differ, so that 10,000 words take well under a second. A
    passage in which that would cost more than is left of MOST_COMPARED is one coarse change on each side, or, where
    it has as many lines on both and no more than MOST_LINES, is compared line by line.
    """
    changes: list[Change] = []
    lines_a, lines_b = text_a.splitlines(keepends=True), text_b.splitlines(keepends=True)
    work = Work()
    for kind, (a0, a1), (b0, b1) in steps_between(lines_a, lines_b, work):
        if kind == "equal":
            changes.append(Change("same", "".join(lines_a[a0:a1])))
        else:
            changes.extend(_lines_between(lines_a[a0:a1], lines_b[b0:b1], work))
    return _joined(changes)


def _lines_between(left: Sequence[str], right: Sequence[str], work: Work) -> list[Change]:
    changes = _words_between("".join(left), "".join(right), work)
    if MOST_LINES >= len(left) == len(right) > 1 and any(change.coarse for change in changes):
        pairs = zip(left, right, strict=True)
        return [change for a, b in pairs for change in _words_between(a, b, work)]
    return changes


Step = tuple[str, tuple[int, int], tuple[int, int]]


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


def _words_between(left: str, right: str, work: Work) -> list[Change]:
    a, b = _PIECE.findall(left), _PIECE.findall(right)
    try:
        matcher = Comparison(a, b, work, autojunk=len(a) > 4 * PASS_OF_WORDS)
        return _changes(a, b, [(kind, (a0, a1), (b0, b1)) for kind, a0, a1, b0, b1 in matcher.get_opcodes()])
    except TooDifferent:
        if len(a) + len(b) < LONG_PASSAGE:
            return _changes(a, b, steps_between(a, b, work))
        steps: list[Step] = []
        at = 0, 0
        for anchor in [*_anchors(a, b), (len(a), len(b))]:
            between = a[at[0] : anchor[0]], b[at[1] : anchor[1]]
            for kind, (a0, a1), (b0, b1) in steps_between(*between, work):
                start = at[0] + a0, at[1] + b0
                if kind == "equal" and steps and steps[-1][0] == kind:
                    (first_a, _), (first_b, _) = steps.pop()[1:]
                    start = first_a, first_b
                steps.append((kind, (start[0], at[0] + a1), (start[1], at[1] + b1)))
            at = anchor
        return _changes(a, b, steps)


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places in both, rising together, from which the same ANCHOR pieces follow that follow nowhere else.

    Of neighbours in a row only the first and the last are named.
    """
    pairs = _single_runs(a, b)
    # The longest rising row: for each length the least end of a row of it, and what stood before each pair.
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for number, (_at, other) in enumerate(pairs):
        length = bisect_left(ends, other)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [other]
        rows[length : length + 1] = [number]
    found = []
    number = rows[-1] if rows else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    found.reverse()
    return [pair for number, pair in enumerate(found) if not _is_within_a_run(found, number)]


def _single_runs(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Where a run of ANCHOR pieces stands that each holds once: in a, in order, and in b."""
    if min(len(a), len(b)) < ANCHOR:
        return []
    both = [*a, *b]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(both))}
    pieces = np.array([numbers[piece] for piece in both])
    runs, below = pieces, len(numbers)
    for further in range(1, ANCHOR):
        if below * len(numbers) >= LARGEST:
            runs = np.unique(runs, return_inverse=True)[1]
            below = len(runs)
        runs = runs[:-1] * len(numbers) + pieces[further:]
        below *= len(numbers)
    runs = np.unique(runs, return_inverse=True)[1]
    ends = len(a) - ANCHOR + 1  # from here on to len(a) a run would reach from one text into the other
    runs_a, runs_b = runs[:ends], runs[len(a) :]
    count = int(runs.max()) + 1
    once = (np.bincount(runs_a, minlength=count) == 1) & (np.bincount(runs_b, minlength=count) == 1)
    place = np.zeros(count, dtype=np.int64)
    place[runs_b] = np.arange(len(runs_b))
    found = np.flatnonzero(once[runs_a])
    return list(zip(found.tolist(), place[runs_a[found]].tolist(), strict=True))


def _is_within_a_run(pairs: Sequence[tuple[int, int]], number: int) -> bool:
    """Whether the pairs beside it are its neighbours in both texts, so that nothing can differ around it."""
    if not 0 < number < len(pairs) - 1:
        return False
    (a0, b0), (a, b), (a1, b1) = pairs[number - 1 : number + 2]
    return (a - a0, b - b0, a1 - a, b1 - b) == (1, 1, 1, 1)


def _changes(a: Sequence[str], b: Sequence[str], steps: Iterable[Step]) -> list[Change]:
    changes = []
    for kind, (a0, a1), (b0, b1) in steps:
        if kind == "equal":
            changes.append(Change("same", "".join(a[a0:a1])))
            continue
        coarse = kind == "coarse"
        if a1 > a0:
            changes.append(Change("only_a", "".join(a[a0:a1]), coarse))
        if b1 > b0:
            changes.append(Change("only_b", "".join(b[b0:b1]), coarse))
    return changes


def _joined(changes: Sequence[Change]) -> list[Change]:
    """Neighbours of one kind as one, each text put together once."""
    runs = groupby((change for change in changes if change.text), key=lambda change: (change.kind, change.coarse))
    return [Change(kind, "".join(change.text for change in run), coarse) for (kind, coarse), run in runs]

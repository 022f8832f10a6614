"""Two long responses side by side: which sections answer each other, and where near-copies differ.

PURE.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

LIKE_ENOUGH = 0.62
NEAR_DUPLICATE = 0.85
PASS_OF_WORDS = 400

_NUMBER = r"\d+(?:\.\d+)+[\s.:)、]|(?:\d+|[ivxlc]+|[一二三四五六七八九十]+)\s*[.:)、章节部]"
_NUMBERING = re.compile(rf"^\W*(?:(?:part|chapter|section|step|第)?\s*(?:{_NUMBER})\s*)+", re.IGNORECASE)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:['’\-][^\W_{_CJK}]+)*")
_PIECE = re.compile(rf"[{_CJK}]|\s+|[^\W{_CJK}]+|[^\w\s]")


@dataclass(frozen=True)
class Change:
    """A run of text: the same in both, only in A, or only in B."""

    kind: Literal["same", "only_a", "only_b"]
    text: str


def plain_heading(heading: str) -> str:
    """A heading without numbering, marks and case: what it is compared by."""
    bare = _NUMBERING.sub("", heading.strip()) or heading
    return " ".join(_WORD.findall(bare.casefold()))


def likeness(heading_a: str, heading_b: str) -> float:
    """From 0 to 1: how alike two headings are; 0 where either says nothing."""
    a, b = plain_heading(heading_a), plain_heading(heading_b)
    if not a or not b:
        return 0.0
    return 1.0 if a == b else SequenceMatcher(None, a, b, autojunk=False).ratio()


def align_sections(
    headings_a: Sequence[str], headings_b: Sequence[str]
) -> list[tuple[int | None, int | None]]:
    """Pairs of section numbers, in reading order, of which None stands for no counterpart.

    The pairing keeps the order of both and has the greatest sum of likeness; pairs under LIKE_ENOUGH are not made.
    Costs the product of the two numbers of headings.
    """
    rows, columns = len(headings_a), len(headings_b)
    like = [[likeness(a, b) for b in headings_b] for a in headings_a]
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
    lines_a, lines_b = (Counter(text.split()) for text in (text_a, text_b))
    runs = SequenceMatcher(
        None, text_a.split()[:PASS_OF_WORDS], text_b.split()[:PASS_OF_WORDS], autojunk=False
    )
    return lines_a == lines_b or runs.ratio() >= NEAR_DUPLICATE / 2


def word_diff(text_a: str, text_b: str) -> list[Change]:
    """A's and B's text as runs that are the same or in one of them only; leaving one kind out gives the other text.

    Compares lines first and words only within lines that differ, so that 10,000 words take well under a second.
    """
    changes: list[Change] = []
    lines_a, lines_b = text_a.splitlines(keepends=True), text_b.splitlines(keepends=True)
    matcher = SequenceMatcher(None, lines_a, lines_b, autojunk=False)
    for kind, a0, a1, b0, b1 in matcher.get_opcodes():
        left, right = "".join(lines_a[a0:a1]), "".join(lines_b[b0:b1])
        if kind == "equal":
            changes.append(Change("same", left))
        else:
            changes.extend(_words_between(left, right))
    return _joined(changes)


def _words_between(left: str, right: str) -> list[Change]:
    a, b = _PIECE.findall(left), _PIECE.findall(right)
    changes = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(
        None, a, b, autojunk=len(a) > 4 * PASS_OF_WORDS
    ).get_opcodes():
        if kind == "equal":
            changes.append(Change("same", "".join(a[a0:a1])))
            continue
        if a1 > a0:
            changes.append(Change("only_a", "".join(a[a0:a1])))
        if b1 > b0:
            changes.append(Change("only_b", "".join(b[b0:b1])))
    return changes


def _joined(changes: Sequence[Change]) -> list[Change]:
    joined: list[Change] = []
    for change in changes:
        if joined and joined[-1].kind == change.kind:
            joined[-1] = Change(change.kind, joined[-1].text + change.text)
        elif change.text:
            joined.append(change)
    return joined

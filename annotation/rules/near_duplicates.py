"""Groups short texts that say nearly the same, by the words that they share. PURE."""

import re
from collections.abc import Sequence

SAME = 0.5
"""Two texts are near-duplicates from this share of common words on."""
_WORDS = re.compile(r"[a-z0-9]+|[㐀-鿿]+")
_COMMON_WORDS = (
    "a an and any are as at be been by can do does for from has have how if in into is it its no not of on or so than "
    "that the their them there these they this to was were what when where whether which who will with without "
    "answer answers check checks criterion evaluate evaluates measure measures response responses should text texts"
)
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that nearly every criterion has, and which therefore say nothing about what two of them have in common."""


def words_of(text: str) -> frozenset[str]:
    """Return what stands for a text's content: its words in small letters without a plural s and without common
    words, and for Chinese each pair of neighbouring characters (a single character as it is).
    """
    found: set[str] = set()
    for word in _WORDS.findall(text.lower()):
        if word[0] > "z":
            found.update([word] if len(word) == 1 else (word[at : at + 2] for at in range(len(word) - 1)))
        elif word not in _COMMON:
            found.add(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word)
    return frozenset(found)


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Return Dice's coefficient 2·|A ∩ B| / (|A| + |B|), from 0 to 1; 0 where both are empty."""
    size = len(one) + len(other)
    return 2 * len(one & other) / size if size else 0.0


def groups_of(texts: Sequence[tuple[str, str]]) -> list[list[int]]:
    """Group texts, each a (name, explanation), by near-duplicates; the result holds their indices, in order.

    Two are near-duplicates if their names have the same words or if name and explanation together share at least half
    of their words. A text joins the first group of whose members every one is its near-duplicate, so that no chain of
    small differences joins what has nothing in common.
    """
    names = [words_of(name) for name, _explanation in texts]
    wholes = [words_of(f"{name} {explanation}") for name, explanation in texts]

    def near(one: int, other: int) -> bool:
        same_name = bool(names[one]) and names[one] == names[other]
        return same_name or similarity(wholes[one], wholes[other]) >= SAME

    groups: list[list[int]] = []
    for place in range(len(texts)):
        home = next((group for group in groups if all(near(place, member) for member in group)), None)
        if home is None:
            groups.append([place])
        else:
            home.append(place)
    return groups

"""Attention checks: degraded copies of a response, which a rater who reads rates below the original.

PURE.
"""

import re
from enum import StrEnum
from random import Random

from core.errors import UserError

SHORTEST = 40
MOST_SECTIONS = 200
_BREAK = re.compile(r"\n[ \t]*\n+")
_HEADING = re.compile(r"(?m)^#{1,6}[ \t]+\S")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


class Damage(StrEnum):
    CUT = "cut"
    DOUBLED = "doubled"
    SWAPPED = "swapped"


class TooShort(UserError):
    """The text has too little structure for this damage to be noticed."""


def paragraphs(text: str) -> list[str]:
    """Return the parts between blank lines outside fenced code; joined by blank lines they give the text."""
    parts: list[str] = []
    fenced = False
    for piece in _BREAK.split(text.strip()):
        if fenced:
            parts[-1] += "\n\n" + piece
        else:
            parts.append(piece)
        if (piece.count("```") + piece.count("~~~")) % 2:
            fenced = not fenced
    return [part for part in parts if part.strip()]


def cut_end(text: str, random: Random) -> str:
    """Return the text without its last 35 to 55 per cent, so that it ends in the middle of a sentence."""
    whole = text.rstrip()
    if len(whole) < SHORTEST:
        raise TooShort("the text is too short to be cut")
    kept = whole[: round(len(whole) * random.uniform(0.45, 0.65))].rstrip()
    while kept and (kept[-1] in ".!?。！？…\"'”’)" or kept[-1].isspace()):
        kept = kept[:-1]
    if not kept:
        raise TooShort("the text is too short to be cut")
    return kept


def double_paragraph(text: str, random: Random) -> str:
    """Return the text with its longest paragraph, or one nearly as long, repeated a little later."""
    parts = paragraphs(text)
    if len(parts) < 2:
        parts = [piece for piece in _SENTENCE.split(text.strip()) if piece.strip()]
        joined = " "
    else:
        joined = "\n\n"
    longest = max((len(part) for part in parts), default=0)
    long = [place for place, part in enumerate(parts) if len(part) >= 0.6 * longest and not part.startswith("#")]
    if len(parts) < 2 or not long:
        raise TooShort("the text has no two paragraphs")
    place = random.choice(long)
    later = min(len(parts), place + 1 + random.randint(0, 2))
    return joined.join([*parts[:later], parts[place], *parts[later:]])


def swap_sections(text: str, random: Random) -> str:
    """Return the text with two sections exchanged; sections have headings or are thirds of its paragraphs."""
    parts = paragraphs(text)
    starts = [place for place, part in enumerate(parts) if _HEADING.match(part)]
    if len(starts) < 2:
        if len(parts) < 3:
            raise TooShort("the text has no two sections")
        third = len(parts) / 3
        starts = [0, round(third), round(2 * third)]
    ends = [*starts[1:], len(parts)]
    sections = [parts[start:end] for start, end in zip(starts, ends, strict=True)]
    # A text with thousands of sections has millions of pairs; two of the first sections show the damage as well.
    few = range(min(len(sections), MOST_SECTIONS))
    pairs = [
        (first, second) for first in few for second in range(first + 1, len(few)) if sections[first] != sections[second]
    ]
    if not pairs:
        raise TooShort("the text's sections are alike")
    first, second = random.choice(pairs)
    sections[first], sections[second] = sections[second], sections[first]
    return "\n\n".join([*parts[: starts[0]], *(part for section in sections for part in section)])


def degrade(text: str, damage: Damage, random: Random) -> str:
    """Return a damaged copy, which never equals the text. Raises TooShort if no damage would be noticed."""
    work = {Damage.CUT: cut_end, Damage.DOUBLED: double_paragraph, Damage.SWAPPED: swap_sections}[damage]
    damaged = work(text, random)
    if damaged.split() == text.split():
        raise TooShort("the damage changes nothing")
    return damaged

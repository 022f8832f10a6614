"""Bounds on reading speed, and on the time that an answer can have taken by the server's clock.

PURE. Silent reading of English non-fiction averages 238 words per minute; most adults read 175 to 300 (Brysbaert 2019,
doi 10.1016/j.jml.2019.104047). Nobody takes in a text at more than 1,000 words per minute (Rayner, Schotter, Masson,
Potter and Treiman 2016, doi 10.1177/1529100615623267). Chinese and Japanese characters are read about 1.6 times as fast
as words (350 per minute for 220 words, as in the reading times on the rating page).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

FASTEST_WORDS_A_MINUTE = 1000
CHARACTERS_A_WORD = 350 / 220
FEWEST_WORDS = 100
"""In a shorter text a few seconds decide the pace, which says nothing about how it was read."""
TOLERATED_SECONDS = 1.0
"""A browser rounds its clock and may be ahead by this much."""

CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")


@dataclass(frozen=True)
class Bounded:
    """Active and idle seconds that fit into the elapsed time; `claimed` is what the browser reported if it did not fit."""

    active: float | None
    idle: float | None
    claimed: Mapping[str, float] = field(default_factory=dict)


def bounded(active: float | None, idle: float | None, elapsed: float) -> Bounded:
    """Return the times that a browser reports, limited to the time between assignment and answer on the server."""
    said = {"active": active, "idle": idle}
    known = {name: value for name, value in said.items() if value is not None and _is_time(value)}
    passed = max(0.0, elapsed)
    worked = min(known["active"], passed) if "active" in known else None
    rested = min(known["idle"], passed - (worked or 0.0)) if "idle" in known else None
    kept = {"active": worked or 0.0, "idle": rested or 0.0}
    above = any(value > kept[name] + TOLERATED_SECONDS for name, value in known.items())
    return Bounded(worked, rested, {name: round(value, 1) for name, value in known.items()} if above else {})


def _is_time(seconds: float) -> bool:
    return math.isfinite(seconds) and seconds >= 0


def in_words(words: int, characters: int) -> float:
    """Return the length in words of a text with this many words and this many Chinese or Japanese characters."""
    return words + characters / CHARACTERS_A_WORD


def words_a_minute(words: float, seconds: float) -> float:
    """Return the pace, in words per minute, of reading this many words in this many seconds (at least 0.1 s)."""
    return 60 * words / max(seconds, 0.1)


def count_words(text: str) -> tuple[int, int]:
    """Return (number of words written with letters, number of CJK characters)."""
    characters = len(CJK.findall(text))
    return len(_WORD.findall(CJK.sub(" ", text))), characters

"""How fast a text can be read at all, and how much time an answer can have taken by the server's own clock.

PURE. Silent reading of English non-fiction averages 238 words a minute, most adults between 175 and 300 (Brysbaert 2019,
doi 10.1016/j.jml.2019.104047). Nobody takes in a text at more than 1,000 words a minute (Rayner, Schotter, Masson, Potter
and Treiman 2016, doi 10.1177/1529100615623267). Chinese and Japanese characters are read about 1.6 times as fast as words
(350 a minute for 220 words, as in the reading times that the rating page shows).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

FASTEST_WORDS_A_MINUTE = 1000
CHARACTERS_A_WORD = 350 / 220
FEWEST_WORDS = 100
"""In shorter texts a few seconds decide, which says nothing of how they were read."""
TOLERATED_SECONDS = 1.0
"""A browser rounds its clock, and may be ahead by as much."""


@dataclass(frozen=True)
class Bounded:
    """Seconds at work and at rest that fit into the time that passed; `claimed` is what was said where it did not fit."""

    active: float | None
    idle: float | None
    claimed: Mapping[str, float] = field(default_factory=dict)


def bounded(active: float | None, idle: float | None, elapsed: float) -> Bounded:
    """What a browser says of its rater's time, at most what the server saw pass between hand-out and answer."""
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
    """The length of a text of so many words and so many Chinese or Japanese characters, in words."""
    return words + characters / CHARACTERS_A_WORD


def words_a_minute(words: float, seconds: float) -> float:
    """The pace at which so many words would have been read in so many seconds; at least a tenth of a second counts."""
    return 60 * words / max(seconds, 0.1)

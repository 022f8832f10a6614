"""When a rater's next task is one that measures the rater: at a rate kept exactly, spread evenly, without a coin.

PURE. A rater's tasks are numbered from 1. After n of them, floor(n * rate + phase) are due, so that any
1/rate tasks in a row hold exactly one; the phase differs from rater to rater and fills [0, 1) evenly over a study,
so that its total keeps the rate too, however few tasks each rater does.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random

GOLDEN_64 = 0x9E3779B97F4A7C15
ATTEMPTS = 3


@dataclass(frozen=True)
class Rate:
    """One kind of check: how often, and from where a rater starts counting (0 <= phase < 1)."""

    share: Fraction
    phase: Fraction


@dataclass(frozen=True)
class Given:
    """How many tasks of a kind a rater has had, and the number of the latest (0: none yet)."""

    count: int
    last: int


def phase_of(seed: int, rater: int, kind: str) -> Fraction:
    """The phase of a rater's checks of a kind: steps of the golden ratio from a start that the seed draws."""
    start = Random(f"{seed}:{kind}").getrandbits(64)
    return Fraction((start + rater * GOLDEN_64) % 2**64, 2**64)


def due(number: int, rate: Rate) -> int:
    """How many of the rater's first `number` tasks are to be checks of this kind."""
    return math.floor(max(0, number) * rate.share + rate.phase)


def is_due(number: int, rate: Rate, given: Given, *, insist: bool) -> bool:
    """Whether task `number` is to be a check of this kind.

    One that could not be given in its place is made up for later, at no more than twice the rate. Without `insist`
    it is tried for only in its place and the few after it.
    """
    if not rate.share or due(number, rate) <= given.count:
        return False
    if given.last and number - given.last < math.floor(1 / (2 * rate.share)):
        return False
    return insist or due(number, rate) > due(number - ATTEMPTS, rate)


def kinds_due(
    number: int, rates: Mapping[str, Rate], given: Mapping[str, Given], *, insist: frozenset[str] = frozenset()
) -> list[str]:
    """The kinds of check that task `number` may be, those owed the longest first; never two checks in a row.

    Kinds in `insist` can wait, and so come after the others.
    """
    if any(had.last and had.last >= number - 1 for had in given.values()):
        return []
    owed = [kind for kind, rate in rates.items() if is_due(number, rate, given[kind], insist=kind in insist)]

    def urgency(kind: str) -> tuple[bool, Fraction]:
        return kind in insist, (given[kind].count - rates[kind].phase) / rates[kind].share

    return sorted(owed, key=urgency)

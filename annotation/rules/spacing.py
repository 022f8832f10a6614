"""The schedule of quality checks: an exact rate, spread evenly, without chance.

PURE. A rater's tasks are numbered from 1. After n tasks, floor(n * rate + phase) checks are due, so any 1/rate
consecutive tasks contain exactly one. The phase differs between raters and fills [0, 1) evenly over a study, so the
total also keeps the rate, however few tasks each rater does.
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
    """The rate of one kind of check, and the phase at which a rater starts counting (0 <= phase < 1)."""

    share: Fraction
    phase: Fraction


@dataclass(frozen=True)
class Given:
    """The number of tasks of a kind that a rater has had, and the number of the latest (0 if there is none)."""

    count: int
    last: int


def phase_of(seed: int, rater: int, kind: str) -> Fraction:
    """Return the phase of a rater's checks of a kind: golden-ratio steps from a start that the seed draws."""
    start = Random(f"{seed}:{kind}").getrandbits(64)
    return Fraction((start + rater * GOLDEN_64) % 2**64, 2**64)


def due(number: int, rate: Rate) -> int:
    """Return how many of the rater's first `number` tasks are to be checks of this kind."""
    return math.floor(max(0, number) * rate.share + rate.phase)


def is_due(number: int, rate: Rate, given: Given, *, insist: bool) -> bool:
    """Return whether task `number` is to be a check of this kind.

    A check that could not be given at its place is made up for later, at no more than twice the rate. Without `insist`,
    it is tried only at its place and in the few tasks after it.
    """
    if not rate.share or due(number, rate) <= given.count:
        return False
    if given.last and number - given.last < math.floor(1 / (2 * rate.share)):
        return False
    return insist or due(number, rate) > due(number - ATTEMPTS, rate)


def kinds_due(
    number: int, rates: Mapping[str, Rate], given: Mapping[str, Given], *, insist: frozenset[str] = frozenset()
) -> list[str]:
    """Return the kinds of check that task `number` may be, the longest overdue first.

    Two checks never follow each other. Kinds in `insist` can wait and therefore come last.
    """
    if any(had.last and had.last >= number - 1 for had in given.values()):
        return []
    owed = [kind for kind, rate in rates.items() if is_due(number, rate, given[kind], insist=kind in insist)]

    def urgency(kind: str) -> tuple[bool, Fraction]:
        return kind in insist, (given[kind].count - rates[kind].phase) / rates[kind].share

    return sorted(owed, key=urgency)

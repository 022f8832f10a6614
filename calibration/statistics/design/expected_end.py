"""When the ratings that are still needed will have been given, if raters go on as they did recently. PURE."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from calibration.statistics.errors import TooFewRatings

FEWEST_PERIODS = 3
FEWEST_RATINGS = 10
LEVEL = 0.8
FARTHEST = 10_000.0
"""Periods beyond which no end is stated."""


@dataclass(frozen=True)
class ExpectedEnd:
    """The mean number of ratings in a period, and when the rest will have been given, in periods from now.

    `latest` is None where the recent periods do not say that there will be an end at all.
    """

    mean: float
    earliest: float
    latest: float | None


def expected_end(counts: Sequence[int], *, remaining: int, level: float = LEVEL) -> ExpectedEnd:
    """Predict when `remaining` ratings will have been given, from the ratings in each of the latest equal periods (k,).

    The number of ratings in the next h periods is h times the mean, with the variance of a sum of h further periods of
    the same kind and of the mean itself: s^2 (h + h^2 / k). The range has Student's t with k - 1 degrees of freedom, at
    `level` (0 to 1). It says nothing about holidays, or raters who stop. Raises TooFewRatings.
    """
    if len(counts) < FEWEST_PERIODS:
        raise TooFewRatings(len(counts), FEWEST_PERIODS, "periods")
    if sum(counts) < FEWEST_RATINGS:
        raise TooFewRatings(int(sum(counts)), FEWEST_RATINGS)
    from scipy.special import stdtrit

    mean, spread = float(np.mean(counts)), float(np.std(counts, ddof=1))
    width = float(stdtrit(len(counts) - 1, 0.5 + level / 2)) * spread
    k = len(counts)

    def given(periods: float, side: int) -> float:
        return periods * mean + side * width * sqrt(periods + periods * periods / k)

    earliest = _first(lambda periods: given(periods, 1) >= remaining)
    latest = _first(lambda periods: given(periods, -1) >= remaining)
    return ExpectedEnd(mean, earliest if earliest is not None else FARTHEST, latest)


def _first(reached: Callable[[float], bool]) -> float | None:
    """The smallest number of periods that reaches the rest, None where FARTHEST do not."""
    low, high = 0.0, 1.0
    while not reached(high):
        low, high = high, high * 2
        if high > FARTHEST:
            return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high

"""Two rankings of the same models: Pearson, Spearman and Kendall, with p values and intervals for few models. PURE.

Models are the units: each is one pair of scores, and no instruction is drawn again. Under 6 models only the values are
stated. From 6 to 9, p is exact, by enumeration of all orders with ties kept, and the range over leaving one model out
stands in place of an interval. From 10 on, intervals are on Fisher's scale, with variance 1/(n - 3) for Pearson,
(1 + r^2/2)/(n - 3) for Spearman (Bonett and Wright 2000) and .437/(n - 4) for Kendall (Fieller, Hartley and Pearson
1957), and p inverts the interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import atanh, factorial, prod, sqrt, tanh
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.rater_correlations import product_moment
from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.resampling import FloatArray, IntArray
from calibration.statistics.ties import descending, settle_ties

LEAST = 3
EXACT_FROM, FISHER_FROM = 6, 10
"""The fewest models for an exact p, and for an interval."""
NORMAL_95 = 1.959963984540054
ROUNDING = 1e-12

RankIntervalKind: TypeAlias = Literal["fisher95", "leave_one_out_range", "none"]


@dataclass(frozen=True)
class RankCoefficient:
    """A correlation of models, -1 to 1. `p` is two-sided against no association, None where none is stated.

    With `kind` "none" there are no ends. A range over leaving one out has no probability.
    """

    value: float
    p: float | None
    low: float | None
    high: float | None
    kind: RankIntervalKind


@dataclass(frozen=True)
class RankCorrelations:
    """Pearson's r, Spearman's rho and Kendall's tau-b of `n` models."""

    pearson: RankCoefficient
    spearman: RankCoefficient
    kendall: RankCoefficient
    n: int


Statistic: TypeAlias = Callable[[FloatArray, FloatArray], float]


def rank_correlations(x: FloatArray, y: FloatArray) -> RankCorrelations:
    """Correlate the scores x (n,) of n models with their other scores y (n,).

    Scores that differ only by the rounding of a mean are tied. Enumerating nine models takes about a second. Raises
    TooFewRatings under three models, ConstantScores where x or y never varies.
    """
    a, b = settle_ties(np.asarray(x, dtype=np.float64)), settle_ties(np.asarray(y, dtype=np.float64))
    if a.size != b.size:
        raise ValueError(f"{a.size} scores against {b.size}; give both of each model.")
    if a.size < LEAST:
        raise TooFewRatings(int(a.size), LEAST, "models")
    for what, values in (("scores compared", a), ("scores compared against", b)):
        if np.ptp(values) == 0:
            raise ConstantScores(what, float(values[0]))
    exact = _exact_p(a, b) if EXACT_FROM <= a.size < FISHER_FROM else (None, None, None)
    pearson, spearman, kendall = (
        _coefficient(statistic, variance, a, b, p) for (statistic, variance), p in zip(STATISTICS, exact, strict=True)
    )
    return RankCorrelations(pearson, spearman, kendall, n=int(a.size))


def best_of(scores: FloatArray, n: int) -> IntArray:
    """Return the places of the n highest scores, best first; models tied with the last of them are in as well."""
    ordered = descending(np.asarray(scores, dtype=np.float64))
    if n >= ordered.size:
        return ordered
    settled = settle_ties(np.asarray(scores, dtype=np.float64))
    return np.asarray(ordered[settled[ordered] >= settled[ordered[n - 1]]], dtype=np.int64)


def _pearson(x: FloatArray, y: FloatArray) -> float:
    return product_moment(x, y)


def _spearman(x: FloatArray, y: FloatArray) -> float:
    return product_moment(_mid_ranks(x), _mid_ranks(y))


def _kendall(x: FloatArray, y: FloatArray) -> float:
    """Tau-b: concordant minus discordant pairs, over the geometric mean of the pairs untied in each."""
    signs = [np.sign(values[:, None] - values[None, :]) for values in (x, y)]
    net = float((signs[0] * signs[1]).sum())
    return net / sqrt(float((signs[0] ** 2).sum()) * float((signs[1] ** 2).sum()))


STATISTICS: Sequence[tuple[Statistic, Callable[[float, int], float]]] = (
    (_pearson, lambda _value, n: 1 / (n - 3)),
    (_spearman, lambda value, n: (1 + value**2 / 2) / (n - 3)),
    (_kendall, lambda _value, n: 0.437 / (n - 4)),
)
"""Each statistic with the variance of its Fisher transform."""


def _mid_ranks(values: FloatArray) -> FloatArray:
    """Rank from 1 for the lowest; tied values share the mean of their ranks."""
    below = (values[:, None] > values[None, :]).sum(axis=1)
    level = (values[:, None] == values[None, :]).sum(axis=1)
    return np.asarray(below + (level + 1) / 2, dtype=np.float64)


def _coefficient(
    statistic: Statistic, variance: Callable[[float, int], float], x: FloatArray, y: FloatArray, exact: float | None
) -> RankCoefficient:
    value, n = statistic(x, y), int(x.size)
    if n < EXACT_FROM:
        return RankCoefficient(value, None, None, None, "none")
    if n < FISHER_FROM:
        left = _leaving_one_out(statistic, x, y)
        if left is None:
            return RankCoefficient(value, exact, None, None, "none")
        return RankCoefficient(value, exact, min(left), max(left), "leave_one_out_range")
    if abs(value) >= 1 - ROUNDING:
        # Fisher's scale ends here: an interval from 1 to 1 would claim what n models cannot show.
        return RankCoefficient(value, _p_of_identical(x), None, None, "none")
    error = sqrt(variance(value, n))
    centre = atanh(value)
    low, high = tanh(centre - NORMAL_95 * error), tanh(centre + NORMAL_95 * error)
    return RankCoefficient(value, _two_sided(centre / error), low, high, "fisher95")


def _leaving_one_out(statistic: Statistic, x: FloatArray, y: FloatArray) -> list[float] | None:
    """Return the values without each model; None where the others are then all alike."""
    values = []
    for place in range(x.size):
        a, b = np.delete(x, place), np.delete(y, place)
        if np.ptp(a) == 0 or np.ptp(b) == 0:
            return None
        values.append(statistic(a, b))
    return values


def _two_sided(z: float) -> float:
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(z)))


def _p_of_identical(x: FloatArray) -> float:
    """Return the share of all orders that agree perfectly, in either direction, where one does: 2 / n! without ties."""
    _, counts = np.unique(x, return_counts=True)
    return min(1.0, 2 * prod(factorial(int(n)) for n in counts) / factorial(int(x.size)))


def _exact_p(x: FloatArray, y: FloatArray) -> tuple[float, float, float]:
    """Return the share of all n! orders of y with a correlation at least as far from 0, for each statistic."""
    n = int(x.size)
    orders = np.array(list(permutations(range(n))), dtype=np.int8)
    found = []
    for a, b in ((x, y), (_mid_ranks(x), _mid_ranks(y))):
        products = (b - b.mean())[orders] @ (a - a.mean())
        found.append(_share(products, float((a - a.mean()) @ (b - b.mean()))))
    signs = np.sign(y[:, None] - y[None, :])
    net = np.zeros(len(orders))
    for i in range(n):
        for j in range(i):
            net += np.sign(x[i] - x[j]) * signs[orders[:, i], orders[:, j]]
    found.append(_share(net, float(net[0])))
    return found[0], found[1], found[2]


def _share(drawn: FloatArray, observed: float) -> float:
    """The first order is the observed one, so that the share is never 0."""
    least = abs(observed) - ROUNDING * max(1.0, float(np.abs(drawn).max()))
    return float((np.abs(drawn) >= least).mean())

"""Which instructions people should rate next, and what may be estimated from such a draw. PURE.

Labels are worth most where a judge is least sure. Each instruction, with all responses of the models compared, is drawn
independently with its own probability (Poisson sampling), frozen before the draw. People's mean is then estimated by active
statistical inference (Zrnic and Candes 2024, arXiv 2403.03208): the mean of f over all N instructions plus the weighted mean
of people's score - f over those drawn, with weights 1/probability, normalised by their sum (Hajek 1971). f is a line in the
judge's score, fitted to other drawn instructions (five folds) with the same weights. However badly the judge does, the
estimate stays right, because chance decides; instructions chosen by hand have no probability and are never part of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from calibration.statistics.errors import NoStatistic, TooFewRatings, out_of_range
from calibration.statistics.judges.between_models import PROMISED, folds, half_width
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, Labels, cluster_codes

FOLDS = 5
FLOOR = 0.2
"""Least probability of an instruction, as a share of that of uniform sampling: no error of a judge can hide for good."""
GROUPS = 5


@dataclass(frozen=True)
class RoutedMean:
    """People's mean over such instructions, with its 95 % ends by Student's t.

    `pool_variance` is that of the `pool` instructions being a draw, `label_variance` that of rating `n` of them, where
    `expected` were to be drawn. `effective_n` is (sum of weights)^2/sum of squared weights. `residual` is the variance of
    people's score - f. `saved` is the share of the labels of a uniform draw, as precise with the same f, that these are
    fewer: below 0 where routing costs labels.
    """

    value: float
    low: float
    high: float
    pool_variance: float
    label_variance: float
    n: int
    pool: int
    expected: float
    effective_n: float
    residual: float
    saved: float


def drawing_probabilities(
    spread: FloatArray, budget: float, *, strata: Labels | None = None, floor: float = FLOOR
) -> FloatArray:
    """The probability (N,) of drawing each instruction, with sum `budget` where none has to be 1 for sure.

    `spread` (N,) is how unsure the judge is of each: the standard deviation over a panel or over repeats, or that of a soft
    verdict. Instructions of one stratum have one probability, in proportion to the root mean square of their spreads (Neyman
    1934); without `strata` (N,) these are the fifths of the spread. No probability is below floor x budget/N. Raises
    NoStatistic for spreads that are negative or not finite, and Undefined (OutOfRange) for a budget that is not above 0
    and at most N.
    """
    values = np.asarray(spread, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
        raise NoStatistic(
            "Spreads must be finite numbers of 0 or more; leave out the instructions that were not judged."
        )
    n = values.size
    if not 0 < budget <= n:
        raise out_of_range("The number of instructions to rate", 0, n, budget)
    codes, _ = cluster_codes(_fifths(values) if strata is None else strata)
    if codes.size != n:
        raise ValueError(f"{codes.size} strata for {n} instructions; give one for each.")
    typical = np.sqrt(np.bincount(codes, weights=values**2) / np.bincount(codes))
    wanted = typical[codes] if typical.any() else np.ones(n)
    least = floor * budget / n
    # The factor that makes the clipped probabilities sum to the budget, by bisection: the sum grows with it.
    low, high = 0.0, (1.0 / wanted[wanted > 0].min()) if (wanted > 0).any() else 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(middle * wanted, least, 1.0).sum() < budget else (low, middle)
    return np.asarray(np.clip(high * wanted, least, 1.0), dtype=np.float64)


@dataclass(frozen=True)
class ExpectedSaving:
    """The share of the labels of a uniform draw, equally precise with the same f, that a draw would save; below 0 it costs.

    `at_best`: where the people's deviations from f are in proportion to the spread; `if_unrelated`: where they have nothing
    to do with it. `measured` on the `n` instructions that people have rated already, with 95 % ends (delete-one jackknife
    over instructions); None where there are fewer than 20.
    """

    at_best: float
    if_unrelated: float
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


def expected_saving(
    spread: FloatArray, probability: FloatArray, squared: FloatArray | None = None, rated: FloatArray | None = None
) -> ExpectedSaving:
    """What a draw with `probability` (N,) is expected to save, from the `spread` (N,) and earlier ratings.

    `squared` (n,) are squared deviations of people's scores from f on instructions that were rated, whose probabilities in
    this draw are `rated` (n,). With p the mean probability, the share saved is 1 - p sum(s^2/probability)/sum(s^2), where
    s^2 is the variance about f of each instruction: the ratio of the label variances of the two draws.
    """
    p = float(probability.mean())

    def saving(square: FloatArray, chance: FloatArray) -> float:
        total = float(square.sum())
        return 1 - p * float((square / chance).sum()) / total if total > 0 else 0.0

    best, unrelated = saving(spread**2, probability), saving(np.ones(probability.size), probability)
    if squared is None or rated is None or squared.size < MIN_CLUSTERS or not squared.any():
        return ExpectedSaving(best, unrelated, n=0 if squared is None else int(squared.size))
    n = int(squared.size)
    value = saving(squared, rated)
    total, weighted = float(squared.sum()), float((squared / rated).sum())
    without = total - squared
    if not (without > 0).all():
        return ExpectedSaving(best, unrelated, n=n)
    replicates = 1 - p * (weighted - squared / rated) / without
    variance = (n - 1) / n * float(((replicates - replicates.mean()) ** 2).sum())
    reach = half_width(variance, n - 1)
    return ExpectedSaving(best, unrelated, value, value - reach, value + reach, n)


def chance_of_too_few(probability: FloatArray, least: int = MIN_CLUSTERS) -> float:
    """The probability that fewer than `least` instructions are drawn (Poisson binomial distribution, by convolution)."""
    counts = np.zeros(least)
    counts[0] = 1.0
    for chance in probability.tolist():
        counts[1:] = counts[1:] * (1 - chance) + counts[:-1] * chance
        counts[0] *= 1 - chance
    return float(min(1.0, counts.sum()))


def simultaneous_ends(one: RoutedMean, *, of: int = 1) -> tuple[float, float]:
    """The 95 % ends of the estimate, where `of` such intervals shall hold together (Bonferroni)."""
    return _ends(one.value, one.pool_variance + one.label_variance, max(one.effective_n - 1, 1.0), of)


def uniform_ends(one: RoutedMean, *, of: int = 1) -> tuple[float, float]:
    """The 95 % ends that a uniform draw of as many instructions would have given about the same value, with the same f."""
    label = one.residual * max(1 / one.n - 1 / one.pool, 0.0)
    return _ends(one.value, one.pool_variance + label, max(one.n - 1, 1.0), of)


def _ends(value: float, variance: float, freedom: float, of: int) -> tuple[float, float]:
    from scipy.special import stdtrit

    reach = float(stdtrit(freedom, 1 - (1 - PROMISED) / 2 / max(of, 1))) * sqrt(variance)
    return value - reach, value + reach


def draw(probability: FloatArray, seed: int) -> BoolArray:
    """Which instructions (N,) are drawn, each independently with its probability."""
    return np.asarray(np.random.default_rng(seed).random(probability.size) < probability, dtype=np.bool_)


def routed_mean(judge: FloatArray, people: FloatArray, probability: FloatArray, *, seed: int = 0) -> RoutedMean:
    """People's mean from those drawn: `people` (N,) is nan where an instruction was not drawn, `judge` (N,) is known of all.

    Both are of one model, or differences of two models, by instruction; `probability` (N,) is that of the draw. A drawn
    instruction whose ratings are not all in must not be left as nan: wait for it, or the estimate is not of chance alone.
    Raises TooFewRatings under 20 drawn instructions and Undefined (OutOfRange) for a probability that is not above 0 and
    at most 1.
    """
    x, y, pi = (np.asarray(one, dtype=np.float64) for one in (judge, people, probability))
    if x.ndim != 1 or x.shape != y.shape or x.shape != pi.shape:
        raise ValueError("Judge scores, people's scores and probabilities differ in number; give one of each.")
    if not np.isfinite(x).all() or np.isinf(y).any():
        raise NoStatistic("Scores must be finite numbers; leave out the instructions that the judge did not score.")
    if not ((pi > 0) & (pi <= 1)).all():
        raise out_of_range("Probabilities", 0, 1, float(pi[~((pi > 0) & (pi <= 1))][0]))
    drawn = np.flatnonzero(~np.isnan(y))
    n, pool = int(drawn.size), x.size
    if n < MIN_CLUSTERS:
        raise TooFewRatings(n, MIN_CLUSTERS, "instructions that were drawn and rated")
    weight = 1 / pi[drawn]
    fold = folds(np.arange(n), np.arange(n), FOLDS, seed)
    predicted, everywhere = np.zeros(n), np.zeros(pool)
    for number in range(FOLDS):
        rest = fold != number
        slope, intercept = _weighted_line(x[drawn][rest], y[drawn][rest], weight[rest])
        predicted[~rest] = intercept + slope * x[drawn][~rest]
        everywhere += (intercept + slope * x) / FOLDS
    # No instruction is predicted by a line that its own ratings shaped.
    everywhere[drawn] = predicted
    left = y[drawn] - predicted
    total = float(weight.sum())
    beyond = float(weight @ left) / total
    value = float(everywhere.mean()) + beyond
    few = n / (n - 1)
    apart = (left - beyond) ** 2
    label_variance = few * float(((1 - pi[drawn]) * weight**2) @ apart) / total**2
    centre = float(weight @ y[drawn]) / total
    pool_variance = few * float(weight @ (y[drawn] - centre) ** 2) / total / pool
    residual = few * float(weight @ apart) / total
    effective = total**2 / float(weight @ weight)
    expected = float(pi.sum())
    return _stated(value, pool_variance, label_variance, n, pool, expected, effective, residual)


def _stated(
    value: float,
    pool_variance: float,
    label_variance: float,
    n: int,
    pool: int,
    expected: float,
    effective: float,
    residual: float,
) -> RoutedMean:
    reach = half_width(pool_variance + label_variance, max(effective - 1, 1.0))
    # A uniform draw of m of N has the label variance residual (1/m - 1/N).
    saved = 1 - expected * (label_variance / residual + 1 / pool) if residual > 0 else 0.0
    ends = value - reach, value + reach
    return RoutedMean(value, *ends, pool_variance, label_variance, n, pool, expected, effective, residual, saved)


def combined(batches: Sequence[RoutedMean]) -> RoutedMean:
    """Batches drawn from one pool with other probabilities, weighted by the inverse of their label variances.

    The pool's own variance is common to them and is not averaged away. Raises NoStatistic without any batch.
    """
    if not batches:
        raise NoStatistic("There is no batch whose ratings are all in; wait until one is.")
    if len(batches) == 1:
        return batches[0]
    # A batch of the whole pool has no label variance, and leaves the others no weight.
    inverse = np.array([1 / max(one.label_variance, 1e-300) for one in batches])
    share = inverse / inverse.sum()
    value = float(share @ [one.value for one in batches])
    label = float(1 / inverse.sum())
    pool = float(share @ [one.pool_variance for one in batches])
    return _stated(
        value,
        pool,
        label,
        sum(one.n for one in batches),
        batches[0].pool,
        sum(one.expected for one in batches),
        sum(one.effective_n for one in batches),
        float(share @ [one.residual for one in batches]),
    )


def _fifths(values: FloatArray) -> FloatArray:
    ends = np.quantile(values, np.arange(1, GROUPS) / GROUPS)
    return np.asarray(np.searchsorted(ends, values, side="right"), dtype=np.float64)


def _weighted_line(x: FloatArray, y: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Slope and intercept of y on x by weighted least squares; a slope of 0 where x is constant."""
    share = weight / weight.sum()
    mean_x, mean_y = float(share @ x), float(share @ y)
    spread = float(share @ (x - mean_x) ** 2)
    slope = float(share @ ((x - mean_x) * (y - mean_y))) / spread if spread > 1e-12 else 0.0
    return slope, mean_y - slope * mean_x

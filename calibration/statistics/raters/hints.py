"""How much scores change where raters do not see an instruction's hint. PURE.

LLMEval (arXiv 2312.07398), figure 4, prints the mean score without hints in percent of that with hints.
"""

from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.populations import CrossedVariance, TaskSums, crossed_variance
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray, Labels, cluster_codes, cluster_intervals
from calibration.statistics.shares import Share


@dataclass(frozen=True)
class HintEffect:
    """Mean scores of `units` that were answered both with and without the hint, each unit counting once.

    `difference` is without minus with, on the scores' own scale; `percent` is 100 x (without/with - 1), above 0 where
    raters are more lenient without the hint.
    """

    units: int
    shown: float
    hidden: float
    difference: Share
    percent: Share


def hint_effect(
    score: FloatArray, hinted: BoolArray, units: IntArray, *, clusters: Labels, draws: int = 0, seed: int = 0
) -> HintEffect:
    """Return the effect over the units, such as tasks, with scores of both kinds; arrays of shape (n,).

    Comparing within units keeps the effect apart from what was shown to whom. The interval resamples whole `clusters`,
    (n,), such as instructions. Raises TooFewRatings where no unit has both kinds.
    """
    pks, place = np.unique(units, return_inverse=True)
    place = place.reshape(-1)
    k = pks.size
    counts = [np.bincount(place[mask], minlength=k) for mask in (hinted, ~hinted)]
    both = (counts[0] > 0) & (counts[1] > 0)
    if not both.any():
        raise TooFewRatings(0, 1, "tasks answered both with and without the hint")
    shown, hidden = (
        np.bincount(place[mask], weights=score[mask], minlength=k)[both] / count[both]
        for mask, count in zip((hinted, ~hinted), counts, strict=True)
    )
    codes, _k = cluster_codes(clusters)
    of_unit = np.zeros(k, dtype=np.int64)
    of_unit[place] = codes
    used, own = np.unique(of_unit[both], return_inverse=True)
    own = own.reshape(-1)
    columns = (shown, hidden, np.ones(shown.size))
    sums = np.column_stack([np.bincount(own, weights=column, minlength=used.size) for column in columns])

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        total = drawn @ sums
        defined = total[:, 0] > 0
        ratio = total[:, 1] / np.where(defined, total[:, 0], 1.0)
        return np.column_stack([(total[:, 1] - total[:, 0]) / total[:, 2], 100 * (ratio - 1)]), defined

    values, ends = cluster_intervals(statistic, used.size, draws=draws, seed=seed)
    shares = [
        Share(float(values[at]), float(ends.low[at]), float(ends.high[at]), ends.kind, ends.clusters, ends.draws)
        for at in (0, 1)
    ]
    return HintEffect(int(both.sum()), float(shown.mean()), float(hidden.mean()), shares[0], shares[1])


def hint_variance(
    score: FloatArray, hinted: BoolArray, units: IntArray, *, raters: Labels, instructions: Labels, seed: int = 0
) -> CrossedVariance:
    """Variances of the difference and of the change in percent (see hint_effect), in this order.

    Leaving out a rater leaves a unit out too, where that rater gave its only score of one kind. Raises TooFewRatings,
    NoStatistic.
    """
    unit = np.unique(units, return_inverse=True)[1].reshape(-1).astype(np.int64)
    order = np.argsort(unit, kind="stable")
    unit, seen, given = unit[order], np.asarray(hinted, dtype=np.bool_)[order], np.asarray(score)[order]
    rater, instruction = cluster_codes(raters)[0][order], cluster_codes(instructions)[0][order]
    m = int(unit.max()) + 1
    column = np.where(seen, 0, 1)
    counts, totals = np.zeros((m, 2)), np.zeros((m, 2))
    np.add.at(counts, (unit, column), 1.0)
    np.add.at(totals, (unit, column), given)
    if not (counts > 0).all(axis=1).any():
        raise TooFewRatings(0, 1, "tasks answered both with and without the hint")
    of_unit = np.zeros(m, dtype=np.int64)
    of_unit[unit] = cluster_codes(instruction)[0]

    def adds(n: FloatArray, total: FloatArray) -> FloatArray:
        both = np.asarray((n > 0).all(axis=1), dtype=np.float64)
        found = np.column_stack([total / np.maximum(n, 1.0), np.ones(len(n))]) * both[:, None]
        return np.asarray(found, dtype=np.float64)

    def whole(start: int, end: int) -> FloatArray:
        return adds(counts[start:end], totals[start:end])

    def without(start: int, end: int) -> FloatArray:
        n, total = counts[unit[start:end]], totals[unit[start:end]]
        lines = np.arange(end - start)
        n[lines, column[start:end]] -= 1
        total[lines, column[start:end]] -= given[start:end]
        return adds(n, total)

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        some = (sums[:, 2] > 0.5) & (sums[:, 0] > 0)
        shown, n = np.where(some, sums[:, 0], 1.0), np.where(some, sums[:, 2], 1.0)
        return np.column_stack([(sums[:, 1] - sums[:, 0]) / n, 100 * (sums[:, 1] / shown - 1)]), some

    first = np.searchsorted(unit, np.arange(m + 1))
    return crossed_variance(TaskSums(of_unit, rater, first, 3, whole, without), statistic, seed=seed)

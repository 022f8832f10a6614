"""Correlations of people, for these raters and for raters like them: intraclass, and between pairs of raters. PURE.

Every function takes one line per rating: tasks, raters and instructions are integer codes; a task belongs to one
instruction, and a rater rates a task once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.kappas import PairWeights, cohen_of_tables, cohen_statistic
from calibration.statistics.agreement.rating_tables import level_codes, sum_by
from calibration.statistics.codes import numbered
from calibration.statistics.errors import NoStatistic, TooFewRatings
from calibration.statistics.populations import (
    CrossedVariance,
    IntervalEnds,
    TaskSums,
    crossed_variance,
    named_variance,
    these_raters,
)
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray

LEAST_RATERS = 3
LEAST_COMMON = 3
"""Tasks that two raters must share for a correlation between them."""


@dataclass(frozen=True)
class PairAgreement:
    """Two raters, by their codes: Pearson's correlation and Cohen's kappa over their `n` common tasks.

    Both are of named raters, so that their ends are for these raters. nan where a coefficient is undefined (one of the
    two never varies) or its ends are not stated (fewer than 20 common instructions).
    """

    first: int
    second: int
    n: int
    instructions: int
    pearson: float
    pearson_low: float
    pearson_high: float
    kappa: float
    kappa_low: float
    kappa_high: float


def icc_variance(
    tasks: IntArray, raters: IntArray, values: FloatArray, instructions: IntArray, *, seed: int = 0
) -> CrossedVariance:
    """Variances of ICC(1), ICC(2,1) and ICC(2,k), in this order, of a complete table (see icc).

    A table without one cell is no longer complete; there the components of variance come from Henderson's (1953) first
    method, which is the analysis of variance where the table is complete. Raises NoStatistic.
    """
    lines = _Lines.of(tasks, raters, values, instructions)
    width = lines.n_raters

    def sums_of(present: BoolArray, scores: FloatArray) -> FloatArray:
        n = present.sum(axis=1).astype(np.float64)
        total = scores.sum(axis=1)
        square = (scores**2).sum(axis=1)
        parts = [np.ones(len(n)), n, n**2, total**2 / np.maximum(n, 1.0), square]
        found = np.column_stack([*parts, present, scores])
        return np.where(n[:, None] > 0, found, 0.0)

    return crossed_variance(
        lines.sums(sums_of, 5 + 2 * width), lambda sums: _intraclass(sums, width), least_raters=LEAST_RATERS, seed=seed
    )


def pair_correlation_variance(
    tasks: IntArray, raters: IntArray, values: FloatArray, instructions: IntArray, *, seed: int = 0
) -> CrossedVariance:
    """Variances of the mean of Pearson's correlations of all pairs of raters, weighted by their common tasks.

    Pairs with fewer than three common tasks, or with a rater who never varies on them, have no part in it. Raises
    NoStatistic where no pair has.
    """
    lines = _Lines.of(tasks, raters, values, instructions)
    one, two = np.triu_indices(lines.n_raters, 1)

    def sums_of(present: BoolArray, scores: FloatArray) -> FloatArray:
        here = present.astype(np.float64)
        first, second = scores[:, one] * here[:, two], scores[:, two] * here[:, one]
        both = here[:, one] * here[:, two]
        return np.concatenate([both, first, second, first**2, second**2, first * second], axis=1)

    return crossed_variance(lines.sums(sums_of, 6 * len(one)), _mean_correlation, least_raters=LEAST_RATERS, seed=seed)


def pair_agreements(
    tasks: IntArray,
    raters: IntArray,
    values: FloatArray,
    instructions: IntArray,
    *,
    labels: FloatArray | None = None,
    weights: PairWeights = None,
) -> list[PairAgreement]:
    """Every pair of raters with at least three common tasks, by their codes (ascending).

    `labels` (n,), where they differ from the values, are what kappa compares; `weights` are Cohen's.
    """
    shown = values if labels is None else labels
    levels, table = level_codes(np.asarray(shown, dtype=np.float64))
    found = []
    given = np.unique(raters)
    for place, first in enumerate(given.tolist()):
        own = np.flatnonzero(raters == first)
        by_task = dict(zip(tasks[own].tolist(), own.tolist(), strict=True))
        for second in given[place + 1 :].tolist():
            other = np.flatnonzero(raters == second)
            other = other[np.isin(tasks[other], tasks[own])]
            if other.size < LEAST_COMMON:
                continue
            mine = np.array([by_task[task] for task in tasks[other].tolist()], dtype=np.int64)
            instruction = numbered(instructions[other])[0]
            pearson, low, high = _ends(_pearson(values[mine], values[other], instruction))
            kappa, least, most = _ends(_kappa(levels[mine], levels[other], instruction, len(table), weights))
            count = int(instruction.max()) + 1
            found.append(PairAgreement(first, second, int(other.size), count, pearson, low, high, kappa, least, most))
    return found


def correlation_sums(x: FloatArray, y: FloatArray, instruction: IntArray) -> FloatArray:
    """What instructions, coded from 0 up, add to a correlation of two arrays (n,): (instructions, 6)."""
    x, y = x - x.mean(), y - y.mean()
    parts = np.column_stack([np.ones(x.size), x, y, x**2, y**2, x * y])
    return sum_by(instruction, int(instruction.max()) + 1, parts)


def correlation_of_sums(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Pearson's correlations from such sums: (n, 6) -> (n, 1)."""
    values, defined = _correlations(sums[:, None, :].swapaxes(1, 2))
    return values, defined[:, 0]


def _pearson(x: FloatArray, y: FloatArray, instruction: IntArray) -> CrossedVariance | None:
    try:
        return named_variance(correlation_sums(x, y, instruction), correlation_of_sums)
    except NoStatistic:
        return None


def _kappa(
    first: IntArray, second: IntArray, instruction: IntArray, width: int, weights: PairWeights
) -> CrossedVariance | None:
    tables = cohen_of_tables(first, second, instruction, width)
    try:
        return named_variance(tables.reshape(len(tables), -1), cohen_statistic(width, weights))
    except NoStatistic:
        return None


def _ends(variance: CrossedVariance | None) -> tuple[float, float, float]:
    if variance is None:
        return np.nan, np.nan, np.nan
    ends: IntervalEnds = these_raters(variance, "correlation")
    return float(variance.value[0]), float(ends.low[0]), float(ends.high[0])


@dataclass(frozen=True)
class _Lines:
    """Ratings in the order of their tasks: each line's task and rater, and a table (tasks, raters) of scores."""

    task: IntArray
    rater: IntArray
    n_raters: int
    instruction: IntArray
    present: BoolArray
    scores: FloatArray

    @classmethod
    def of(cls, tasks: IntArray, raters: IntArray, values: FloatArray, instructions: IntArray) -> "_Lines":
        task, rater, instruction = (numbered(codes)[0] for codes in (tasks, raters, instructions))
        n, width = int(task.max()) + 1, int(rater.max()) + 1
        if width < 2:
            raise TooFewRatings(width, 2, "raters")
        order = np.argsort(task, kind="stable")
        task, rater = task[order], rater[order]
        present = np.zeros((n, width), dtype=np.bool_)
        scores = np.zeros((n, width))
        present[task, rater] = True
        scores[task, rater] = values[order] - values.mean()
        of_task = np.zeros(n, dtype=np.int64)
        of_task[task] = instruction[order]
        return cls(task, rater, width, of_task, present, scores)

    def sums(self, sums_of: Callable[[BoolArray, FloatArray], FloatArray], width: int) -> TaskSums:
        def whole(start: int, end: int) -> FloatArray:
            return sums_of(self.present[start:end], self.scores[start:end])

        def without(start: int, end: int) -> FloatArray:
            task, rater = self.task[start:end], self.rater[start:end]
            present, scores = self.present[task], self.scores[task]
            present[np.arange(end - start), rater] = False
            scores[np.arange(end - start), rater] = 0.0
            return sums_of(present, scores)

        first = np.searchsorted(self.task, np.arange(len(self.instruction) + 1))
        return TaskSums(self.instruction, self.rater, first, width, whole, without)


def _intraclass(sums: FloatArray, width: int) -> tuple[FloatArray, BoolArray]:
    """ICC(1), ICC(2,1), ICC(2,k) with k = width from Henderson's quadratic forms: (n, 5 + 2 width) -> (n, 3)."""
    tasks, n, squares, by_task, every = sums[:, :5].T
    given, totals = sums[:, 5 : 5 + width], sums[:, 5 + width :]
    some = (tasks > 1.5) & (n > tasks + 0.5)
    n = np.where(some, n, 1.0)
    raters = (given > 0.5).sum(axis=1).astype(np.float64)
    mean = totals.sum(axis=1) ** 2 / n
    by_rater = np.where(given > 0.5, totals**2 / np.maximum(given, 1.0), 0.0).sum(axis=1)
    uneven, shared = squares / n, (given**2).sum(axis=1) / n
    left = np.array(
        [
            [n - uneven, tasks - shared, tasks - 1],
            [raters - uneven, n - shared, raters - 1],
            [n - uneven, n - shared, n - 1],
        ]
    ).transpose(2, 0, 1)
    some &= raters > 1.5
    left[~some] = np.eye(3)
    right = np.column_stack([by_task - mean, by_rater - mean, every - mean])
    task, rater, error = np.linalg.solve(left, right[:, :, None])[:, :, 0].T
    within = (every - by_task) / np.where(some, n - tasks, 1.0)
    between = (by_task - mean) / np.where(some, tasks - 1, 1.0)
    size = (n - uneven) / np.where(some, tasks - 1, 1.0)
    bases = np.column_stack([between + (size - 1) * within, task + rater + error, task + (rater + error) / width])
    scale = every / n
    usable = some & (np.abs(bases) > 1e-12 * scale[:, None]).all(axis=1)
    tops = np.column_stack([between - within, task, task])
    return tops / np.where(usable[:, None], bases, 1.0), usable


def _correlations(parts: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Pearson's correlations from sums (lines, 6, pairs): values and whether they are defined, both (lines, pairs)."""
    n, x, y, xx, yy, xy = parts.transpose(1, 0, 2)
    enough = n > LEAST_COMMON - 0.5
    n = np.where(enough, n, 1.0)
    across, down = xx - x**2 / n, yy - y**2 / n
    defined = enough & (across > 1e-9 * np.maximum(xx, 1e-9)) & (down > 1e-9 * np.maximum(yy, 1e-9))
    both = np.sqrt(np.where(defined, across * down, 1.0))
    return np.clip(np.where(defined, (xy - x * y / n) / both, 0.0), -1.0, 1.0), defined


def _mean_correlation(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
    parts = sums.reshape(len(sums), 6, -1)
    values, defined = _correlations(parts)
    weight = np.where(defined, parts[:, 0], 0.0)
    whole = weight.sum(axis=1)
    return ((values * weight).sum(axis=1) / np.where(whole > 0, whole, 1.0))[:, None], whole > 0

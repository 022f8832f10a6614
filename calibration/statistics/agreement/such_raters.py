"""Agreement of people, for these raters and for raters like them. PURE.

Every function takes one line per rating: tasks, raters and instructions are integer codes from 0 up; a task belongs to one
instruction, and a rater rates a task once.
"""

from collections.abc import Callable

import numpy as np

from calibration.statistics.agreement.alpha import Metric, alpha_sums
from calibration.statistics.agreement.leave_one_out import left_out_modes
from calibration.statistics.agreement.rating_tables import count_table, level_codes, with_two_raters
from calibration.statistics.populations import CrossedVariance, Statistic, TaskSums, crossed_variance
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray

LEAST_RATERS = 3


def agreement_variance(
    tasks: IntArray, labels: IntArray, raters: IntArray, instructions: IntArray, *, seed: int = 0
) -> CrossedVariance:
    """Variances of inner leave-one-out agreement (see leave_one_out). Raises TooFewRatings."""

    def adds(counts: IntArray) -> FloatArray:
        matches, _ = left_out_modes(counts)
        return np.column_stack([matches, np.ones(len(counts))])

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        tasks_left = np.rint(sums[:, 1])
        return sums[:, :1] / np.maximum(tasks_left, 1.0)[:, None], tasks_left > 0

    columns = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
    found = _table_sums(tasks, columns, raters, instructions, adds)
    return crossed_variance(found, statistic, least_raters=LEAST_RATERS, seed=seed)


def alpha_variance(
    tasks: IntArray, values: FloatArray, raters: IntArray, instructions: IntArray, *, metric: Metric, seed: int = 0
) -> CrossedVariance:
    """Variances of Krippendorff's alpha (see krippendorff_alpha). Raises TooFewRatings, NoStatistic."""
    columns, levels = level_codes(np.asarray(values, dtype=np.float64))
    sums = alpha_sums(levels, metric)

    def adds(counts: IntArray) -> FloatArray:
        return sums.adds(counts.astype(np.float64))

    def statistic(given: FloatArray) -> tuple[FloatArray, BoolArray]:
        found, defined = sums.values(given)
        return found[:, :1], defined

    found = _table_sums(tasks, columns, raters, instructions, adds)
    return crossed_variance(found, statistic, least_raters=LEAST_RATERS, seed=seed)


def _table_sums(
    tasks: IntArray, columns: IntArray, raters: IntArray, instructions: IntArray, adds: Callable[[IntArray], FloatArray]
) -> TaskSums:
    """Sums of a statistic of count tables, over the tasks with two raters or more."""
    lines = np.unique(tasks, return_inverse=True)[1].reshape(-1).astype(np.int64)
    counts = count_table(lines, columns)
    kept = with_two_raters(counts)
    place = np.full(len(counts), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    used = place[lines] >= 0
    task, column = place[lines[used]], columns[used]
    rater = np.unique(raters[used], return_inverse=True)[1].reshape(-1).astype(np.int64)
    by_line = np.unique(instructions[used], return_inverse=True)[1].reshape(-1).astype(np.int64)
    instruction = np.zeros(len(kept), dtype=np.int64)
    instruction[task] = by_line
    table = counts[kept]
    total = adds(table)

    def without(start: int, end: int) -> FloatArray:
        left = table[task[start:end]].copy()
        left[np.arange(end - start), column[start:end]] -= 1
        enough = left.sum(axis=1) >= 2
        found = np.zeros((end - start, total.shape[1]))
        if enough.any():
            found[enough] = adds(left[enough])
        return found

    return TaskSums(total, instruction, task, rater, without)

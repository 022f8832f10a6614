"""Agreement of people, for these raters and for raters like them. PURE.

Every function takes one line per rating: tasks, raters and instructions are integer codes from 0 up; a task belongs to one
instruction, and a rater rates a task once.
"""

from collections.abc import Callable

import numpy as np

from calibration.statistics.agreement.alpha import Metric, alpha_sums
from calibration.statistics.agreement.kappas import Chance, kappa_sums
from calibration.statistics.agreement.leave_one_out import left_out_modes
from calibration.statistics.agreement.rating_tables import TableSums, count_table, level_codes, with_two_raters
from calibration.statistics.codes import numbered
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

    found = _table_sums(tasks, numbered(labels)[0], raters, instructions, adds)
    return crossed_variance(found, statistic, least_raters=LEAST_RATERS, seed=seed)


def alpha_variance(
    tasks: IntArray, values: FloatArray, raters: IntArray, instructions: IntArray, *, metric: Metric, seed: int = 0
) -> CrossedVariance:
    """Variances of Krippendorff's alpha (see krippendorff_alpha). Raises TooFewRatings, NoStatistic."""
    columns, levels = level_codes(np.asarray(values, dtype=np.float64))
    found = _table_sums(tasks, columns, raters, instructions, _counted(alpha_sums(levels, metric)))
    return crossed_variance(found, _first(alpha_sums(levels, metric)), least_raters=LEAST_RATERS, seed=seed)


def kappa_variance(
    tasks: IntArray, labels: IntArray, raters: IntArray, instructions: IntArray, *, chance: Chance, seed: int = 0
) -> CrossedVariance:
    """Variances of fleiss_kappa or gwet_ac1, which also count the labels of tasks with one rater. Raises as they do."""
    columns = numbered(labels)[0]
    sums = kappa_sums(int(columns.max()) + 1, chance)
    with_two_raters(count_table(numbered(tasks)[0], columns))
    found = _table_sums(tasks, columns, raters, instructions, _counted(sums), least=1)
    return crossed_variance(found, _first(sums), least_raters=LEAST_RATERS, seed=seed)


def _counted(sums: TableSums) -> Callable[[IntArray], FloatArray]:
    return lambda counts: sums.adds(counts.astype(np.float64))


def _first(sums: TableSums) -> Statistic:
    """The coefficient alone, without the parts it is made of."""

    def statistic(given: FloatArray) -> tuple[FloatArray, BoolArray]:
        found, defined = sums.values(given)
        return found[:, :1], defined

    return statistic


def _table_sums(
    tasks: IntArray,
    columns: IntArray,
    raters: IntArray,
    instructions: IntArray,
    adds: Callable[[IntArray], FloatArray],
    *,
    least: int = 2,
) -> TaskSums:
    """Sums of a statistic of count tables, over the tasks with at least so many raters."""
    lines = numbered(tasks)[0]
    counts = count_table(lines, columns)
    kept = with_two_raters(counts) if least == 2 else np.flatnonzero(counts.sum(axis=1) >= least)
    place = np.full(len(counts), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    order = np.argsort(place[lines], kind="stable")
    order = order[place[lines][order] >= 0]
    task, column = place[lines][order], columns[order]
    instruction = np.zeros(len(kept), dtype=np.int64)
    instruction[task] = numbered(instructions[order])[0]
    table = counts[kept]

    def whole(start: int, end: int) -> FloatArray:
        return adds(table[start:end])

    def without(start: int, end: int) -> FloatArray:
        left = table[task[start:end]]
        left[np.arange(end - start), column[start:end]] -= 1
        enough = left.sum(axis=1) >= least
        found = np.zeros((end - start, width))
        if enough.any():
            found[enough] = adds(left[enough])
        return found

    width = adds(table[:1]).shape[1]
    first = np.searchsorted(task, np.arange(len(kept) + 1))
    return TaskSums(instruction, numbered(raters[order])[0], first, width, whole, without)

"""The bounded number that each instruction adds to a question, with all raters and without each of them. PURE."""

from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.populations import CrossedVariance, TaskSums, crossed_variance
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray
from calibration.statistics.weights.least_squares import cluster_sums, floored_solve
from calibration.statistics.weights.rows import check_rows

ROWS_PER_ITEM = 10
"""Below this many rows for each item nothing is predicted with fitted weights."""


@dataclass(frozen=True)
class InstructionValues:
    """`values` (t, q) of t instructions, nan where one has none, and what each becomes without one rater.

    A cell is one rater's answers to one instruction: `instruction` and `rater` (c,), in the order of the instructions, and
    `without` (c, q), nan where the rater's answers leave too few.
    """

    values: FloatArray
    instruction: IntArray
    rater: IntArray
    without: FloatArray

    def difference(self, first: int, second: int) -> "InstructionValues":
        """The difference of two columns as the only one."""
        apart = self.values[:, [first]] - self.values[:, [second]]
        return InstructionValues(
            apart, self.instruction, self.rater, self.without[:, [first]] - self.without[:, [second]]
        )


def _cells(instruction: IntArray, rater: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The cell of each row, and the instruction and the rater of each cell."""
    _, codes = np.unique(rater, return_inverse=True)
    many = int(codes.max(initial=0)) + 1
    known, cell = np.unique(instruction * many + codes.reshape(-1), return_inverse=True)
    return cell.reshape(-1).astype(np.int64), known // many, known % many


def _ratios(over: FloatArray, under: FloatArray) -> FloatArray:
    found: FloatArray = np.full(over.shape, np.nan)
    np.divide(over, under, out=found, where=under > 0.5)
    return found


def _shares(whole: FloatArray, own: FloatArray, instruction: IntArray, rater: IntArray) -> InstructionValues:
    """The ratios of the two columns of `whole` (t, 2), and what they are without what each cell adds, `own` (c, 2)."""
    rest = whole[instruction] - own
    return InstructionValues(_ratios(whole[:, :1], whole[:, 1:]), instruction, rater, _ratios(rest[:, :1], rest[:, 1:]))


def agreeing_pairs(
    instruction: IntArray, unit: IntArray, rater: IntArray, label: FloatArray, *, instructions: int
) -> InstructionValues:
    """Share of the pairs of raters of an instruction who gave the same label, among all pairs who labelled the same unit.

    A unit is a task on one criterion; arrays (n,), a rater labels a unit once; `instruction` counts from 0.
    """
    if not len(unit):
        empty = np.zeros(0, dtype=np.int64)
        return InstructionValues(np.full((instructions, 1), np.nan), empty, empty, np.zeros((0, 1)))
    _, units = np.unique(unit, return_inverse=True)
    _, labels = np.unique(label, return_inverse=True)
    units = units.reshape(-1)
    _, same = np.unique(units * (int(labels.max()) + 1) + labels.reshape(-1), return_inverse=True)
    same = same.reshape(-1)
    # Each pair is counted from both of its sides.
    met = np.bincount(units)[units] - 1.0
    agreed = np.bincount(same)[same] - 1.0
    cell, of_instruction, of_rater = _cells(instruction, rater)
    own = sum_by(cell, len(of_instruction), np.column_stack([agreed, met]))
    whole = sum_by(instruction, instructions, np.column_stack([agreed, met])) / 2
    return _shares(whole, own, of_instruction, of_rater)


def model_points(
    instruction: IntArray, rater: IntArray, model: IntArray, points: FloatArray, *, instructions: int, models: int
) -> InstructionValues:
    """Each model's mean points on an instruction (t, k), points (n,) in 0..1 of `model` (n,), which counts from 0."""
    cell, of_instruction, of_rater = _cells(instruction, rater)
    sums: list[FloatArray] = []
    counts: list[FloatArray] = []
    for codes, many in ((instruction, instructions), (cell, len(of_instruction))):
        place = codes * models + model
        sums.append(sum_by(place, many * models, points).reshape(many, models))
        counts.append(np.bincount(place, minlength=many * models).reshape(many, models).astype(np.float64))
    without = _ratios(sums[0][of_instruction] - sums[1], counts[0][of_instruction] - counts[1])
    return InstructionValues(_ratios(sums[0], counts[0]), of_instruction, of_rater, without)


def weight_gains(
    instruction: IntArray, rater: IntArray, answers: FloatArray, overall: FloatArray, *, instructions: int, floor: float
) -> tuple[InstructionValues, FloatArray]:
    """By how much weights fitted on earlier instructions predict each instruction better than equal weights.

    answers (n, items) in 0..1, overall (n,) in 0..10. The value is the difference in squared error, in squared tenths of the
    scale and so in -1..1, averaged over the instruction's rows; predictions are cut to the scale. Equal weights have the
    length that fits the earlier instructions best. It is 0 while there are fewer than 10 earlier rows for each item. The
    second array (t,) bounds the value's size by the weights alone: twice the largest difference of the two predictions.
    """
    x, y = check_rows(answers, overall, floor)
    sums = cluster_sums(x, y, instruction, instructions)
    gram, xy, yy, total, n = (np.cumsum(part, axis=0) for part in (sums.gram, sums.xy, sums.yy, sums.y, sums.n))
    gains, bounds = np.zeros(len(y)), np.zeros(instructions)
    for place in range(1, instructions):
        rows = np.flatnonzero(instruction == place)
        if n[place - 1] < ROWS_PER_ITEM * x.shape[1]:
            continue
        earlier = type(sums)(gram[[place - 1]], xy[[place - 1]], yy[[place - 1]], total[[place - 1]], n[[place - 1]])
        fitted = floored_solve(earlier, floor)[0]
        squares = float(gram[place - 1].sum())
        equal = np.full(x.shape[1], float(xy[place - 1].sum()) / squares if squares > 0 else 0.0)
        apart = fitted - equal
        bounds[place] = min(1.0, 2 * max(apart[apart > 0].sum(), -apart[apart < 0].sum()) / 10)
        errors = [(np.clip(x[rows] @ weights, 0, 10) - y[rows]) / 10 for weights in (fitted, equal)]
        gains[rows] = errors[1] ** 2 - errors[0] ** 2
    cell, of_instruction, of_rater = _cells(instruction, rater)
    whole = sum_by(instruction, instructions, np.column_stack([gains, np.ones(len(y))]))
    own = sum_by(cell, len(of_instruction), np.column_stack([gains, np.ones(len(y))]))
    return _shares(whole, own, of_instruction, of_rater), bounds


def mean_variance(found: InstructionValues, *, least_raters: int) -> CrossedVariance:
    """The mean of the only column over the instructions that have a value, with its variance for such raters.

    Raises NoStatistic where no instruction has a value.
    """
    values, without = found.values[:, 0], found.without[:, 0]
    kept: BoolArray = np.isfinite(values)
    lines = kept[found.instruction]
    places = np.cumsum(kept) - 1
    instruction, rater = places[found.instruction[lines]], found.rater[lines]
    _, raters = np.unique(rater, return_inverse=True)
    left = np.nan_to_num(without[lines])
    defined = np.isfinite(without[lines]).astype(np.float64)
    known = values[kept]

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        return _ratios(sums[:, :1], sums[:, 1:]), sums[:, 1] > 0.5

    sums = TaskSums(
        instruction=np.arange(len(known)),
        rater=raters.reshape(-1).astype(np.int64),
        first=np.searchsorted(instruction, np.arange(len(known) + 1)).astype(np.int64),
        width=2,
        whole=lambda a, b: np.column_stack([known[a:b], np.ones(b - a)]),
        without=lambda a, b: np.column_stack([left[a:b], defined[a:b]]),
    )
    return crossed_variance(sums, statistic, least_raters=least_raters)

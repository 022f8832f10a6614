"""How sure a statistic of raters is for these raters, and for such raters. PURE.

An interval for *these raters* takes the raters as given and the instructions as drawn; one for *such raters* takes both as
drawn. The statistic is a function of sums over tasks, so that leaving out an instruction, a rater, or one rater's answers
to one instruction changes those sums by what their tasks add.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import REACH, wilson_ends
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import NoStatistic
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray

Statistic: TypeAlias = Callable[[FloatArray], tuple[FloatArray, BoolArray]]
"""Sums (n, k) -> values (n, q) and whether each line of sums defines them (n,)."""

Scale: TypeAlias = Literal["plain", "share", "correlation"]
NotStated: TypeAlias = Literal["few_instructions", "few_raters", "undefined_replicate", "no_variation"]

MOST_REPLICATES = 2_000
GROUPS = 200
LINES_AT_ONCE = 65_536
FROM_FIVE = 5
"""From this many raters on, the part of the raters' variance that is due to single answers is taken off."""


@dataclass(frozen=True)
class TaskSums:
    """What tasks add to the sums of a statistic, with all of their raters and without one of them.

    `total` (tasks, k) is what each task adds, `instruction` (tasks,) its instruction's code from 0 up. One line stands for
    one rater's answer to one task: `task` (lines,), `rater` (lines,) codes from 0 up, and without(a, b) (b - a, k), what the
    tasks of lines a to b add when that line's rater is left out (zeros if the task then has too few raters).
    """

    total: FloatArray
    instruction: IntArray
    task: IntArray
    rater: IntArray
    without: Callable[[int, int], FloatArray]


@dataclass(frozen=True)
class CrossedVariance:
    """Variances (q,) of a statistic over instructions and raters, and what they rest on.

    `instructions` is V_I, `raters` V_R, `cells` V_C (one rater's answers to one instruction); `such` is their sum
    V_I + V_R - V_C, not below either of the first two, with `freedom` degrees of freedom. `not_stated` says why the three
    last are nan. `value` (q,) is the statistic itself.
    """

    value: FloatArray
    instructions: FloatArray
    raters: FloatArray
    cells: FloatArray
    such: FloatArray
    freedom: FloatArray
    n_instructions: int
    n_raters: int
    not_stated: NotStated | None


@dataclass(frozen=True)
class Ends:
    """Ends (q,) of a 95 % interval. `not_stated` says why there is none; the ends are then nan."""

    low: FloatArray
    high: FloatArray
    not_stated: NotStated | None


def crossed_variance(sums: TaskSums, statistic: Statistic, *, least_raters: int = 3, seed: int = 0) -> CrossedVariance:
    """Variances for these and for such raters by the jackknife over crossed clusters.

    Cameron, Gelbach and Miller (2011): V_I + V_R - V_C, each the delete-one jackknife centred at its replicates' mean.
    Above 2,000 clusters of a kind, 200 random groups of equal size are left out in their place. The degrees of freedom are
    Satterthwaite's, V^2 / (V_I^2/(I-1) + D^2/(R-1)), D = V_R - V_C from five raters on and V_R below, between R-1 and I-1.
    Raises NoStatistic where the statistic is undefined on the data themselves.
    """
    whole = sums.total.sum(axis=0)
    values, defined = statistic(whole[None])
    if not defined[0]:
        raise NoStatistic("The quantity is undefined on these ratings: nothing in them varies as it needs.")
    value = values[0]
    rng = np.random.default_rng(seed)
    n_instructions, n_raters = int(sums.instruction.max()) + 1, int(sums.rater.max()) + 1
    nothing = np.full(value.shape, np.nan)
    by_instruction = _replicates(whole, _grouped(sums.instruction, n_instructions, rng), sums.total, statistic)
    v_i = nothing if by_instruction is None else _jackknife(by_instruction)
    reason: NotStated | None = None
    if n_instructions < MIN_CLUSTERS:
        reason = "few_instructions"
    elif n_raters < least_raters:
        reason = "few_raters"
    elif by_instruction is None:
        reason = "undefined_replicate"
    v_r = v_c = such = freedom = nothing
    if reason is None:
        cells, n_cells = _cells(sums, n_raters, rng)
        by_rater, by_cell = _left_out(sums, cells, n_cells, n_raters)
        raters = _values(whole - by_rater, statistic)
        single = _values(whole - by_cell, statistic)
        if raters is None or single is None:
            reason = "undefined_replicate"
        else:
            v_r, v_c = _jackknife(raters), _jackknife(single)
            such = np.maximum(v_i + v_r - v_c, np.maximum(v_i, v_r))
            freedom = _freedom(v_i, v_r, v_c, such, n_instructions, n_raters)
    return CrossedVariance(value, v_i, v_r, v_c, such, freedom, n_instructions, n_raters, reason)


def such_raters(variance: CrossedVariance, scale: Scale) -> Ends:
    """The 95 % interval for such raters, with Student's t on the scale named.

    A share has Wilson's interval of as many independent answers as would be as uncertain (with every answer alike, as many as
    there are instructions), a correlation Fisher's scale by the delta method, everything else its own scale.
    """
    if variance.not_stated is not None:
        nothing = np.full(variance.value.shape, np.nan)
        return Ends(nothing, nothing, variance.not_stated)
    return _ends(variance.value, variance.such, variance.freedom, variance.n_instructions, scale)


def these_raters(variance: CrossedVariance, scale: Scale) -> Ends:
    """The 95 % interval for these raters, as such_raters but with the instructions' variance alone."""
    if variance.n_instructions < MIN_CLUSTERS or np.isnan(variance.instructions).any():
        nothing = np.full(variance.value.shape, np.nan)
        few = variance.n_instructions < MIN_CLUSTERS
        return Ends(nothing, nothing, "few_instructions" if few else "undefined_replicate")
    freedom = np.full(variance.value.shape, variance.n_instructions - 1.0)
    return _ends(variance.value, variance.instructions, freedom, variance.n_instructions, scale)


def _ends(value: FloatArray, variance: FloatArray, freedom: FloatArray, instructions: int, scale: Scale) -> Ends:
    from scipy.special import stdtrit

    reach = np.asarray(stdtrit(freedom, 0.975), dtype=np.float64)
    if scale == "share":
        return _share_ends(value, variance, reach, instructions)
    half = reach * np.sqrt(variance)
    if scale == "plain":
        return Ends(value - half, value + half, None)
    inside = np.clip(value, -1 + 1e-12, 1 - 1e-12)
    on_scale, steep = np.arctanh(inside), 1 - inside**2
    return Ends(np.tanh(on_scale - half / steep), np.tanh(on_scale + half / steep), None)


def _share_ends(value: FloatArray, variance: FloatArray, reach: FloatArray, instructions: int) -> Ends:
    found = []
    for share, uncertain, far in zip(value, variance, reach, strict=True):
        spread = share * (1 - share)
        effective = spread / uncertain if uncertain > 0 and spread > 0 else float(instructions)
        found.append(wilson_ends(float(share), float(max(1.0, effective)) * (REACH / float(far)) ** 2))
    ends = np.asarray(found, dtype=np.float64)
    return Ends(ends[:, 0], ends[:, 1], None)


def _freedom(
    v_i: FloatArray, v_r: FloatArray, v_c: FloatArray, such: FloatArray, instructions: int, raters: int
) -> FloatArray:
    own = np.maximum(v_r - v_c, 0.0) if raters >= FROM_FIVE else v_r
    below = v_i**2 / (instructions - 1) + own**2 / (raters - 1)
    found = np.divide(such**2, below, out=np.full(such.shape, float(instructions - 1)), where=below > 0)
    few, many = sorted((raters - 1.0, instructions - 1.0))
    return np.asarray(np.clip(found, few, many), dtype=np.float64)


def _jackknife(replicates: FloatArray) -> FloatArray:
    g = len(replicates)
    return np.asarray((g - 1) / g * ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0), dtype=np.float64)


def _grouped(codes: IntArray, n: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    """The codes themselves, or random groups of them of equal size where there are too many to leave out one by one."""
    if n <= MOST_REPLICATES:
        return codes, n
    group = np.empty(n, dtype=np.int64)
    group[rng.permutation(n)] = np.arange(n) % GROUPS
    return group[codes], GROUPS


def _replicates(
    whole: FloatArray, groups: tuple[IntArray, int], adds: FloatArray, statistic: Statistic
) -> FloatArray | None:
    return _values(whole - sum_by(groups[0], groups[1], adds), statistic)


def _values(sums: FloatArray, statistic: Statistic) -> FloatArray | None:
    values, defined = statistic(sums)
    return values if bool(defined.all()) and bool(np.isfinite(values).all()) else None


def _cells(sums: TaskSums, raters: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    """Cell of each line: one rater's answers to one instruction, or a group of cells in which no instruction is twice."""
    keys = sums.instruction[sums.task] * raters + sums.rater
    given, cell = np.unique(keys, return_inverse=True)
    cell = cell.reshape(-1).astype(np.int64)
    if len(given) <= MOST_REPLICATES:
        return cell, len(given)
    instruction = given // raters
    order = np.lexsort((rng.random(len(given)), rng.permutation(int(instruction.max()) + 1)[instruction]))
    group = np.empty(len(given), dtype=np.int64)
    group[order] = np.arange(len(given)) % GROUPS
    return group[cell], GROUPS


def _left_out(sums: TaskSums, cells: IntArray, n_cells: int, n_raters: int) -> tuple[FloatArray, FloatArray]:
    """What leaving out each rater (R, k) and each cell (C, k) takes from the sums."""
    width = sums.total.shape[1]
    by_rater, by_cell = np.zeros((n_raters, width)), np.zeros((n_cells, width))
    for start in range(0, len(sums.task), LINES_AT_ONCE):
        end = min(start + LINES_AT_ONCE, len(sums.task))
        taken = sums.total[sums.task[start:end]] - sums.without(start, end)
        by_rater += sum_by(sums.rater[start:end], n_raters, taken)
        by_cell += sum_by(cells[start:end], n_cells, taken)
    return by_rater, by_cell

"""Variances for these and for such raters of statistics of rows, by refits or in closed form. PURE.

A row is one rater's answer about one instruction. Instructions, raters and cells (one rater's answers to one instruction)
are left out in turn, and the variances combined as Cameron, Gelbach and Miller (2011) do: V_I + V_R - V_C.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.codes import numbered
from calibration.statistics.design.needed import needed_for
from calibration.statistics.populations import GROUPS, MOST_REPLICATES, NUMBERS_AT_ONCE, NotStated, median_of_few
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray

LEAST_RATERS = 2
FEW_TO_TELL = 3

WhyNot: TypeAlias = Literal["", "few_instructions", "few_raters", "undefined_without_one", "named_raters", "positions"]
"""Why an interval for such raters is not stated, '' where it is; "positions": the data do not name the raters."""

WithoutEach: TypeAlias = Callable[[IntArray, int], tuple[FloatArray, BoolArray]]
"""Codes (n,) of the rows' groups and their number g -> the statistic without each group (g, q), and where it is defined."""


@dataclass(frozen=True)
class Crossed:
    """Quantities (q,) with their variances for these and for such raters, and the degrees of freedom of both.

    `raters` is what the raters alone add to `such`. Where `not_stated` holds a reason, `such`, `raters` and `freedom` are
    nan; `these` is nan where it is undefined as well. `bias` is the jackknife's estimate of how far the values are off for
    lack of raters, (R - 1) times the mean of the values without each rater less the value.
    """

    value: FloatArray
    these: FloatArray
    such: FloatArray
    raters: FloatArray
    freedom: FloatArray
    n_instructions: IntArray
    n_raters: IntArray
    not_stated: tuple[NotStated | None, ...]
    bias: FloatArray | None = None

    def ends(self, *, such: bool, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Ends (q,) of the intervals by Student's t, nan where there is none."""
        half = self.reach(such=such, level=level) * np.sqrt(self.such if such else self.these)
        return self.value - half, self.value + half

    def reach(self, *, such: bool, level: float = 0.95) -> FloatArray:
        """The quantile (q,) of t by which the standard error is multiplied."""
        from scipy.special import stdtrit

        freedom = self.freedom if such else np.maximum(self.n_instructions - 1.0, 1.0)
        return np.asarray(stdtrit(freedom, (1 + level) / 2), dtype=np.float64)

    def p_values(self, *, such: bool) -> FloatArray:
        """Two-sided p (q,) against 0, which invert the intervals: below .05 just where these leave out 0."""
        from scipy.special import stdtr

        variance = self.such if such else self.these
        freedom = self.freedom if such else np.maximum(self.n_instructions - 1.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.value == 0, 0.0, -np.abs(self.value) / np.sqrt(variance))
        found = np.where(np.isnan(variance), np.nan, 2 * stdtr(freedom, t))
        return np.asarray(found, dtype=np.float64)

    def part(self, places: slice) -> "Crossed":
        """Some of the quantities."""
        return Crossed(
            value=self.value[places],
            these=self.these[places],
            such=self.such[places],
            raters=self.raters[places],
            freedom=self.freedom[places],
            n_instructions=self.n_instructions[places],
            n_raters=self.n_raters[places],
            not_stated=self.not_stated[places],
            bias=None if self.bias is None else self.bias[places],
        )

    def with_care(self) -> "Crossed":
        """The same with one degree of freedom less than raters where there are two or three of them.

        So few raters can differ little by chance, and t with more degrees of freedom then claims too much: equal models were
        called unequal in 8 to 14 % of studies.
        """
        few = self.n_raters <= FEW_TO_TELL
        return replace(self, freedom=np.where(few, np.maximum(self.n_raters - 1.0, 1.0), self.freedom))

    @staticmethod
    def joined(parts: Sequence["Crossed"]) -> "Crossed":
        """The quantities of all parts, one after the other."""
        return Crossed(
            value=np.concatenate([part.value for part in parts]),
            these=np.concatenate([part.these for part in parts]),
            such=np.concatenate([part.such for part in parts]),
            raters=np.concatenate([part.raters for part in parts]),
            freedom=np.concatenate([part.freedom for part in parts]),
            n_instructions=np.concatenate([part.n_instructions for part in parts]),
            n_raters=np.concatenate([part.n_raters for part in parts]),
            not_stated=tuple(why for part in parts for why in part.not_stated),
        )

    def needed(self, place: int) -> int | None:
        """How many instructions would show this value with 80 % power, None where no number of them would."""
        such = self.not_stated[place] is None
        fixed = float(self.raters[place]) if such else 0.0
        units = int(self.n_instructions[place])
        return needed_for(float(self.value[place]), float(self.these[place]), units, fixed=fixed)


@dataclass(frozen=True)
class CellSums:
    """Sums of q ratios, num/den, by instruction (i, q) and what leaving out each cell takes from them (c, q).

    `instruction` and `rater` (c,) are the cells' codes, from 0 up.
    """

    num: FloatArray
    den: FloatArray
    taken_num: FloatArray
    taken_den: FloatArray
    instruction: IntArray
    rater: IntArray


def crossed_refits(
    instruction: IntArray,
    rater: IntArray | None,
    without_each: WithoutEach,
    value: FloatArray,
    *,
    most: int = MOST_REPLICATES,
    groups: int = GROUPS,
    seed: int = 0,
) -> Crossed:
    """Variances of `value` (q,), a statistic of rows with these codes (n,), by computing it without each cluster.

    Above `most` clusters of a kind, so many random `groups` of equal size are left out in their place, and the degrees of
    freedom are those of as many clusters. `rater` None: the data name no raters.
    """
    rng = np.random.default_rng(seed)
    n_instructions = int(instruction.max()) + 1
    n_raters = 0 if rater is None else int(rater.max()) + 1
    q = len(value)
    these, _ = (
        _jackknife(*without_each(*_grouped(instruction, most, groups, rng))) if n_instructions > 1 else (None, None)
    )
    reason = _reason(n_instructions, n_raters)
    by_raters = by_cells = mean = None
    if reason is None and rater is not None:
        cell = numbered(instruction * n_raters + rater)[0]
        by_raters, mean = _jackknife(*without_each(*_grouped(rater, most, groups, rng)))
        by_cells, _ = _jackknife(*without_each(*_grouped(cell, most, groups, rng)))
    sizes = np.full(q, n_instructions), np.full(q, n_raters)
    if these is None or by_raters is None or by_cells is None or mean is None:
        nothing = np.full(q, np.nan)
        left = nothing if these is None else these
        why: NotStated = reason or "undefined_without_one"
        return Crossed(value, left, nothing, nothing, nothing, *sizes, (why,) * q)
    left_out = [n if n <= max(most, groups) else groups for n in (n_instructions, n_raters)]
    such, own, freedom = combine(these, by_raters, by_cells, *(np.full(q, n) for n in left_out))
    bias = (left_out[1] - 1) * (mean - value)
    return Crossed(value, these, such, own, freedom, *sizes, (None,) * q, bias)


def crossed_ratios(sums: CellSums) -> Crossed:
    """Variances of num/den in closed form, each over the instructions and raters that take part in it.

    Leaving a rater out takes the sum of what its cells take, because an instruction has one cell of each rater.
    """
    q = sums.num.shape[1]
    at_once = max(1, NUMBERS_AT_ONCE // max(1, len(sums.instruction)))
    parts = [_ratios(sums, slice(start, min(start + at_once, q))) for start in range(0, q, at_once)]
    return Crossed.joined(parts)


def combine(
    these: FloatArray, by_raters: FloatArray, by_cells: FloatArray, n_instructions: IntArray, n_raters: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The variance for such raters, what the raters add to it, and its degrees of freedom, each (q,).

    V_I + V_R - V_C, not below V_I or V_R, the raters' part R/(R-1) times from five raters on. Freedom:
    V^2 / (V_I^2/(I-1) + V_R^2/(R-1)), between R-1 and I-1 (Satterthwaite).
    With V_R - V_C in its place, which is itself uncertain, weights of five to eight raters were covered less than promised.
    """
    own = np.maximum(np.maximum(by_raters - by_cells, by_raters - these), 0.0)
    own = own * [median_of_few(int(raters)) for raters in n_raters]
    such = these + own
    i, r = np.maximum(n_instructions - 1.0, 1.0), np.maximum(n_raters - 1.0, 1.0)
    below = these**2 / i + by_raters**2 / r
    freedom = np.divide(such**2, below, out=i + np.zeros_like(such), where=below > 0)
    return such, own, np.clip(freedom, np.minimum(i, r), np.maximum(i, r))


def holm(p: FloatArray) -> FloatArray:
    """p values (m,) corrected for their number by Holm's step-down method; nan stays, and counts for none."""
    found = np.asarray(p, dtype=np.float64).copy()
    known = np.flatnonzero(~np.isnan(found))
    order = known[np.argsort(found[known], kind="stable")]
    steps = found[order] * np.arange(len(order), 0, -1)
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found


def _reason(n_instructions: int, n_raters: int) -> NotStated | None:
    if n_instructions < MIN_CLUSTERS:
        return "few_instructions"
    return "few_raters" if n_raters < LEAST_RATERS else None


def _grouped(codes: IntArray, most: int, groups: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    n = int(codes.max()) + 1
    if n <= max(most, groups):
        return codes, n
    group = np.empty(n, dtype=np.int64)
    group[rng.permutation(n)] = np.arange(n) % groups
    return group[codes], groups


def _jackknife(values: FloatArray, defined: BoolArray) -> tuple[FloatArray, FloatArray] | tuple[None, None]:
    """(g - 1)/g times the sum of squares around the replicates' own mean, and that mean; None if one is not defined."""
    if not bool(defined.all()):
        return None, None
    g, mean = len(values), values.mean(axis=0)
    return np.asarray((g - 1) / g * ((values - mean) ** 2).sum(axis=0), dtype=np.float64), mean


def _ratios(sums: CellSums, places: slice) -> Crossed:
    num, den = sums.num[:, places], sums.den[:, places]
    taken_num, taken_den = sums.taken_num[:, places], sums.taken_den[:, places]
    total_num, total_den = num.sum(axis=0), den.sum(axis=0)
    value = np.divide(total_num, total_den, out=np.full(total_den.shape, np.nan), where=total_den > 0)
    raters = int(sums.rater.max(initial=-1)) + 1
    by_rater = [sum_by(sums.rater, raters, taken) for taken in (taken_num, taken_den)]
    found, counts = [], []
    for one, other in ((num, den), (by_rater[0], by_rater[1]), (taken_num, taken_den)):
        variance, count = _without_parts(total_num, total_den, one, other)
        found.append(variance)
        counts.append(count)
    these, by_raters, by_cells = found
    n_instructions, n_raters, _ = counts
    such, own, freedom = combine(these, by_raters, by_cells, n_instructions, n_raters)
    why = [
        _reason(int(i), int(r)) or ("undefined_without_one" if np.isnan(v) else None)
        for i, r, v in zip(n_instructions, n_raters, such, strict=True)
    ]
    unknown = np.array([reason is not None for reason in why], dtype=np.bool_)
    such, own, freedom = (np.where(unknown, np.nan, array) for array in (such, own, freedom))
    return Crossed(value, these, such, own, freedom, n_instructions, n_raters, tuple(why)).with_care()


def _without_parts(
    total_num: FloatArray, total_den: FloatArray, num: FloatArray, den: FloatArray
) -> tuple[FloatArray, IntArray]:
    """The jackknife's variance (q,) over the clusters that take part in each ratio, and their number (q,)."""
    part = den != 0
    count = part.sum(axis=0)
    left = total_den - den
    defined = left > 1e-12 * np.maximum(total_den, 1e-300)
    ratio = np.divide(total_num - num, left, out=np.zeros_like(left), where=defined)
    ratio = np.where(part, ratio, 0.0)
    mean = ratio.sum(axis=0) / np.maximum(count, 1)
    squares = (np.where(part, ratio - mean, 0.0) ** 2).sum(axis=0)
    variance = (count - 1) / np.maximum(count, 1) * squares
    undefined = (part & ~defined).any(axis=0) | (count < 2)
    return np.where(undefined, np.nan, variance), count.astype(np.int64)

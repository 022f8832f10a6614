"""How sure a statistic of raters is for these raters, and for such raters. PURE.

An interval for *these raters* takes the raters as given and the instructions as drawn; one for *such raters* takes both as
drawn. The statistic is a function of sums over tasks, so that leaving out an instruction, a rater, or one rater's answers
to one instruction changes those sums by what their tasks add.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import REACH, effective_answers, wilson_ends
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.codes import numbered
from calibration.statistics.errors import NoStatistic
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, Labels, cluster_codes

Statistic: TypeAlias = Callable[[FloatArray], tuple[FloatArray, BoolArray]]
"""Sums (n, k) -> values (n, q) and whether each line of sums defines them (n,)."""
Scale: TypeAlias = Literal["plain", "share", "correlation"]
NotStated: TypeAlias = Literal["few_instructions", "few_raters", "undefined_without_one", "named_raters"]
"""Why there is no interval for such raters; "named_raters": the statistic is about raters who are named."""

MOST_REPLICATES = 2_000
GROUPS = 200
NUMBERS_AT_ONCE = 2_000_000
FEW_RATERS = 5
"""Below this many raters, their variance cannot be told from that of their single answers."""
UNSURE_RATERS = 10
"""Below this many raters, their part is sometimes found near 0 by chance and has a floor."""


@dataclass(frozen=True)
class TaskSums:
    """What tasks add to the sums of a statistic, with all of their raters and without one of them.

    `instruction` (tasks,) holds each task's instruction, from 0 up. A line is one rater's answer to one task: `rater`
    (lines,) from 0 up, in the order of their tasks; task t has lines first[t] to first[t + 1], `first` (tasks + 1,).
    whole(a, b) (b - a, width) is what tasks a to b add, and without(a, b) (b - a, width) what the task of each of the lines
    a to b adds when that line's rater is left out (zeros if the task then has too few raters).
    """

    instruction: IntArray
    rater: IntArray
    first: IntArray
    width: int
    whole: Callable[[int, int], FloatArray]
    without: Callable[[int, int], FloatArray]


@dataclass(frozen=True)
class CrossedVariance:
    """A statistic (q,) and its variances (q,) over instructions and over raters.

    `these` is the variance for these raters, `such` that for such raters with `freedom` degrees of freedom; `raters` is what
    the raters alone add; `n_tasks` counts what the statistic is a mean of. `rater_bias` is the jackknife's estimate of what
    the statistic is expected to lie above its value for very many such raters. nan stands where `not_stated` says why there
    is none.
    """

    value: FloatArray
    these: FloatArray
    raters: FloatArray
    such: FloatArray
    freedom: FloatArray
    n_instructions: int
    n_raters: int
    not_stated: NotStated | None
    n_tasks: int = 0
    rater_bias: FloatArray | None = None


@dataclass(frozen=True)
class IntervalEnds:
    """The ends (q,) of an interval, of 95 % if no other confidence was asked for; nan where `not_stated` says why."""

    low: FloatArray
    high: FloatArray
    not_stated: NotStated | None


@dataclass(frozen=True)
class _Taken:
    """What leaving out takes from the sums `all` (width,): instructions, raters, cells, the last two also centred."""

    all: FloatArray
    instructions: FloatArray
    raters: FloatArray
    cells: FloatArray
    centred_raters: FloatArray
    centred_cells: FloatArray


def crossed_variance(sums: TaskSums, statistic: Statistic, *, least_raters: int = 3, seed: int = 0) -> CrossedVariance:
    """Variances for these and for such raters by the delete-one jackknife over crossed clusters.

    Cameron, Gelbach and Miller (2011): V_I + V_R - V_C for instructions, raters, and cells (one rater's answers to one
    instruction). V_R - V_C is computed twice and the larger one taken: from the raters' answers as they are, and from what
    each changes beyond the mean change by an answer to the same task. The first misses raters of statistics that jump
    (leave-one-out agreement), the second severity where it enters squared (alpha).
    It is not below 0 and, with fewer than ten raters, not below the centred V_R - V_I. From five raters on it counts
    R/(R-1) times, because the median of a variance from few raters lies below its mean, and the degrees of freedom are the
    smaller of R-1 and I-1. With fewer, these are Satterthwaite's, V^2 / (V_I^2/(I-1) + D^2/(R-1)), not below the smaller of
    R-1 and I-1 and not above I-1 and 2(R-1), because the raters' part is itself uncertain where it is found small; D is
    V_R - V_C, or the centred V_R if that is larger. Above 2,000 clusters of a kind, 200 random groups of equal size are left
    out in their place.

    Where every task has one line (sums over answers that are not compared with each other), leaving out a rater makes no
    other quantity: the variance is not below V_I and V_R, and D is V_R with fewer than five raters. Raises NoStatistic
    where the statistic is undefined on the data themselves.
    """
    n_instructions, n_raters = int(sums.instruction.max()) + 1, int(sums.rater.max()) + 1
    taken = _taken(sums, np.random.default_rng(seed))
    values, defined = statistic(taken.all[None])
    if not defined[0]:
        raise NoStatistic("The quantity is undefined on these ratings: nothing in them varies as it needs.")
    value = values[0]
    nothing = np.full(value.shape, np.nan)
    these = _jackknife(taken.all - taken.instructions, statistic)
    reason: NotStated | None = None
    if n_instructions < MIN_CLUSTERS:
        reason = "few_instructions"
    elif n_raters < least_raters:
        reason = "few_raters"
    parts = [taken.raters, taken.cells, taken.centred_raters, taken.centred_cells]
    found = [None if reason else _jackknife(taken.all - part, statistic) for part in parts]
    v_r, v_c, centred_r, centred_c = found
    if these is None or v_r is None or v_c is None or centred_r is None or centred_c is None:
        left = nothing if these is None else these
        why = reason or "undefined_without_one"
        tasks = len(sums.instruction)
        return CrossedVariance(value, left, nothing, nothing, nothing, n_instructions, n_raters, why, tasks)
    answers = len(sums.rater) / len(sums.instruction)
    own = np.maximum(np.maximum(v_r - v_c, centred_r - centred_c), 0.0)
    unsure = np.maximum(own, centred_r)
    if answers == 1:
        own = np.maximum(own, v_r - these)
        unsure = np.maximum(own, v_r) if n_raters < FEW_RATERS else own
    elif n_raters < UNSURE_RATERS:
        own = np.maximum(own, centred_r - these)
        unsure = np.maximum(own, centred_r)
    own = own * median_of_few(n_raters)
    such = these + own
    below = these**2 / (n_instructions - 1) + unsure**2 / (n_raters - 1)
    freedom = np.divide(such**2, below, out=np.full(such.shape, n_instructions - 1.0), where=below > 0)
    fewest, most = sorted((n_raters - 1.0, n_instructions - 1.0))
    most = fewest if n_raters >= FEW_RATERS else min(most, max(2 * (n_raters - 1.0), fewest))
    freedom = np.minimum(np.maximum(freedom, fewest), most)
    without_one, _ = statistic(taken.all - taken.raters)
    return CrossedVariance(
        value,
        these,
        own,
        such,
        freedom,
        n_instructions,
        n_raters,
        None,
        len(sums.instruction),
        (len(taken.raters) - 1) * (without_one.mean(axis=0) - value),
    )


def median_of_few(raters: int) -> float:
    """By how much the raters' part of a variance is raised: R/(R-1) from five raters on.

    With three and four, the degrees of freedom and the floor alone hold what is promised of them.
    """
    return raters / (raters - 1) if raters >= FEW_RATERS else 1.0


def pooled_variance(
    top: FloatArray, bottom: FloatArray, raters: Labels, instructions: Labels, *, least_raters: int = 3, seed: int = 0
) -> CrossedVariance:
    """Variances of sum(top)/sum(bottom), one line an answer (n,), such as a share of all raters' answers.

    Raises NoStatistic where the denominators are 0.
    """
    rater, _ = cluster_codes(raters)
    instruction, _ = cluster_codes(instructions)
    parts = np.column_stack([top, bottom]).astype(np.float64)
    first = np.arange(len(parts) + 1)

    def whole(start: int, end: int) -> FloatArray:
        return parts[start:end]

    def without(start: int, end: int) -> FloatArray:
        return np.zeros((end - start, 2))

    sums = TaskSums(instruction, rater, first, 2, whole, without)
    return crossed_variance(sums, ratio_of_sums, least_raters=least_raters, seed=seed)


def named_variance(by_instruction: FloatArray, statistic: Statistic) -> CrossedVariance:
    """Variances of a statistic of named raters from sums (instructions, width): for these raters alone.

    Raises NoStatistic where the statistic is undefined on the data themselves.
    """
    all_of_them = by_instruction.sum(axis=0)
    values, defined = statistic(all_of_them[None])
    if not defined[0]:
        raise NoStatistic("The quantity is undefined on these ratings: nothing in them varies as it needs.")
    nothing = np.full(values[0].shape, np.nan)
    left = _jackknife(all_of_them - by_instruction, statistic) if len(by_instruction) > 1 else None
    these = nothing if left is None else left
    return CrossedVariance(values[0], these, nothing, nothing, nothing, len(by_instruction), 1, "named_raters")


def ratio_of_sums(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The first sum over the second: (n, 2) -> (n, 1)."""
    defined = sums[:, 1] > 1e-9
    return sums[:, :1] / np.where(defined, sums[:, 1], 1.0)[:, None], defined


def such_raters(variance: CrossedVariance, scale: Scale, *, confidence: float = 0.95) -> IntervalEnds:
    """The interval of this confidence for such raters, with Student's t on the scale named.

    A share has Wilson's interval of as many independent answers as would be as uncertain (where all are alike, as many as
    there are instructions), a correlation Fisher's scale by the delta method, everything else its own scale.
    """
    return _ends(variance, variance.such, variance.freedom, scale, variance.not_stated, confidence)


def these_raters(variance: CrossedVariance, scale: Scale, *, confidence: float = 0.95) -> IntervalEnds:
    """The interval of this confidence for these raters, as such_raters but with the instructions' variance alone."""
    freedom = np.full(variance.value.shape, variance.n_instructions - 1.0)
    reason: NotStated | None = None
    if variance.n_instructions < MIN_CLUSTERS:
        reason = "few_instructions"
    elif np.isnan(variance.these).any():
        reason = "undefined_without_one"
    return _ends(variance, variance.these, freedom, scale, reason, confidence)


def named_correlation_ends(value: FloatArray, variance: FloatArray, instructions: IntArray) -> IntervalEnds:
    """Ends of 95 % as these_raters states them of correlations (q,), each with its variance and number of instructions."""
    from scipy.special import stdtrit

    reach = np.asarray(stdtrit(instructions - 1.0, 0.975), dtype=np.float64)
    return _correlation_ends(value, reach * np.sqrt(variance), reach, instructions)


def _ends(
    found: CrossedVariance,
    variance: FloatArray,
    freedom: FloatArray,
    scale: Scale,
    reason: NotStated | None,
    confidence: float,
) -> IntervalEnds:
    from scipy.special import stdtrit

    value = found.value
    if reason is not None:
        nothing = np.full(value.shape, np.nan)
        return IntervalEnds(nothing, nothing, reason)
    reach = np.asarray(stdtrit(freedom, (1 + confidence) / 2), dtype=np.float64)
    if scale == "share":
        return _share_ends(found, variance, reach)
    half = reach * np.sqrt(variance)
    if scale == "plain":
        return IntervalEnds(value - half, value + half, None)
    return _correlation_ends(value, half, reach, found.n_instructions)


def _correlation_ends(
    value: FloatArray, half: FloatArray, reach: FloatArray, instructions: IntArray | int
) -> IntervalEnds:
    """Ends on Fisher's scale, and no closer to 1 than that of one that is 1 on every instruction.

    That one has the lower end 1 - 2b, where b is Wilson's upper end of a share of 0 in as many instructions: a correlation
    of two labels that are equally frequent loses twice the share of answers that differ.
    """
    inside = np.clip(value, -1 + 1e-12, 1 - 1e-12)
    on_scale, slope = np.arctanh(inside), 1 - inside**2
    low, high = np.tanh(on_scale - half / slope), np.tanh(on_scale + half / slope)
    bound = 1 - 2 * reach**2 / (instructions + reach**2)
    low = np.where(value > 1 - 1e-9, bound, low)
    high = np.where(value < -1 + 1e-9, -bound, high)
    return IntervalEnds(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64), None)


def _share_ends(found: CrossedVariance, variance: FloatArray, reach: FloatArray) -> IntervalEnds:
    tasks = float(max(found.n_tasks, found.n_instructions))
    ends = [
        wilson_ends(
            float(share),
            effective_answers(float(share), float(uncertain), float(found.n_instructions), tasks)
            * (REACH / float(far)) ** 2,
        )
        for share, uncertain, far in zip(found.value, variance, reach, strict=True)
    ]
    both = np.asarray(ends, dtype=np.float64)
    return IntervalEnds(both[:, 0], both[:, 1], None)


def _jackknife(sums: FloatArray, statistic: Statistic) -> FloatArray | None:
    """The jackknife's variance from sums (g, width) without each cluster; None where one of them defines no value."""
    values, defined = statistic(sums)
    if not (bool(defined.all()) and bool(np.isfinite(values).all())):
        return None
    g = len(values)
    return np.asarray((g - 1) / g * ((values - values.mean(axis=0)) ** 2).sum(axis=0), dtype=np.float64)


def _taken(sums: TaskSums, rng: np.random.Generator) -> _Taken:
    task = np.repeat(np.arange(len(sums.instruction)), np.diff(sums.first))
    raters, n_raters = sums.rater, int(sums.rater.max()) + 1
    instructions, n_instructions = _grouped(sums.instruction, rng)
    cells, n_cells = _cells(sums.instruction[task], raters, rng)
    found = {
        "instructions": np.zeros((n_instructions, sums.width)),
        "raters": np.zeros((n_raters, sums.width)),
        "cells": np.zeros((n_cells, sums.width)),
        "centred_raters": np.zeros((n_raters, sums.width)),
        "centred_cells": np.zeros((n_cells, sums.width)),
    }
    at_once = max(1, NUMBERS_AT_ONCE // sums.width)
    start = 0
    while start < len(sums.instruction):
        end = int(np.searchsorted(sums.first, sums.first[start] + at_once, side="right")) - 1
        end = min(max(end, start + 1), len(sums.instruction))
        lines = slice(int(sums.first[start]), int(sums.first[end]))
        whole, own = sums.whole(start, end), task[lines] - start
        found["instructions"] += sum_by(instructions[start:end], n_instructions, whole)
        taken = whole[own] - sums.without(lines.start, lines.stop)
        mean = sum_by(own, end - start, taken) / np.bincount(own, minlength=end - start)[:, None]
        for name, values in (("", taken), ("centred_", taken - mean[own])):
            found[f"{name}raters"] += sum_by(raters[lines], n_raters, values)
            found[f"{name}cells"] += sum_by(cells[lines], n_cells, values)
        start = end
    return _Taken(all=found["instructions"].sum(axis=0), **found)


def left_out_groups(
    instruction: IntArray, rater: IntArray, *, most: int = MOST_REPLICATES, seed: int = 0
) -> tuple[IntArray, IntArray, IntArray]:
    """For each line (n,), which replicate leaves it out: over instructions, over raters, over cells.

    Instructions and raters are codes from 0 up. Above `most` clusters of a kind there are 200 random groups of them.
    """
    rng = np.random.default_rng(seed)
    cells, _ = _cells(instruction, rater, rng, most)
    return _grouped(instruction, rng, most)[0], _grouped(rater, rng, most)[0], cells


def _grouped(codes: IntArray, rng: np.random.Generator, most: int = MOST_REPLICATES) -> tuple[IntArray, int]:
    """The codes themselves, or random groups of them of equal size where there are too many to leave out one by one."""
    n = int(codes.max()) + 1
    if n <= most:
        return codes, n
    group = np.empty(n, dtype=np.int64)
    group[rng.permutation(n)] = np.arange(n) % GROUPS
    return group[codes], GROUPS


def _cells(
    instruction: IntArray, rater: IntArray, rng: np.random.Generator, most: int = MOST_REPLICATES
) -> tuple[IntArray, int]:
    """Cell of each line, or a group of cells in which an instruction occurs once while it has up to 200 raters."""
    cell, given = numbered(instruction * (int(rater.max()) + 1) + rater)
    if len(given) <= most:
        return cell, len(given)
    owner = given // (int(rater.max()) + 1)
    order = np.lexsort((rng.random(len(given)), rng.permutation(int(owner.max()) + 1)[owner]))
    group = np.empty(len(given), dtype=np.int64)
    group[order] = np.arange(len(given)) % GROUPS
    return group[cell], GROUPS

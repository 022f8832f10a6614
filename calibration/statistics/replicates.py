"""Variances for these and for such raters of statistics that are no function of sums over tasks. PURE.

A rank correlation with people's means is one: it is computed anew without each instruction, each rater, and each cell (one
rater's answers to one instruction), as populations.py does from sums.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.populations import CrossedVariance, NotStated, left_out_groups
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray

NUMBERS_AT_ONCE = 200_000
"""Ratings of all replicates that are computed together: more of them leave the processor's cache."""
MOST_REPLICATES = 400
"""Above this many instructions, raters or cells, 200 random groups of them are left out in their place."""


@dataclass(frozen=True)
class Replicates:
    """Values of a statistic (q,) on all ratings, and without each instruction (I, q), rater (R, q) and cell (C, q)."""

    value: FloatArray
    instructions: FloatArray
    raters: FloatArray
    cells: FloatArray
    n_instructions: int
    n_raters: int


def variance_of_replicates(found: Replicates, *, least_raters: int = 3, between: bool = False) -> CrossedVariance:
    """Variances as those of crossed_variance, but with V_R - V_C taken once, and not below V_R - V_I.

    Leaving out raters changes a mean of raters by amounts that already cancel over the raters of a task. D in the degrees
    of freedom is V_R for any number of raters: with V_R - V_C in its place, correlations with 5 to 8 raters cover 91 to
    93 %. `between`: the statistic compares raters with each other, so that leaving one out changes others' terms as well;
    V_R then stands without V_C, and the degrees of freedom are R - 1. A replicate that is not finite leaves its variance
    unstated.
    """
    nothing = np.full(found.value.shape, np.nan)
    over = found.n_instructions, found.n_raters
    these = _spread(found.instructions)
    reason: NotStated | None = None
    if found.n_instructions < MIN_CLUSTERS:
        reason = "few_instructions"
    elif found.n_raters < least_raters:
        reason = "few_raters"
    v_r, v_c = (None, None) if reason else (_spread(found.raters), _spread(found.cells))
    if these is None or v_r is None or v_c is None:
        left, why = nothing if these is None else these, reason or "undefined_without_one"
        return CrossedVariance(found.value, left, nothing, nothing, nothing, *over, why)
    own = v_r if between else np.maximum(np.maximum(v_r - v_c, v_r - these), 0.0)
    such = these + own
    of_raters = np.maximum(own, v_r)
    below = these**2 / (found.n_instructions - 1) + of_raters**2 / (found.n_raters - 1)
    freedom = np.divide(such**2, below, out=np.full(such.shape, found.n_instructions - 1.0), where=below > 0)
    fewest, most = sorted((found.n_raters - 1.0, found.n_instructions - 1.0))
    freedom = np.full(such.shape, fewest) if between else np.minimum(np.maximum(freedom, fewest), most)
    return CrossedVariance(found.value, these, own, such, freedom, *over, None)


def replicated(
    instruction: IntArray,
    rater: IntArray,
    values: Callable[[BoolArray], FloatArray],
    between: Sequence[bool],
    *,
    least_raters: int = 3,
    intervals: bool = True,
    seed: int = 0,
) -> list[tuple[CrossedVariance, FloatArray] | tuple[None, FloatArray]]:
    """Variances of each quantity of `values` (kept ratings (b, n) -> (b, q)), and the quantity without each instruction.

    instruction and rater (n,) are codes from 0 up of the ratings; `between` (q,) is that of variance_of_replicates. None
    stands where a quantity is undefined (not finite) on all ratings. Without `intervals` nothing is left out.
    """
    value = values(np.ones((1, instruction.size), dtype=np.bool_))[0]
    without: list[FloatArray] = [np.zeros((0, value.size))] * 3
    if intervals:
        at_once = max(1, NUMBERS_AT_ONCE // instruction.size)
        without = [
            np.concatenate([values(codes != some[:, None]) for some in _parts(int(codes.max()) + 1, at_once)])
            for codes in left_out_groups(instruction, rater, most=MOST_REPLICATES, seed=seed)
        ]
    sizes = len(np.unique(instruction)), len(np.unique(rater))
    found: list[tuple[CrossedVariance, FloatArray] | tuple[None, FloatArray]] = []
    for at, of_raters in enumerate(between):
        by_instruction, by_rater, by_cell = (part[:, at : at + 1] for part in without)
        if not np.isfinite(value[at]):
            found.append((None, by_instruction[:, 0]))
            continue
        replicates = Replicates(value[at : at + 1], by_instruction, by_rater, by_cell, *sizes)
        variance = variance_of_replicates(replicates, least_raters=least_raters, between=of_raters)
        found.append((variance, by_instruction[:, 0]))
    return found


def _parts(groups: int, at_once: int) -> Iterator[IntArray]:
    for start in range(0, groups, at_once):
        yield np.arange(start, min(start + at_once, groups))


def _spread(values: FloatArray) -> FloatArray | None:
    """The jackknife's variance of replicates (g, q); None where one of them is not finite."""
    g = len(values)
    if not g or not bool(np.isfinite(values).all()):
        return None
    return np.asarray((g - 1) / g * ((values - values.mean(axis=0)) ** 2).sum(axis=0), dtype=np.float64)

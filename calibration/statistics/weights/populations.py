"""Intervals of fitted weights and of their R2 for such raters and for these raters. PURE.

Such raters: instructions and raters both drawn again, by refits without each instruction, rater and cell (see
calibration.statistics.crossed). A weight at its floor does not move when something is left out, and a bootstrap fails at a
boundary (Andrews 2000): its interval is that of its coefficient in least squares without a floor, cut at the floor.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.crossed import Crossed, WhyNot, crossed_refits
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, IntervalKind
from calibration.statistics.weights.least_squares import Sums, cluster_sums, floored_solve, unconstrained_solve

LEAST_UNEXPLAINED = 1e-15
LEAST_RATERS_FOR_R2 = 3
"""R2 depends on how much raters differ in severity, of which two raters tell too little (covered 72 to 81 %)."""
TheseKind: TypeAlias = Literal["bootstrap95", "t95", "leave_one_out_range", "none"]


@dataclass(frozen=True)
class WeightPopulations:
    """Ends of each weight of 100 (p,) and of R2, for such raters and for these raters.

    `not_stated` says why there are none for such raters, whose arrays are then empty; their R2 has none under three raters
    either. `kind` is that of the ends for these raters ("none": the arrays are empty). `raters_share` (p,) is the share of
    the variance of each weight that comes from the choice of raters.
    """

    such_low: FloatArray
    such_high: FloatArray
    such_r2_low: float | None
    such_r2_high: float | None
    these_low: FloatArray
    these_high: FloatArray
    these_r2_low: float | None
    these_r2_high: float | None
    kind: TheseKind
    not_stated: WhyNot
    raters_share: FloatArray
    n_instructions: int
    n_raters: int


@dataclass(frozen=True)
class TheseEnds:
    """Ends for these raters of weights that lie above the floor (p,), and of R2, as `kind` says."""

    low: FloatArray
    high: FloatArray
    r2_low: float
    r2_high: float
    kind: IntervalKind


def weight_populations(
    x: FloatArray,
    y: FloatArray,
    instructions: IntArray,
    raters: IntArray | None,
    *,
    floor: float,
    at_floor: BoolArray,
    these: TheseEnds,
    seed: int = 0,
) -> WeightPopulations:
    """Both intervals of the weights fitted to x (n, p) and y (n,); instructions and raters (n,) are codes from 0 up.

    `at_floor` (p,) marks the weights that the floor holds. `raters` None: the data number positions, not persons.
    """
    values, _ = fit_quantities(cluster_sums(x, y, np.zeros(len(y), dtype=np.int64), 1), floor)

    def without_each(codes: IntArray, groups: int) -> tuple[FloatArray, BoolArray]:
        return fit_quantities(cluster_sums(x, y, codes, groups).without_each(), floor)

    found = crossed_refits(instructions, raters, without_each, values[0], seed=seed)
    ends = populations_of(found, at_floor, positions=raters is None)
    if these.kind != "bootstrap95" or not len(ends.these_low):
        nothing = np.empty(0)
        stated = these.kind != "none"
        low, high = (these.low, these.high) if stated else (nothing, nothing)
        r2 = (these.r2_low, these.r2_high) if stated else (None, None)
    else:
        low, high = np.where(at_floor, ends.these_low, these.low), np.where(at_floor, ends.these_high, these.high)
        r2 = these.r2_low, these.r2_high
    return replace(ends, these_low=low, these_high=high, these_r2_low=r2[0], these_r2_high=r2[1], kind=these.kind)


def populations_of(found: Crossed, at_floor: BoolArray, *, positions: bool) -> WeightPopulations:
    """Both intervals, by the jackknife alone, from the crossed variances of the quantities of `fit_quantities`.

    `positions`: the data number positions, not persons.
    """
    nothing = np.empty(0)
    n_instructions, n_raters = int(found.n_instructions[0]), int(found.n_raters[0])
    why: WhyNot = found.not_stated[0] or ""
    if positions and why != "few_instructions":
        why = "positions"
    such_low, such_high = (nothing, nothing) if why else _cut_at_floor(found, at_floor, such=True)
    such_r2 = None if why or n_raters < LEAST_RATERS_FOR_R2 else r2_ends(found, such=True)
    stated = n_instructions >= MIN_CLUSTERS and not np.isnan(found.these).any()
    low, high = _cut_at_floor(found, at_floor, such=False) if stated else (nothing, nothing)
    r2 = r2_ends(found, such=False) if stated else None
    return WeightPopulations(
        such_low=such_low,
        such_high=such_high,
        such_r2_low=such_r2[0] if such_r2 else None,
        such_r2_high=such_r2[1] if such_r2 else None,
        these_low=low,
        these_high=high,
        these_r2_low=r2[0] if r2 else None,
        these_r2_high=r2[1] if r2 else None,
        kind="t95" if stated else "none",
        not_stated=why,
        raters_share=nothing if why else _share_of_raters(found, at_floor),
        n_instructions=n_instructions,
        n_raters=n_raters,
    )


def fit_quantities(sums: Sums, floor: float, raw: FloatArray | None = None) -> tuple[FloatArray, BoolArray]:
    """Quantities (b, 2p + 2) of each problem of a stack, and where they are defined (b,).

    Weights of 100, coefficients without a floor on the same scale, what the floor is of 100, and log(1 - R2), which spreads
    evenly. `raw` (b, p) are weights fitted otherwise, by default those of the problem itself.
    """
    weights = floored_solve(sums, floor) if raw is None else raw
    total = weights.sum(axis=1, keepdims=True)
    spread = sums.centred_squares()
    defined = (total[:, 0] > 0) & (spread > 1e-12 * np.maximum(sums.yy, 1e-300))
    scale = 100 / np.where(total > 0, total, 1.0)
    unexplained = np.log(np.maximum(sums.squared_error(weights) / np.where(defined, spread, 1.0), LEAST_UNEXPLAINED))
    return np.column_stack([scale * weights, scale * unconstrained_solve(sums), scale * floor, unexplained]), defined


def _cut_at_floor(found: Crossed, at_floor: BoolArray, *, such: bool) -> tuple[FloatArray, FloatArray]:
    low, high = found.ends(such=such)
    p = len(at_floor)
    least, most = max(float(low[2 * p]), 0.0), float(high[2 * p])
    start = np.where(at_floor, low[p : 2 * p], low[:p])
    end = np.where(at_floor, np.maximum(high[p : 2 * p], most), high[:p])
    return np.maximum(start, least), np.clip(end, least, 100.0)


def r2_ends(found: Crossed, *, such: bool) -> tuple[float, float]:
    """Ends of R2. What raters add to it is a variance itself, which few of them show too small and estimate badly: for such
    raters the middle is corrected by the jackknife's estimate of bias, and the degrees of freedom are R - 1."""
    from scipy.special import stdtrit

    reach = float(stdtrit(found.n_raters[-1] - 1, 0.975)) if such else float(found.reach(such=False)[-1])
    half = reach * float(np.sqrt(found.such[-1] if such else found.these[-1]))
    middle = float(found.value[-1]) - (float(found.bias[-1]) if such and found.bias is not None else 0.0)
    return float(1 - np.exp(middle + half)), float(1 - np.exp(middle - half))


def _share_of_raters(found: Crossed, at_floor: BoolArray) -> FloatArray:
    p = len(at_floor)
    places = np.where(at_floor, np.arange(p, 2 * p), np.arange(p))
    such = found.such[places]
    return np.divide(found.raters[places], such, out=np.zeros(p), where=such > 0)

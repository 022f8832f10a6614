"""R2 on held-out instructions, with its intervals for such raters and for these raters. PURE.

Each instruction is predicted by weights fitted without it. Instructions, raters and cells are left out in turn, and the
weights fitted anew, in ten folds of instructions: with the predictions as they are, whoever is left out would still be in
them, and the interval was too short (it covered 55 to 90 %). As for R2 of the fit, log(1 - R2) is what spreads evenly.
"""

from dataclasses import dataclass, replace

import numpy as np

from calibration.statistics.crossed import WhyNot, crossed_refits
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray
from calibration.statistics.weights.least_squares import Sums, cluster_sums, floored_solve
from calibration.statistics.weights.populations import LEAST_RATERS_FOR_R2, LEAST_UNEXPLAINED, r2_ends

FOLDS = 10
MOST_REFITS = 400
"""Above this many clusters of a kind, 200 random groups of them are left out."""


@dataclass(frozen=True)
class HeldOutR2:
    """95 % ends of R2 on held-out instructions for such raters and for these raters, None where none are stated.

    `not_stated` says why there are none for such raters, '' where there are.
    """

    such_low: float | None
    such_high: float | None
    these_low: float | None
    these_high: float | None
    not_stated: WhyNot


def held_out_r2(
    r2: float,
    x: FloatArray,
    y: FloatArray,
    instructions: IntArray,
    raters: IntArray | None,
    *,
    floor: float,
    seed: int = 0,
) -> HeldOutR2:
    """Ends of `r2`, that of predicting each instruction by weights fitted to x (n, p) and y (n,) without it.

    Instructions and raters (n,) are codes from 0 up. `raters` None: the data name no persons.
    """
    n_instructions = int(instructions.max()) + 1
    if n_instructions < MIN_CLUSTERS:
        return HeldOutR2(None, None, None, None, "few_instructions")
    fold = (np.random.default_rng(seed).permutation(n_instructions) % FOLDS)[instructions]
    by_fold = cluster_sums(x, y, fold, FOLDS)

    def without_each(codes: IntArray, groups: int) -> tuple[FloatArray, BoolArray]:
        taken = cluster_sums(x, y, codes * FOLDS + fold, groups * FOLDS)
        return _unexplained(by_fold, taken, groups, floor)

    nothing = replace(by_fold, **{name: np.zeros_like(value) for name, value in vars(by_fold).items()})
    value, _ = _unexplained(by_fold, nothing, 1, floor)
    found = crossed_refits(instructions, raters, without_each, value[0], most=MOST_REFITS, seed=seed)
    # What is left out moves the value in ten folds as it moves that without single instructions, around which they stand.
    found = replace(found, value=np.array([np.log(max(1 - r2, LEAST_UNEXPLAINED))]))
    why: WhyNot = found.not_stated[0] or ""
    if raters is None:
        why = "positions"
    elif not why and int(found.n_raters[0]) < LEAST_RATERS_FOR_R2:
        why = "few_raters"
    these = (None, None) if np.isnan(found.these).any() else r2_ends(found, such=False)
    such = (None, None) if why else r2_ends(found, such=True)
    return HeldOutR2(such[0], such[1], these[0], these[1], why)


def _unexplained(by_fold: Sums, taken: Sums, groups: int, floor: float) -> tuple[FloatArray, BoolArray]:
    """log(1 - R2) (groups, 1) of predicting each fold by the others without each group, whose sums by fold are `taken`."""

    def shaped(part: FloatArray) -> FloatArray:
        return part.reshape(groups, FOLDS, *part.shape[1:])

    left = Sums(*(own - shaped(part) for own, part in zip(_parts(by_fold), _parts(taken), strict=True)))
    whole = Sums(*(part.sum(axis=1) for part in _parts(left)))
    training = Sums(*(every[:, None] - part for every, part in zip(_parts(whole), _parts(left), strict=True)))
    flat = Sums(*(part.reshape(groups * FOLDS, *part.shape[2:]) for part in _parts(training)))
    tested = Sums(*(part.reshape(groups * FOLDS, *part.shape[2:]) for part in _parts(left)))
    error = tested.squared_error(floored_solve(flat, floor)).reshape(groups, FOLDS).sum(axis=1)
    spread = whole.centred_squares()
    defined = spread > 1e-12 * np.maximum(whole.yy, 1e-300)
    found = np.log(np.maximum(error / np.where(defined, spread, 1.0), LEAST_UNEXPLAINED))
    return found[:, None], np.asarray(defined, dtype=np.bool_)


def _parts(sums: Sums) -> tuple[FloatArray, ...]:
    return sums.gram, sums.xy, sums.yy, sums.y, sums.n

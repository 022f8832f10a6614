"""Which method predicts people's overall scores best: fitted weights, equal weights, ridge or partial least squares. PURE.

All four predict the same instructions in the same ten folds, each fitted to the other folds. Ridge regression (Hoerl and
Kennard 1970) and partial least squares with one response (Wold 1975), both with an intercept and items as they are scaled,
choose their strength and number of components by the same folds among those they are fitted to. Both are computed from sums
of products, which gives what scikit-learn's Ridge and PLSRegression give.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from calibration.statistics.crossed import holm
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import FloatArray, IntArray, Labels, cluster_codes
from calibration.statistics.weights.gains import SIGNIFICANT, Gain, error_gain
from calibration.statistics.weights.least_squares import COLLINEAR, Sums, cluster_sums, floored_solve
from calibration.statistics.weights.rows import check_rows

Method: TypeAlias = Literal["weights", "equal", "ridge", "pls"]
METHODS: tuple[Method, ...] = get_args(Method)
FOLDS, LEAST_FOLDS = 10, 3
PENALTIES = tuple(float(penalty) for penalty in np.logspace(-3, 4, 15))


@dataclass(frozen=True)
class RivalMethods:
    """Errors of the methods on held-out instructions, `best` with the least, `second` with the next.

    `mse` is in squared points of 0..10, `r2` around the mean of all rows. `gain` is that of the best over the second. `p`
    corrects the largest p of the best against another for all six pairs (Holm), None where no interval is stated; `certain`
    says that it is below .05.
    """

    mse: Mapping[Method, float]
    r2: Mapping[Method, float]
    best: Method
    second: Method
    gain: Gain
    p: float | None
    certain: bool
    folds: int
    instructions: int
    n: int


def rival_methods(
    answers: FloatArray,
    overall: FloatArray,
    instructions: Labels,
    raters: Labels | None = None,
    *,
    floor: float = 0.5,
    seed: int = 0,
) -> RivalMethods:
    """Compare the methods on answers (n, p) in 0..1 and overall (n,) in 0..10. Raises TooFewRatings under 3 instructions."""
    x, y = check_rows(answers, overall, floor)
    codes, k = cluster_codes(instructions)
    if k < LEAST_FOLDS:
        raise TooFewRatings(k, LEAST_FOLDS, "instructions")
    persons = None if raters is None else cluster_codes(raters)[0]
    folds = min(FOLDS, k)
    fold = (np.random.default_rng(seed).permutation(k) % folds)[codes]
    errors = _errors(x, y, fold, folds, floor)
    spread = float(((y - y.mean()) ** 2).sum())
    ordered = sorted(METHODS, key=lambda method: float(errors[method].sum()))
    gains = {
        pair: error_gain(errors[pair[1]] - errors[pair[0]], codes, persons, spread=spread)
        for pair in combinations(ordered, 2)
    }
    corrected = holm(np.array([np.nan if gain.p is None else gain.p for gain in gains.values()], dtype=np.float64))
    of_best = [p for pair, p in zip(gains, corrected, strict=True) if pair[0] == ordered[0]]
    largest = None if np.isnan(of_best).any() else float(max(of_best))
    return RivalMethods(
        mse={method: float(errors[method].mean()) for method in METHODS},
        r2={method: 1 - float(errors[method].sum()) / spread if spread > 0 else 0.0 for method in METHODS},
        best=ordered[0],
        second=ordered[1],
        gain=gains[ordered[0], ordered[1]],
        p=largest,
        certain=largest is not None and largest < SIGNIFICANT,
        folds=folds,
        instructions=k,
        n=len(y),
    )


def ridge(sums: Sums, penalty: float) -> FloatArray:
    """Intercept and coefficients (b, p + 1) of least squares with this penalty; sums are of the rows with a leading 1."""
    gram, xy, mean, mean_y = _centred(sums)
    p = xy.shape[1]
    slopes = np.asarray(np.linalg.solve(gram + penalty * np.eye(p), xy[:, :, None])[:, :, 0], dtype=np.float64)
    return _with_intercept(slopes, mean, mean_y)


def partial_least_squares(sums: Sums) -> FloatArray:
    """Intercept and coefficients (p, b, p + 1) with 1 to p components; sums are of the rows with a leading 1.

    With c components, the coefficients are the least-squares ones in the space of s, Gs, .. G^(c-1) s, where G = X'X and
    s = X'y of the centred rows (Helland 1988). Components beyond what the answers hold change nothing.
    """
    gram, xy, mean, mean_y = _centred(sums)
    b, p = xy.shape
    basis = np.zeros((b, p, p))
    slopes = np.zeros((b, p))
    path = []
    direction = xy
    for component in range(p):
        for _twice in range(2):
            direction = direction - np.einsum("bij,bkj,bk->bi", basis, basis.transpose(0, 2, 1), direction)
        length = np.linalg.norm(direction, axis=1, keepdims=True)
        scale = np.linalg.norm(np.einsum("bij,bj->bi", gram, basis[:, :, component - 1]), axis=1, keepdims=True)
        least = COLLINEAR * (scale if component else np.linalg.norm(xy, axis=1, keepdims=True))
        new = np.where(length > np.maximum(least, 1e-300), direction / np.maximum(length, 1e-300), 0.0)
        basis[:, :, component] = new
        left = xy - np.einsum("bij,bj->bi", gram, slopes)
        slopes = slopes + _in_space(gram, basis[:, :, : component + 1], left)
        path.append(_with_intercept(slopes, mean, mean_y))
        direction = np.einsum("bij,bj->bi", gram, new)
    return np.stack(path)


def _in_space(gram: FloatArray, basis: FloatArray, wanted: FloatArray) -> FloatArray:
    """The step (b, p) within the space of the basis (b, p, c), some of whose columns may be 0, that solves gram @ step."""
    inside = np.einsum("bpc,bpq,bqd->bcd", basis, gram, basis)
    aim = np.einsum("bpc,bp->bc", basis, wanted)
    found = np.einsum("bcd,bd->bc", np.linalg.pinv(inside, rcond=COLLINEAR**2, hermitian=True), aim)
    return np.asarray(np.einsum("bpc,bc->bp", basis, found), dtype=np.float64)


def _errors(x: FloatArray, y: FloatArray, fold: IntArray, folds: int, floor: float) -> dict[Method, FloatArray]:
    """Squared errors (n,) of each method on each row, fitted without the row's fold."""
    plain = cluster_sums(x, y, fold, folds).without_each()
    ones = np.column_stack([np.ones(len(y)), x])
    by_fold = cluster_sums(ones, y, fold, folds)
    squares = plain.gram.sum(axis=(1, 2))
    scale = np.where(squares > 0, plain.xy.sum(axis=1) / np.where(squares > 0, squares, 1.0), 0.0)
    free = np.column_stack([np.zeros(folds), floored_solve(plain, floor)])
    equal = np.column_stack([np.zeros(folds), np.repeat(scale[:, None], x.shape[1], axis=1)])
    found: dict[Method, FloatArray] = {"weights": free, "equal": equal}
    found["ridge"], found["pls"] = _tuned(by_fold, folds)
    return {method: (y - (ones * coefficients[fold]).sum(axis=1)) ** 2 for method, coefficients in found.items()}


def _tuned(by_fold: Sums, folds: int) -> tuple[FloatArray, FloatArray]:
    """Ridge's and partial least squares' coefficients (folds, p + 1) without each fold, tuned on the folds that are left."""
    pairs = np.array([(f, g) for f in range(folds) for g in range(folds) if f != g], dtype=np.int64)
    counts = np.ones((len(pairs), folds))
    counts[np.arange(len(pairs))[:, None], pairs] = 0.0
    inner, outer = by_fold.combine(counts), by_fold.without_each()
    inside = np.zeros((len(pairs), folds))
    inside[np.arange(len(pairs)), pairs[:, 1]] = 1.0
    held_out = by_fold.combine(inside)
    tuned = []
    for fitted, final in (
        (np.stack([ridge(inner, penalty) for penalty in PENALTIES]), [ridge(outer, penalty) for penalty in PENALTIES]),
        (partial_least_squares(inner), list(partial_least_squares(outer))),
    ):
        errors = np.array([held_out.squared_error(coefficients) for coefficients in fitted])
        best = errors.reshape(len(fitted), folds, folds - 1).sum(axis=2).argmin(axis=0)
        tuned.append(np.stack([final[best[f]][f] for f in range(folds)]))
    return tuned[0], tuned[1]


def _centred(sums: Sums) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """X'X and X'y of the centred rows, the means (b, p) of the items and (b,) of y."""
    n = np.maximum(sums.n, 1.0)
    mean, mean_y = sums.gram[:, 0, 1:] / n[:, None], sums.y / n
    gram = sums.gram[:, 1:, 1:] - n[:, None, None] * mean[:, :, None] * mean[:, None, :]
    return gram, sums.xy[:, 1:] - n[:, None] * mean * mean_y[:, None], mean, mean_y


def _with_intercept(slopes: FloatArray, mean: FloatArray, mean_y: FloatArray) -> FloatArray:
    return np.column_stack([mean_y - (slopes * mean).sum(axis=1), slopes])

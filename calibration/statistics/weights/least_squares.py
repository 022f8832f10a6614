"""Least squares with a lower bound on every weight, for one problem or a thousand at once. PURE.

Everything a refit needs of a set of rows is in its sums of products, which add up over rows: with them a refit on
a bootstrap draw or without one cluster costs a few small matrix operations however many rows there are.
"""

from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import not_converged
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray

COLLINEAR = 1e-6
"""Directions whose singular value is below this share of the largest count as empty (squared for products)."""

ROUNDING = 1e-10
"""Values smaller than this share of the largest are what rounding leaves of zero."""

KKT_ALLOWED = 1e-8
"""Largest violation of the optimality conditions (see kkt_violation) accepted of a fit."""

REFIT_ALLOWED = 1e-6
"""The same for refits from sums of products, which lose half the digits where items are nearly collinear."""


@dataclass(frozen=True)
class Sums:
    """Sums of products over rows, for one set of rows or a stack of sets (leading axes `...`).

    gram (..., p, p) = X'X, xy (..., p) = X'y, yy (...) = y'y, y (...) = sum of y, n (...) = rows.
    """

    gram: FloatArray
    xy: FloatArray
    yy: FloatArray
    y: FloatArray
    n: FloatArray

    def combine(self, counts: FloatArray) -> "Sums":
        """A stack of k clusters, each entering `counts` (draws, k) times -> a stack of draws."""
        k, p = self.xy.shape
        return Sums(
            (counts @ self.gram.reshape(k, p * p)).reshape(-1, p, p),
            counts @ self.xy,
            counts @ self.yy,
            counts @ self.y,
            counts @ self.n,
        )

    def total(self) -> "Sums":
        """The sums over the whole stack."""
        return Sums(*(part.sum(axis=0) for part in (self.gram, self.xy, self.yy, self.y, self.n)))

    def without_each(self) -> "Sums":
        """A stack whose i-th entry holds all clusters but the i-th."""
        rest = self.total()
        return Sums(rest.gram - self.gram, rest.xy - self.xy, rest.yy - self.yy, rest.y - self.y, rest.n - self.n)

    def squared_error(self, weights: FloatArray) -> FloatArray:
        """Sum of squared errors of predictions X w, for weights (..., p)."""
        quadratic = np.einsum("...i,...ij,...j->...", weights, self.gram, weights)
        error = self.yy - 2 * np.einsum("...i,...i->...", self.xy, weights) + quadratic
        return np.asarray(np.maximum(error, 0.0), dtype=np.float64)

    def centred_squares(self) -> FloatArray:
        """Sum of squares of y around its own mean; 0 where there is no row."""
        spread = self.yy - self.y**2 / np.maximum(self.n, 1.0)
        return np.asarray(np.maximum(spread, 0.0), dtype=np.float64)


def cluster_sums(x: FloatArray, y: FloatArray, codes: IntArray, clusters: int) -> Sums:
    """The sums of each cluster's rows: x (n, p), y (n,), codes (n,) in 0..clusters-1."""
    p = x.shape[1]
    upper = np.triu_indices(p)
    products = np.column_stack([x[:, upper[0]] * x[:, upper[1]], x * y[:, None], y * y, y, np.ones_like(y)])
    sums = np.zeros((clusters, products.shape[1]))
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    if present.size:
        sums[present] = np.add.reduceat(products[order], starts, axis=0)
    gram = np.empty((clusters, p, p))
    gram[:, upper[0], upper[1]] = gram[:, upper[1], upper[0]] = sums[:, : upper[0].size]
    tail = sums[:, upper[0].size :]
    return Sums(gram, tail[:, :p].copy(), tail[:, p].copy(), tail[:, p + 1].copy(), tail[:, p + 2].copy())


def floored_solve(sums: Sums, floor: float) -> FloatArray:
    """Weights (b, p) that minimise |y - X w|^2 subject to w >= floor, for a stack of b problems.

    The exact minimiser, by block principal pivoting over all problems together (Kim and Park 2011) and by
    Lawson and Hanson's method one by one where directions are empty or pivoting has not settled; of several
    minimisers the one whose excess over the floor has the smallest norm. Raises Undefined (NotConverged).
    """
    row_sums = sums.gram.sum(axis=-1)
    target = sums.xy - floor * row_sums
    full = _full_rank(sums.gram)
    excess = np.zeros_like(target)
    settled = np.zeros(len(target), dtype=np.bool_)
    if full.any():
        excess[full], settled[full] = _pivot(sums.gram[full], target[full])
    for index in np.flatnonzero(~settled):
        excess[index] = _one_by_one(sums.gram[index], target[index])
    gradient = np.einsum("bij,bj->bi", sums.gram, excess) - target
    size = sums.yy + floor**2 * row_sums.sum(axis=-1)
    worst = float(kkt_violation(gradient, excess, np.einsum("bii->bi", sums.gram), size).max(initial=0.0))
    if worst > REFIT_ALLOWED:
        raise not_converged("Constrained least squares", worst, REFIT_ALLOWED)
    return np.asarray(floor + excess, dtype=np.float64)


def partly_floored_solve(sums: Sums, free: int) -> FloatArray:
    """Weights (b, p) that minimise |y - X w|^2, of which all but the last `free` are not below 0; of smallest norm where
    directions are empty. Raises NotConverged."""
    held = sums.xy.shape[-1] - free
    if not free:
        return floored_solve(sums, 0.0)
    # What the free columns explain is taken out of the others and of y, and given back to the free ones.
    inverse = np.linalg.pinv(sums.gram[:, held:, held:], rcond=COLLINEAR, hermitian=True)
    across = inverse @ sums.gram[:, held:, :held]
    own = np.einsum("bij,bj->bi", inverse, sums.xy[:, held:])
    between = sums.gram[:, :held, held:]
    gram = sums.gram[:, :held, :held] - between @ across
    xy = sums.xy[:, :held] - np.einsum("bij,bj->bi", between, own)
    # A column that is a sum of the free ones leaves only rounding, on which no weight can rest.
    known = np.einsum("bii->bi", gram) > COLLINEAR * np.einsum("bii->bi", sums.gram[:, :held, :held])
    gram = np.where(known[:, :, None] & known[:, None, :], gram, 0.0)
    left = floored_solve(Sums(gram, np.where(known, xy, 0.0), sums.yy, sums.y, sums.n), 0.0)
    return np.concatenate([left, own - np.einsum("bij,bj->bi", across, left)], axis=1)


def unconstrained_solve(sums: Sums) -> FloatArray:
    """Coefficients (b, p) of least squares without a floor, of smallest norm where directions are empty."""
    if bool(_full_rank(sums.gram).all()):
        return np.asarray(np.linalg.solve(sums.gram, sums.xy[:, :, None])[:, :, 0], dtype=np.float64)
    inverse = np.linalg.pinv(sums.gram, rcond=COLLINEAR, hermitian=True)
    return np.asarray(np.einsum("bij,bj->bi", inverse, sums.xy), dtype=np.float64)


def kkt_violation(
    gradient: FloatArray, excess: FloatArray, squares: FloatArray, target_squares: FloatArray
) -> FloatArray:
    """How far each problem is from optimal, relative to its size.

    gradient (b, p) = X'(Xv - r) should be 0 where v > 0 and not negative where v = 0; what it is off is divided by
    the lengths of the longest column, from squares (b, p), and of what is predicted, from target_squares (b,).
    """
    length = np.sqrt(np.maximum(squares.max(axis=1), 0.0) * np.maximum(target_squares, 0.0))
    off = np.where(excess > 0, np.abs(gradient), np.maximum(-gradient, 0.0)).max(axis=1)
    return np.asarray(off / np.maximum(length, 1e-300), dtype=np.float64)


def _full_rank(gram: FloatArray) -> BoolArray:
    """Which problems of the stack have no (nearly) empty direction."""
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh(gram)
        return np.asarray(values[:, 0] > 100 * COLLINEAR**2 * values[:, -1])
    # A Cholesky pivot is what a column keeps once its predecessors are taken out; the margin covers the
    # gap between the smallest pivot and the smallest eigenvalue, and errs towards the slower exact path.
    pivots = np.einsum("bii->bi", factor) ** 2
    return np.asarray(pivots.min(axis=1) > 1e4 * COLLINEAR**2 * np.einsum("bii->b", gram))


def _pivot(gram: FloatArray, target: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Block principal pivoting of min v'Gv/2 - t'v, v >= 0; returns v and which problems settled."""
    count, p = target.shape
    excess = np.zeros((count, p))
    settled = np.zeros(count, dtype=np.bool_)
    passive = np.ones((count, p), dtype=np.bool_)
    fewest = np.full(count, p + 1)
    patience = np.full(count, 3)
    diagonal = np.einsum("bii->bi", gram)
    open_ones = np.arange(count)
    for _ in range(20 + 5 * p):
        inside = passive[open_ones]
        problem = gram[open_ones]
        both = inside[:, :, None] & inside[:, None, :]
        reduced = np.where(both, problem, 0.0)
        corner = np.arange(p)
        reduced[:, corner, corner] = diagonal[open_ones]
        v = np.linalg.solve(reduced, np.where(inside, target[open_ones], 0.0)[:, :, None])[:, :, 0]
        v = np.where(inside, v, 0.0)
        gradient = np.einsum("bij,bj->bi", problem, v) - target[open_ones]
        slack = 1e-12 * np.abs(target[open_ones]).max(axis=1, keepdims=True)
        wrong = np.where(inside, v < 0, gradient < -slack)
        bad = wrong.sum(axis=1)
        done = bad == 0
        excess[open_ones[done]] = v[done]
        settled[open_ones[done]] = True
        left = open_ones[~done]
        if not left.size:
            break
        wrong, bad = wrong[~done], bad[~done]
        better = bad < fewest[left]
        patience[left] = np.where(better, 3, patience[left] - 1)
        fewest[left] = np.minimum(fewest[left], bad)
        # Exchanging every wrong variable is fast but may cycle; exchanging only the last one cannot.
        last = np.zeros_like(wrong)
        last[np.arange(len(left)), p - 1 - wrong[:, ::-1].argmax(axis=1)] = True
        passive[left] ^= np.where((patience[left] >= 0)[:, None], wrong, last)
        open_ones = left
    return excess, settled


def _one_by_one(gram: FloatArray, target: FloatArray) -> FloatArray:
    """The smallest-norm minimiser of one problem, through the square root of its products."""
    values, vectors = np.linalg.eigh(gram)
    held = values > COLLINEAR**2 * max(float(values[-1]), 0.0)
    root = np.sqrt(values[held])
    directions = vectors[:, held].T
    return collinear_solve(root[:, None] * directions, directions @ target / root)


def collinear_solve(rows: FloatArray, wanted: FloatArray) -> FloatArray:
    """The v >= 0 of smallest norm among the minimisers of |rows @ v - wanted|, rows (r, p) of full rank r <= p.

    Which entries are zero is read off a fit with a small ridge, whose limit this is (with none at full rank); the
    others then follow exactly, and the optimality conditions say which ridge was right. Columns without length
    (items nobody credits) get 0: rounding must not make them count. Raises Undefined (NotConverged).
    """
    length = np.linalg.norm(rows, axis=0)
    used = np.flatnonzero(length > COLLINEAR * length.max(initial=0.0))
    nothing = np.zeros(rows.shape[1])
    size = float(np.linalg.norm(wanted))
    if not used.size or size == 0:
        return nothing
    scale = float(length.max())
    scaled, aim = rows[:, used] / scale, wanted / size
    best, least = nothing, float("inf")
    ridges = (1e-4, 1e-6, 1e-5, 1e-7, 1e-8, 1e-3, 1e-2)
    for ridge in (0.0, *ridges) if len(rows) == used.size else (*ridges, 0.0):
        stacked = np.vstack([scaled, ridge * np.eye(used.size)])
        positive = nonnegative(stacked, np.concatenate([aim, np.zeros(used.size)])) > 0
        found = np.zeros(used.size)
        found[positive] = np.linalg.pinv(scaled[:, positive], rcond=COLLINEAR) @ aim
        below = max(0.0, -float(found.min()))
        found = np.maximum(found, 0.0)
        gradient = scaled.T @ (scaled @ found - aim)
        off = max(below, float(np.where(found > 0, np.abs(gradient), -gradient).max()))
        if off < least:
            best, least = nothing.copy(), off
            best[used] = np.where(found <= ROUNDING * found.max(), 0.0, found) * size / scale
        if least <= ROUNDING:
            break
    if least > REFIT_ALLOWED:
        raise not_converged("The fit of collinear items", least, REFIT_ALLOWED)
    return best


def nonnegative(x: FloatArray, y: FloatArray) -> FloatArray:
    """A minimiser of |Xv - y| over v >= 0 (Lawson and Hanson). Raises Undefined (NotConverged)."""
    from scipy.optimize import nnls

    try:
        solution, _ = nnls(x, y)
    except RuntimeError as stopped:
        raise not_converged("Non-negative least squares", float("inf"), KKT_ALLOWED) from stopped
    return np.asarray(solution, dtype=np.float64)

"""Each rater's severity and drift, by a mixed model with raters and items crossed. PURE.

score = mean + common drift * position + severity of the rater + drift of the rater * position + item + error, the last
four random. Variances come from restricted maximum likelihood; beyond a size that takes seconds, from the moments in
variance.py (then raters share one drift). Raters' effects are the best linear unbiased predictions from Henderson's
equations with these variances, items absorbed.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import first_labels
from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings, not_converged
from calibration.statistics.raters.variance import split_variance
from calibration.statistics.resampling import FloatArray, IntArray, Labels, cluster_codes

Estimator: TypeAlias = Literal["reml", "moments"]

LIKELIHOOD_CELLS = 1_500_000
"""Scores times random effects up to which the likelihood is maximised (some seconds)."""

LARGEST_RATIO = 1e8
"""A variance this many times the error's leaves no error to speak of: the fit of raters who each give one number ends here,
and not at a ratio without an end."""

REACH = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""


@dataclass(frozen=True)
class RaterSeverity:
    """`severity`: points that a rater scores below the average rater on the same items (negative: lenient), shrunk.

    `drift`: points its scores change from the start of a session to its end, beyond the change common to all. The ends
    are 95 % of the prediction error, with the variances taken as known. `n` scores.
    """

    severity: float
    severity_low: float
    severity_high: float
    drift: float
    drift_low: float
    drift_high: float
    n: int


@dataclass(frozen=True)
class SeverityFit:
    """Raters' effects, and the variances (squared points) of raters, their drifts, items and error behind them.

    `common_drift` with its 95 % ends is everybody's change from the start to the end of a session; 0 with
    ends 0 where no positions were given. A variance of 0 is at the limit of its range; the effects are then 0 too.
    """

    raters: Mapping[Hashable, RaterSeverity]
    rater_variance: float
    drift_variance: float
    item_variance: float
    error_variance: float
    mean: float
    common_drift: float
    common_drift_low: float
    common_drift_high: float
    estimator: Estimator
    n: int


@dataclass(frozen=True)
class _Rows:
    y: FloatArray
    rater: IntArray
    raters: int
    item: IntArray
    items: int
    place: FloatArray
    drifting: bool


def fit_severity(
    scores: FloatArray,
    *,
    items: Labels,
    raters: Labels,
    positions: FloatArray | None = None,
    estimator: Estimator | None = None,
) -> SeverityFit:
    """Severity of each rater from scores (n,); one line per score of one criterion.

    positions (n,) grow through each rater's session and are scaled to 0..1 for each rater, then centred, so that
    severity is that of mid-session. Without `estimator` the size decides. Raises TooFewRatings under two raters or
    items or where no item has two raters, ConstantScores, Undefined (NotConverged).
    """
    rows = _rows(scores, items, raters, positions)
    effects = rows.raters * (2 if rows.drifting else 1) + rows.items
    chosen: Estimator = estimator or ("reml" if rows.y.size * effects <= LIKELIHOOD_CELLS else "moments")
    variances = _by_likelihood(rows) if chosen == "reml" else _by_moments(rows)
    solution, errors, places = _henderson(rows, variances)
    names = first_labels(raters, rows.rater, rows.raters)
    given = np.bincount(rows.rater, minlength=rows.raters)
    found = {}
    for name, code in names:
        level, spread = _effect(solution, errors, places.get("rater"), code)
        drift, wide = _effect(solution, errors, places.get("drift"), code)
        found[name] = RaterSeverity(
            severity=-level,
            severity_low=-level - REACH * spread,
            severity_high=-level + REACH * spread,
            drift=drift,
            drift_low=drift - REACH * wide,
            drift_high=drift + REACH * wide,
            n=int(given[code]),
        )
    common, unsure = (float(solution[1]), float(errors[1])) if rows.drifting else (0.0, 0.0)
    return SeverityFit(
        raters=found,
        rater_variance=variances[0],
        drift_variance=variances[1],
        item_variance=variances[2],
        error_variance=variances[3],
        mean=float(solution[0]),
        common_drift=common,
        common_drift_low=common - REACH * unsure,
        common_drift_high=common + REACH * unsure,
        estimator=chosen,
        n=int(rows.y.size),
    )


def _rows(scores: FloatArray, items: Labels, raters: Labels, positions: FloatArray | None) -> _Rows:
    y = np.asarray(scores, dtype=np.float64)
    rater, people = cluster_codes(raters)
    item, things = cluster_codes(items)
    if not rater.size == item.size == y.size:
        raise ValueError(f"{y.size} scores need as many raters and items; give one of each a score.")
    if not np.isfinite(y).all():
        raise NoStatistic("Scores must be finite numbers; leave out the ones that are missing.")
    if people < 2:
        raise TooFewRatings(people, 2, "raters")
    if things < 2:
        raise TooFewRatings(things, 2, "items")
    if np.count_nonzero(np.diff(np.sort(item * people + rater), prepend=-1)) <= things:
        raise TooFewRatings(1, 2, "raters of any one item")
    if np.ptp(y) == 0:
        raise ConstantScores("scores", float(y[0]))
    place = np.zeros(y.size)
    if positions is not None:
        when = np.asarray(positions, dtype=np.float64)
        first, last = np.full(people, np.inf), np.full(people, -np.inf)
        np.minimum.at(first, rater, when)
        np.maximum.at(last, rater, when)
        length = (last - first)[rater]
        place = np.where(length > 0, (when - first[rater]) / np.where(length > 0, length, 1.0) - 0.5, 0.0)
    return _Rows(y, rater, people, item, things, place, bool(np.ptp(place) > 0))


def _by_likelihood(rows: _Rows) -> tuple[float, float, float, float]:
    """Variances of raters, drifts, items and error, by restricted maximum likelihood."""
    from scipy.optimize import minimize

    likelihood = _Likelihood(rows)
    start = np.ones(len(likelihood.blocks) + 1)
    # Ratios to the error's variance, so that a variance at 0 is an end of the range and not a limit.
    try:
        found = minimize(
            likelihood.deviance,
            start,
            jac="3-point",
            method="L-BFGS-B",
            bounds=[(0.0, LARGEST_RATIO)] * start.size,
            options={"ftol": 1e-13, "gtol": 1e-7, "maxiter": 500},
        )
    except np.linalg.LinAlgError as error:
        raise not_converged("The mixed model of raters and items", float("inf"), 1e-5) from error
    if found.status == 1:
        raise not_converged("The mixed model of raters and items", float(np.abs(found.jac).max()), 1e-5)
    error_variance = likelihood.error_variance(found.x)
    ratios = [float(ratio) for ratio in found.x]
    drift = ratios[1] * error_variance if rows.drifting else 0.0
    return ratios[0] * error_variance, drift, ratios[-1] * error_variance, error_variance


class _Likelihood:
    """The restricted likelihood of the ratios of the variances of raters, drifts (if any) and items to the error's.

    Henderson's equations with every random column times the root of its ratio have the determinant of the restricted
    likelihood (Harville 1977, J. Am. Stat. Assoc. 72, 320). The items' part of them is diagonal and is absorbed, so
    that an evaluation takes the items times the square of the raters.
    """

    def __init__(self, rows: _Rows) -> None:
        fixed = _fixed(rows)
        indicator = _indicator(rows.rater, rows.raters)
        columns = [fixed, indicator] + ([indicator * rows.place[:, None]] if rows.drifting else [])
        table = np.hstack(columns)
        self.fixed, self.blocks = fixed.shape[1], [rows.raters] * (len(columns) - 1)
        centred = rows.y - rows.y.mean()
        self.squares, self.right = float(centred @ centred), table.T @ centred
        self.products = table.T @ table
        self.given = np.bincount(rows.item, minlength=rows.items).astype(np.float64)
        self.by_item = np.zeros((rows.items, table.shape[1]))
        np.add.at(self.by_item, rows.item, table)
        self.item_sums = np.bincount(rows.item, weights=centred, minlength=rows.items)
        self.freedom = rows.y.size - self.fixed

    def deviance(self, ratios: FloatArray) -> float:
        """-2 times the logarithm of the restricted likelihood at ratios (2,) or (3,), up to a constant."""
        logarithm, rest = self._solved(ratios)
        return float(self.freedom * np.log(rest) + logarithm)

    def error_variance(self, ratios: FloatArray) -> float:
        return float(self._solved(ratios)[1] / self.freedom)

    def _solved(self, ratios: FloatArray) -> tuple[float, float]:
        """The logarithm of the determinant of the equations, and the sum of squares that they leave."""
        from scipy.linalg import solve_triangular

        scale = np.concatenate([np.ones(self.fixed), np.repeat(np.sqrt(ratios[:-1]), self.blocks)])
        diagonal = 1 + ratios[-1] * self.given
        share = ratios[-1] / diagonal
        table = self.products - self.by_item.T @ (share[:, None] * self.by_item)
        table = scale[:, None] * table * scale
        random = np.arange(self.fixed, scale.size)
        table[random, random] += 1
        right = scale * (self.right - self.by_item.T @ (share * self.item_sums))
        factor = np.linalg.cholesky(table)
        half = solve_triangular(factor, right, lower=True)
        left = self.squares - float(share @ self.item_sums**2) - float(half @ half)
        logarithm = float(np.log(diagonal).sum()) + 2 * float(np.log(np.diag(factor)).sum())
        return logarithm, max(left, 1e-12 * self.squares)


def _by_moments(rows: _Rows) -> tuple[float, float, float, float]:
    adjusted = rows.y
    if rows.drifting:
        fixed = _fixed(rows)
        adjusted = rows.y - fixed @ np.linalg.lstsq(fixed, rows.y, rcond=None)[0]
    split = split_variance(adjusted, {"rater": rows.rater, "item": rows.item}).components
    return split["rater"].variance, 0.0, split["item"].variance, split["residual"].variance


def _henderson(
    rows: _Rows, variances: tuple[float, float, float, float]
) -> tuple[FloatArray, FloatArray, dict[str, int]]:
    """Fixed and raters' effects, the standard deviations of their errors, and where each block of effects starts."""
    from scipy.sparse import csr_array, diags_array, hstack

    rater, drift, item, error = variances
    n = rows.y.size
    error = max(error, 1e-12 * float(np.var(rows.y)))
    fixed = _fixed(rows)
    parts, penalty, places = [csr_array(fixed)], [np.zeros(fixed.shape[1])], {}
    lines = np.arange(n)
    for name, variance, values in (("rater", rater, np.ones(n)), ("drift", drift, rows.place)):
        if variance > 0:
            places[name] = sum(part.shape[1] for part in parts)
            parts.append(csr_array((values, (lines, rows.rater)), shape=(n, rows.raters)))
            penalty.append(np.full(rows.raters, error / variance))
    # Without differences between items there is nothing to absorb.
    given = np.bincount(rows.item, minlength=rows.items)
    absorbed = 1 / (given + error / item) if item > 0 else np.zeros(rows.items)
    ones = csr_array((np.ones(n), (rows.item, lines)), shape=(rows.items, n))
    design = csr_array(hstack(parts))
    crossed = csr_array(ones @ design)
    weighted = csr_array(diags_array(absorbed) @ crossed)
    table = (design.T @ design - crossed.T @ weighted).toarray() + np.diag(np.concatenate(penalty))
    right = np.asarray(design.T @ rows.y) - np.asarray(weighted.T @ np.asarray(ones @ rows.y))
    inverse = _inverse(table)
    spread = np.sqrt(np.maximum(np.diag(inverse), 0.0) * error)
    return np.asarray(inverse @ right, dtype=np.float64), np.asarray(spread, dtype=np.float64), places


def _inverse(table: FloatArray) -> FloatArray:
    """The inverse of a symmetric positive definite matrix, in half the time a general one takes."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, failed = dpotrf(table, lower=1)
    upper_left, broken = dpotri(factor, lower=1)
    if failed or broken:
        return np.asarray(np.linalg.pinv(table, hermitian=True), dtype=np.float64)
    lower = np.tril(upper_left)
    return np.asarray(lower + lower.T - np.diag(np.diag(lower)), dtype=np.float64)


def _effect(solution: FloatArray, errors: FloatArray, start: int | None, code: int) -> tuple[float, float]:
    return (0.0, 0.0) if start is None else (float(solution[start + code]), float(errors[start + code]))


def _fixed(rows: _Rows) -> FloatArray:
    ones = np.ones(rows.y.size)
    return np.column_stack([ones, rows.place]) if rows.drifting else ones[:, None]


def _indicator(codes: IntArray, levels: int) -> FloatArray:
    table = np.zeros((codes.size, levels))
    table[np.arange(codes.size), codes] = 1.0
    return table

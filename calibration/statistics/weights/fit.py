"""Checklist weights fitted to people's overall scores, with the certificate that says what they are worth. PURE.

Rows are annotations: the checklist answers of one response by one rater, mapped to 0..1, and the overall score
the same rater gave it, mapped to 0..10. HelloBench (arXiv 2409.16191), Eq. 1 to 3 and appendix G.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibration.statistics.errors import ConstantScores, TooFewRatings, not_converged
from calibration.statistics.resampling import (
    MIN_CLUSTERS,
    BoolArray,
    FloatArray,
    IntervalKind,
    Labels,
    cluster_codes,
    cluster_intervals,
)
from calibration.statistics.weights.gains import Gain, better_than_equal, equal_gain, left_out_errors
from calibration.statistics.weights.held_out import HeldOutR2, held_out_r2
from calibration.statistics.weights.least_squares import (
    COLLINEAR,
    KKT_ALLOWED,
    REFIT_ALLOWED,
    Sums,
    cluster_sums,
    collinear_solve,
    floored_solve,
    kkt_violation,
    nonnegative,
)
from calibration.statistics.weights.pooling import PooledCategory, PooledFits, pool_weights
from calibration.statistics.weights.populations import (
    LEAST_UNEXPLAINED,
    TheseEnds,
    WeightPopulations,
    weight_populations,
)
from calibration.statistics.weights.rows import check_rows

__all__ = [
    "Baseline",
    "OutOfSample",
    "PooledCategory",
    "PooledFits",
    "WeightCertificate",
    "WeightFit",
    "WeightIntervals",
    "certify_weights",
    "fit_weights",
    "pool_weights",
]

DEFAULT_FLOOR = 0.5
ROWS_PER_ITEM = 10
NOT_BETTER = "not_better_than_equal"


@dataclass(frozen=True)
class WeightFit:
    """Weights of one category's items, and how well they reproduce the overall scores they were fitted to.

    `weights` (p,) sum to 100; `raw_weights` (p,) are in points of overall score per full answer, none below
    `floor`; `r2` is centred, `mse` is on the 0..10 scale, both over the `n` rows fitted. `at_floor` (p,) marks
    weights that the floor holds. With `collinear` items (`rank` below p) many weights fit equally well and these
    have the smallest excess over the floor; `condition_number` is that of the answers, over the directions that
    are not empty. `kkt_violation` proves the optimum: 0 is exact, 1e-8 (1e-6 if collinear) is the most let through.
    """

    weights: FloatArray
    raw_weights: FloatArray
    r2: float
    mse: float
    n: int
    at_floor: BoolArray
    rank: int
    condition_number: float
    kkt_violation: float
    collinear: bool
    floor: float


@dataclass(frozen=True)
class Baseline:
    """A simpler alternative to the weights, fitted to the same rows: raw weights (p,), intercept, R2 (centred), MSE."""

    raw_weights: FloatArray
    intercept: float
    r2: float
    mse: float


@dataclass(frozen=True)
class OutOfSample:
    """Prediction of each cluster's rows by weights fitted without that cluster.

    R2 = 1 - SSE/SST with the errors of all held-out rows and SST around the mean of all rows, so that it is comparable
    with the R2 of the fit; it is negative if predicting that mean would do better. `equal_r2` and `equal_mse` are those
    of equal weights whose scale is refitted on the same training rows.
    `underdetermined` counts the folds with fewer training rows than items.
    """

    r2: float
    mse: float
    equal_r2: float
    equal_mse: float
    clusters: int
    underdetermined: int


@dataclass(frozen=True)
class WeightIntervals:
    """Ends for each normalised weight (p,) and for the R2 of the fit, over whole clusters of one kind.

    `interval_kind` "bootstrap95" is a 95 % interval from `draws` usable draws; "leave_one_out_range" is only the
    range over leaving one cluster out, given under 20 clusters; "none" was not asked for.
    """

    weights_low: FloatArray
    weights_high: FloatArray
    r2_low: float
    r2_high: float
    interval_kind: IntervalKind
    clusters: int
    draws: int


@dataclass(frozen=True)
class WeightCertificate:
    """A fit with everything needed to judge it.

    `equal_fitted` has equal weights and one fitted scale, `equal_plain` the mean answer times 10 (nothing fitted),
    `ols` unconstrained least squares with intercept, `ols_no_intercept` without. `clusters` counts the clusters of
    each kind that was labelled: "instruction", "rater", "model". `out_of_sample` and `intervals` have the same keys,
    less those with fewer than two clusters (intervals: instruction and rater only). `gain` is that over equal weights on
    held-out instructions, None with a single instruction, and `better` whether it is shown (see better_than_equal).
    `populations` are the intervals for such and for these raters, `held_out` those of R2 on held-out instructions, None in
    certificates made before. `warnings` are codes, sorted: collinear; few_clusters (under 20 instructions); few_raters
    (under 20); no_cross_validation (one instruction); not_better_than_equal (not shown on held-out instructions);
    rows_under_10_per_item; underdetermined_fold.
    """

    fit: WeightFit
    equal_fitted: Baseline
    equal_plain: Baseline
    ols: Baseline
    ols_no_intercept: Baseline
    clusters: Mapping[str, int]
    out_of_sample: Mapping[str, OutOfSample]
    intervals: Mapping[str, WeightIntervals]
    warnings: tuple[str, ...]
    draws: int
    seed: int
    gain: Gain | None = None
    better: bool = False
    populations: WeightPopulations | None = None
    held_out: HeldOutR2 | None = None


def fit_weights(answers: FloatArray, overall: FloatArray, *, floor: float = DEFAULT_FLOOR) -> WeightFit:
    """Weights w >= floor, without intercept, that minimise the mean of (overall - answers @ w)^2, exactly.

    answers (n, p) in 0..1, overall (n,) in 0..10. With w = floor + v this is non-negative least squares of
    overall - floor * answers.sum() on answers. Raises TooFewRatings with fewer rows than items, ConstantScores
    where every overall score is the same, Undefined (OutOfRange, NotConverged).
    """
    x, y = check_rows(answers, overall, floor)
    n, p = x.shape
    if n < p or p == 0:
        raise TooFewRatings(n, max(p, 1), "annotations")
    if np.ptp(y) == 0:
        raise ConstantScores("overall scores", float(y[0]))
    shifted = y - floor * x.sum(axis=1)
    # The triangle of a QR factorisation has the singular values of x and is only (p, p).
    _, singular, directions = np.linalg.svd(np.linalg.qr(x, mode="r"))
    held = singular > COLLINEAR * singular[0]
    rank = int(held.sum())
    rows, wanted = x, shifted
    if rank < p:
        rows = singular[held, None] * directions[held]
        wanted = directions[held] @ (x.T @ shifted) / singular[held]
    excess = nonnegative(x, shifted) if rank == p else collinear_solve(rows, wanted)
    gradient = rows.T @ (rows @ excess - wanted)
    size = y @ y + floor**2 * (x.sum(axis=1) ** 2).sum()
    violation = float(kkt_violation(gradient[None], excess[None], (x**2).sum(axis=0)[None], np.array([size]))[0])
    allowed = KKT_ALLOWED if rank == p else REFIT_ALLOWED
    if violation > allowed:
        raise not_converged("The weight fit", violation, allowed)
    raw = floor + excess
    if raw.sum() == 0:
        raise ConstantScores("fitted weights", 0.0)
    error = float(((y - x @ raw) ** 2).sum())
    return WeightFit(
        weights=100 * raw / raw.sum(),
        raw_weights=raw,
        r2=1 - error / float(((y - y.mean()) ** 2).sum()),
        mse=error / n,
        n=n,
        at_floor=excess == 0,
        rank=rank,
        condition_number=float(singular[0] / singular[rank - 1]) if rank else 1.0,
        kkt_violation=violation,
        collinear=rank < p,
        floor=float(floor),
    )


def certify_weights(
    answers: FloatArray,
    overall: FloatArray,
    *,
    instructions: Labels,
    raters: Labels | None = None,
    models: Labels | None = None,
    floor: float = DEFAULT_FLOOR,
    draws: int = 1000,
    seed: int = 0,
    min_clusters: int = MIN_CLUSTERS,
) -> WeightCertificate:
    """Fit weights and measure them: baselines, prediction of held-out clusters, intervals, warnings.

    instructions, raters, models (n,) label each row's clusters. Raises what fit_weights raises.
    """
    fit = fit_weights(answers, overall, floor=floor)
    x, y = check_rows(answers, overall, floor)
    clusters: dict[str, int] = {}
    out_of_sample: dict[str, OutOfSample] = {}
    intervals: dict[str, WeightIntervals] = {}
    for kind, labels in (("instruction", instructions), ("rater", raters), ("model", models)):
        if labels is None:
            continue
        if len(labels) != len(y):
            raise ValueError(f"{len(labels)} {kind} labels for {len(y)} annotations; give one for each.")
        codes, clusters[kind] = cluster_codes(labels)
        if clusters[kind] < 2:
            continue
        sums = cluster_sums(x, y, codes, clusters[kind])
        out_of_sample[kind] = predict_left_out(sums, floor)
        if kind != "model":
            intervals[kind] = weight_intervals(sums, floor, draws=draws, seed=seed, min_clusters=min_clusters)
    gain = held_out = None
    if clusters["instruction"] > 1:
        keys = [str(place) for place in range(x.shape[1])]
        errors = left_out_errors((x, y, keys, instructions), {}, floor=floor, raters=raters)
        gain = equal_gain(errors)
        r2 = out_of_sample["instruction"].r2
        held_out = held_out_r2(r2, x, y, errors.instructions, errors.raters, floor=floor, seed=seed)
    ends = intervals.get("instruction")
    populations = weight_populations(
        x,
        y,
        cluster_codes(instructions)[0],
        None if raters is None else cluster_codes(raters)[0],
        floor=floor,
        at_floor=fit.at_floor,
        these=_these(ends) if ends else TheseEnds(fit.weights, fit.weights, fit.r2, fit.r2, "none"),
        seed=seed,
    )
    certificate = WeightCertificate(
        fit=fit,
        equal_fitted=_equal_fitted(x, y),
        equal_plain=_baseline(x, y, np.full(x.shape[1], 10 / x.shape[1])),
        ols=_least_squares(x, y, intercept=True),
        ols_no_intercept=_least_squares(x, y, intercept=False),
        clusters=clusters,
        out_of_sample=out_of_sample,
        intervals=intervals,
        warnings=_warnings(fit, clusters, out_of_sample),
        draws=draws,
        seed=seed,
        gain=gain,
        populations=populations,
        held_out=held_out,
    )
    return with_finding(certificate, better_than_equal([gain])[0])


def with_finding(certificate: WeightCertificate, better: bool) -> WeightCertificate:
    """Return the certificate with the finding on equal weights, and the warning where it is not shown."""
    others = {code for code in certificate.warnings if code != NOT_BETTER}
    unknown = certificate.gain is None
    warnings = others if better or unknown else others | {NOT_BETTER}
    return replace(certificate, better=better, warnings=tuple(sorted(warnings)))


def _these(ends: WeightIntervals) -> TheseEnds:
    return TheseEnds(ends.weights_low, ends.weights_high, ends.r2_low, ends.r2_high, ends.interval_kind)


def predict_left_out(sums: Sums, floor: float) -> OutOfSample:
    """Refit without each cluster of `sums` (k >= 2 clusters) and predict it."""
    training = sums.without_each()
    whole = sums.total()
    spread = float(whole.centred_squares())
    rows = float(whole.n)
    p = sums.xy.shape[1]
    error = float(sums.squared_error(floored_solve(training, floor)).sum())
    squares = training.gram.sum(axis=(1, 2))
    scale = np.where(squares > 0, training.xy.sum(axis=1) / np.where(squares > 0, squares, 1.0), 0.0)
    equal_error = float(sums.squared_error(np.repeat(scale[:, None], p, axis=1)).sum())
    return OutOfSample(
        r2=1 - error / spread,
        mse=error / rows,
        equal_r2=1 - equal_error / spread,
        equal_mse=equal_error / rows,
        clusters=len(sums.n),
        underdetermined=int((training.n < p).sum()),
    )


def weight_intervals(
    sums: Sums, floor: float, *, draws: int, seed: int, min_clusters: int = MIN_CLUSTERS
) -> WeightIntervals:
    """Interval of each normalised weight and of R2 over the clusters of `sums`; see WeightIntervals.

    R2 of the data fitted lies above the truth, and every draw is fitted anew, so a draw's lies above the data's by
    about as much. Its interval is therefore the basic one (reflected at the value found) of log(1 - R2), which
    spreads evenly; the percentile interval covers some 91 % at 40 instructions, this one some 94 %.
    """

    def refit(counts: FloatArray) -> tuple[FloatArray, BoolArray]:
        drawn = sums.combine(counts)
        raw = floored_solve(drawn, floor)
        total = raw.sum(axis=1, keepdims=True)
        spread = drawn.centred_squares()
        usable = (spread > 1e-12 * np.maximum(drawn.yy, 1e-300)) & (total[:, 0] > 0)
        unexplained = drawn.squared_error(raw) / np.where(usable, spread, 1.0)
        shares = 100 * raw / np.where(total > 0, total, 1.0)
        return np.column_stack([shares, np.log(np.maximum(unexplained, LEAST_UNEXPLAINED))]), usable

    found, ends = cluster_intervals(refit, len(sums.n), draws=draws, seed=seed, min_clusters=min_clusters)
    least, most = float(ends.low[-1]), float(ends.high[-1])
    if ends.kind == "bootstrap95":
        least, most = 2 * float(found[-1]) - most, 2 * float(found[-1]) - least
    return WeightIntervals(
        weights_low=ends.low[:-1],
        weights_high=ends.high[:-1],
        r2_low=1 - float(np.exp(most)),
        r2_high=1 - float(np.exp(least)),
        interval_kind=ends.kind,
        clusters=ends.clusters,
        draws=ends.draws,
    )


def _baseline(x: FloatArray, y: FloatArray, raw: FloatArray, intercept: float = 0.0) -> Baseline:
    error = float(((y - intercept - x @ raw) ** 2).sum())
    return Baseline(raw, intercept, 1 - error / float(((y - y.mean()) ** 2).sum()), error / len(y))


def _equal_fitted(x: FloatArray, y: FloatArray) -> Baseline:
    """Every weight the same, their common size by least squares."""
    score = x.sum(axis=1)
    squares = float(score @ score)
    size = float(score @ y) / squares if squares > 0 else 0.0
    return _baseline(x, y, np.full(x.shape[1], size))


def _least_squares(x: FloatArray, y: FloatArray, *, intercept: bool) -> Baseline:
    """Unconstrained least squares, of smallest norm where items are collinear (as statsmodels' pinv gives it)."""
    design = np.column_stack([np.ones(len(y)), x]) if intercept else x
    solution = np.asarray(np.linalg.lstsq(design, y, rcond=None)[0], dtype=np.float64)
    if intercept:
        return _baseline(x, y, solution[1:], float(solution[0]))
    return _baseline(x, y, solution)


def _warnings(fit: WeightFit, clusters: Mapping[str, int], out_of_sample: Mapping[str, OutOfSample]) -> tuple[str, ...]:
    by_instruction = out_of_sample.get("instruction")
    found = {
        "rows_under_10_per_item": fit.n < ROWS_PER_ITEM * len(fit.weights),
        "collinear": fit.collinear,
        "no_cross_validation": by_instruction is None,
        "few_clusters": clusters["instruction"] < MIN_CLUSTERS,
        "few_raters": clusters.get("rater", MIN_CLUSTERS) < MIN_CLUSTERS,
        "underdetermined_fold": any(fold.underdetermined for fold in out_of_sample.values()),
    }
    return tuple(sorted(code for code, holds in found.items() if holds))

"""People's mean score of a model that nobody rated, from a judge's scores of it and people's ratings of others. PURE.

A calibration f from the judge's score to people's is fitted to the *labelled* models, of which people rated responses to
five instructions or more: a straight line through the models' mean scores ("means"), a line through single responses
("linear"), or an increasing curve of least squares through these ("monotone"; Barlow and others 1972, Statistical Inference
under Order Restrictions). A response is predicted by the f of other instructions (five folds). A fit to single responses
takes the judge's noise for a flatter line, and so draws models toward their mean; the line through means does not.

- A model without labels: the mean of f over its responses. Its variance is that of f, by leaving out each labelled model and
  each instruction in turn (jackknives), plus tau^2, the variance between models of what f leaves over in each labelled model
  when it is fitted without it (REML), plus the chance of the model's own responses about f. Student's t has models - 2
  degrees of freedom (the prediction interval of Higgins, Thompson and Spiegelhalter 2009, J. R. Statist. Soc. A 172). Raters
  are left out in turn as well, for the interval for raters like these (Cameron, Gelbach and Miller 2011).
- It is *in the support* if its mean judge score lies among those of the labelled models and at least 95 % of its verdicts
  lie within the range of the verdicts that f was fitted to. Elsewhere f would be extrapolated, and no level is stated.
- The transport test: what f leaves over in each labelled model, fitted without it, against a margin stated beforehand.

Models are taken to be like the labelled ones; nothing in the judge's scores shows that a model is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypeAlias, get_args

import numpy as np

from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.judges.between_models import (
    LEAST_MODELS,
    LEAST_OF_A_MODEL,
    GroupMean,
    Residuals,
    against_margin,
    folds,
    half_width,
    variance_between,
)
from calibration.statistics.populations import FEW_RATERS, left_out_groups
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, Labels, cluster_codes

Shape: TypeAlias = Literal["means", "linear", "monotone"]
CarriedKind: TypeAlias = Literal["carried", "not_stated"]
NotCarried: TypeAlias = Literal["mean_outside", "verdicts_outside"]
WhyNotSuch: TypeAlias = Literal["few_raters", "positions", "undefined_without_one"]

SHAPES: tuple[Shape, ...] = get_args(Shape)
FOLDS = 5
GROUPS = 50
"""Instructions are left out one by one up to this number of them, and in this many random groups above it."""
RATER_GROUPS = 200
LEAST_RATERS = 2
RATED_MODELS = f"models of which people rated responses to at least {LEAST_OF_A_MODEL} instructions"
INSIDE = 0.95
"""Least share of a model's verdicts within the range of those that the calibration was fitted to."""


@dataclass(frozen=True)
class JudgedAndRated:
    """A judge's scores of n responses, and people's m ratings of some of them.

    `judge` (n,), with the labels of each response's model and instruction (n,); `response` (m,) is the place 0..n-1 of each
    rating's response, `rater` (m,) who gave it, `value` (m,) on the scale of people. `positions`: the raters are positions
    in a data set rather than persons, so that nothing is said of raters like these.
    """

    judge: FloatArray
    models: Labels
    instructions: Labels
    response: IntArray
    rater: Labels
    value: FloatArray
    positions: bool = False


@dataclass(frozen=True)
class CarriedMean:
    """A model without labels: people's mean score of it, `value`, with 95 % ends; None where `reason` says why.

    low and high are for raters like these, or for exactly these raters where Transport.why_not_such says why; these_low and
    these_high are always for exactly these. `judge` is its mean judge score over `n` responses, `n_rated` of them rated;
    `inside` (0..1) the share of its verdicts within the range that the calibration was fitted to.
    """

    model: str
    value: float | None
    low: float | None
    high: float | None
    these_low: float | None
    these_high: float | None
    kind: CarriedKind
    reason: NotCarried | None
    judge: float
    inside: float
    n: int
    n_rated: int


@dataclass(frozen=True)
class LabelledMean:
    """A labelled model: people's mean of its `n` rated responses, and what f, fitted without it, predicts for these."""

    model: str
    judge: float
    people: float
    predicted: float
    n: int


@dataclass(frozen=True)
class Transport:
    """A calibration and what it says of models without labels, in the order of their first response.

    `at` and `curve` are f at up to 50 judge scores in ascending order; slope and intercept are None for a monotone f. `test`
    says whether f serves all labelled models; `between` is tau. `mean_low` to `mean_high` is the support of mean judge
    scores, `low` to `high` that of verdicts. `n_rated` of `n` responses have ratings of `raters` people, over `instructions`
    instructions.
    """

    shape: Shape
    slope: float | None
    intercept: float | None
    at: tuple[float, ...]
    curve: tuple[float, ...]
    carried: tuple[CarriedMean, ...]
    labelled: tuple[LabelledMean, ...]
    test: Residuals
    between: float
    mean_low: float
    mean_high: float
    low: float
    high: float
    why_not_such: WhyNotSuch | None
    n: int
    n_rated: int
    instructions: int
    raters: int


def transport(
    given: JudgedAndRated, *, margin: float, shape: Shape = "means", least_inside: float = INSIDE, seed: int = 0
) -> Transport:
    """The calibration carried to models without labels. `margin` above 0 is in points of people's scale.

    Raises TooFewRatings under 6 labelled models or 20 instructions with ratings of them, and ConstantScores where the judge
    or people gave all of their rated responses one score.
    """
    if not margin > 0:
        raise NoStatistic("A margin must be above 0; name the difference that matters, in points of people's scale.")
    rows = _rows(given, seed)
    own = [np.flatnonzero(rows.model == model) for model in range(len(rows.names))]
    known = ~np.isnan(rows.people)
    rated = [int(np.unique(rows.instruction[mine[known[mine]]]).size) for mine in own]
    labelled = [model for model, number in enumerate(rated) if number >= LEAST_OF_A_MODEL]
    if len(labelled) < LEAST_MODELS:
        raise TooFewRatings(len(labelled), LEAST_MODELS, RATED_MODELS)
    used = known & np.isin(rows.model, labelled)
    instructions = np.unique(rows.instruction[used])
    if instructions.size < MIN_CLUSTERS:
        raise TooFewRatings(int(instructions.size), MIN_CLUSTERS, "instructions with people's ratings")
    for scores, what in ((rows.judge[used], "scores of the judge"), (rows.people[used], "scores of people")):
        if float(np.ptp(scores)) <= 1e-12:
            raise ConstantScores(what, float(scores[0]))
    fold = folds(rows.instruction, instructions, FOLDS, seed)
    calibration = _Calibration(rows, fold, shape)
    others = [model for model in range(len(rows.names)) if model not in labelled]
    jackknife = _jackknifed(rows, calibration, used, labelled, others, seed)
    between = variance_between(jackknife.residuals, jackknife.apart)
    curve = np.unique(np.quantile(rows.judge[used], np.linspace(0, 1, GROUPS)))
    fit = np.flatnonzero(used)
    values = _fitted(rows, rows.people, fit, np.ones((1, fit.size)), shape, curve)[0]
    ends = (values[-1] - values[0]) / (curve[-1] - curve[0])
    slope, intercept = (None, None) if shape == "monotone" else (float(ends), float(values[0] - ends * curve[0]))
    centres = [float(rows.judge[own[model]].mean()) for model in range(len(rows.names))]
    low, high = float(rows.judge[used].min()), float(rows.judge[used].max())
    spans = [centres[model] for model in labelled]
    support = _Support(min(spans), max(spans), low, high, least_inside)
    raters, why_not = _rater_variance(given, rows, calibration, labelled, others, seed)
    carried = []
    for place, model in enumerate(others):
        carried.append(
            _carried(
                rows.names[model],
                rows.judge[own[model]],
                float(jackknife.carried[place]),
                float(jackknife.variance[place])
                + between
                + jackknife.own / np.unique(rows.instruction[own[model]]).size,
                None if raters is None else float(raters[place]),
                _Sizes(len(labelled), rows.raters, int(known[own[model]].sum())),
                support,
            )
        )
    means = []
    for place, model in enumerate(labelled):
        mine = own[model][used[own[model]]]
        people = float(rows.people[mine].mean())
        predicted = people - float(jackknife.residuals[place])
        means.append(LabelledMean(rows.names[model], float(rows.judge[mine].mean()), people, predicted, mine.size))
    groups = [
        GroupMean(one.model, one.people - one.predicted, sqrt(variance), max(int(clusters) - 1, 1), one.n)
        for one, variance, clusters in zip(means, jackknife.errors, jackknife.clusters, strict=True)
    ]
    partly = sum(0 < number < LEAST_OF_A_MODEL for number in rated)
    return Transport(
        shape=shape,
        slope=slope,
        intercept=intercept,
        at=tuple(curve.tolist()),
        curve=tuple(values.tolist()),
        carried=tuple(carried),
        labelled=tuple(means),
        test=against_margin(groups, margin, partly),
        between=sqrt(between),
        mean_low=support.mean_low,
        mean_high=support.mean_high,
        low=low,
        high=high,
        why_not_such=why_not,
        n=rows.judge.size,
        n_rated=int(known.sum()),
        instructions=int(instructions.size),
        raters=rows.raters,
    )


@dataclass(frozen=True)
class _RatedRows:
    judge: FloatArray
    people: FloatArray
    model: IntArray
    instruction: IntArray
    names: tuple[str, ...]
    raters: int


@dataclass(frozen=True)
class _Support:
    mean_low: float
    mean_high: float
    low: float
    high: float
    least_inside: float


@dataclass(frozen=True)
class _Sizes:
    models: int
    raters: int
    rated: int


@dataclass(frozen=True)
class _Jackknife:
    """`residuals` of labelled models with their sampling variances: alone (`errors`) and beside each other (`apart`).

    `clusters` counts the groups of instructions of each labelled model. `carried` are the means of the others with the
    `variance` of the calibration; `own` is the variance of what the calibration leaves over in one instruction of a model.
    """

    residuals: FloatArray
    errors: FloatArray
    apart: FloatArray
    clusters: IntArray
    carried: FloatArray
    variance: FloatArray
    own: float


def _rows(given: JudgedAndRated, seed: int) -> _RatedRows:
    judge, value = np.asarray(given.judge, dtype=np.float64), np.asarray(given.value, dtype=np.float64)
    if judge.ndim != 1 or len(given.models) != judge.size or len(given.instructions) != judge.size:
        raise ValueError("Judge scores, models and instructions differ in number; give one of each for a response.")
    if value.shape != given.response.shape or len(given.rater) != value.size:
        raise ValueError("Ratings, their responses and their raters differ in number; give one of each for a rating.")
    if not np.isfinite(judge).all() or not np.isfinite(value).all():
        raise NoStatistic("Scores must be finite numbers; leave out the responses that the judge did not score.")
    names = tuple(str(name) for name in dict.fromkeys(list(given.models)))
    raters = cluster_codes(given.rater)[1] if value.size else 0
    people = _means(given.response, value, judge.size)
    return _RatedRows(
        judge, people, cluster_codes(given.models)[0], cluster_codes(given.instructions)[0], names, raters
    )


def _means(response: IntArray, value: FloatArray, n: int) -> FloatArray:
    """People's mean of each response (n,), nan where there is no rating."""
    counts = np.bincount(response, minlength=n)
    sums = np.bincount(response, weights=value, minlength=n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _fitted(
    rows: _RatedRows, people: FloatArray, fit: IntArray, kept: FloatArray, shape: Shape, at: FloatArray
) -> FloatArray:
    """The calibrations of b sets `kept` (b, n) in 0..1 of the rows `fit` (n,), at judge scores (q,): (b, q)."""
    x, y = rows.judge[fit], people[fit]
    if shape == "monotone":
        return np.array([_increasing(x[one > 0], y[one > 0], at) for one in kept]).reshape(len(kept), at.size)
    middle = float(x.mean())
    away, weight = x - middle, kept
    with np.errstate(divide="ignore", invalid="ignore"):
        if shape == "means":
            codes, k = cluster_codes(rows.model[fit])
            of_model = (codes[:, None] == np.arange(k)).astype(np.float64)
            sizes = kept @ of_model
            weight = (sizes > 0).astype(np.float64)
            xs, ys = (np.nan_to_num((kept @ (of_model * part[:, None])) / sizes) for part in (away, y))
        else:
            xs, ys = away, y
        counts = weight.sum(axis=1)
        mean_x, mean_y = (weight * xs).sum(axis=1) / counts, (weight * ys).sum(axis=1) / counts
        spread = (weight * xs**2).sum(axis=1) / counts - mean_x**2
        shared = (weight * xs * ys).sum(axis=1) / counts - mean_x * mean_y
        slope = np.where(spread > 1e-12, shared / spread, 0.0)
    return np.asarray(mean_y[:, None] + slope[:, None] * (at - middle - mean_x[:, None]), dtype=np.float64)


def _increasing(x: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    """Least-squares increasing values, interpolated between the scores x and level beyond them."""
    from scipy.optimize import isotonic_regression

    if not x.size:
        return np.full(at.size, np.nan)
    levels, place = np.unique(x, return_inverse=True)
    counts = np.bincount(place)
    found = isotonic_regression(np.bincount(place, weights=y) / counts, weights=counts).x
    return np.asarray(np.interp(at, levels, found), dtype=np.float64)


@dataclass(frozen=True)
class _Calibration:
    rows: _RatedRows
    fold: IntArray
    shape: Shape

    def means(self, people: FloatArray, training: BoolArray, wanted: BoolArray, models: list[int]) -> FloatArray:
        """Cross-fitted mean predictions (b, q) of models' `wanted` rows (b, n), f fitted to the `training` rows (b, n).

        nan where a model has no wanted row, or a fold of it no training row.
        """
        rows = self.rows
        sums, counts = np.zeros((len(training), len(models))), np.zeros((len(training), len(models)))
        some, asked = training.any(axis=0), wanted.any(axis=0)
        for number in range(FOLDS):
            inside = self.fold == number
            fit, at = np.flatnonzero(some & ~inside), np.flatnonzero(asked & inside)
            if not at.size:
                continue
            kept = training[:, fit].astype(np.float64)
            predicted = _fitted(rows, people, fit, kept, self.shape, rows.judge[at])
            weight = wanted[:, at].astype(np.float64)
            of_model = (rows.model[at][:, None] == np.array(models)).astype(np.float64)
            sums += np.where(weight > 0, predicted, 0.0) @ of_model
            counts += weight @ of_model
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _instruction_groups(rows: _RatedRows, seed: int) -> tuple[IntArray, int]:
    k = int(rows.instruction.max()) + 1
    if k <= GROUPS:
        return rows.instruction, k
    group = np.empty(k, dtype=np.int64)
    group[np.random.default_rng(seed).permutation(k)] = np.arange(k) % GROUPS
    return np.asarray(group[rows.instruction], dtype=np.int64), GROUPS


def _jackknifed(
    rows: _RatedRows, calibration: _Calibration, used: BoolArray, labelled: list[int], others: list[int], seed: int
) -> _Jackknife:
    group, number = _instruction_groups(rows, seed)
    is_other = np.isin(rows.model, others)

    # The first replicate keeps all instructions, each other one leaves a group of them out.
    kept = np.vstack([np.ones(group.size, dtype=np.bool_), group != np.arange(number)[:, None]])
    left = np.empty((number + 1, len(labelled)))
    for place, model in enumerate(labelled):
        own = kept & (used & (rows.model == model))
        predicted = calibration.means(rows.people, kept & (used & (rows.model != model)), own, [model])[:, 0]
        counts = own.sum(axis=1)
        people = own[:, used] @ rows.people[used]
        left[:, place] = np.where(counts > 0, people / np.maximum(counts, 1), np.nan) - predicted
    without_group = calibration.means(rows.people, kept & used, kept & is_other, others)
    without_model = calibration.means(
        rows.people,
        used & (rows.model != np.array(labelled)[:, None]),
        np.broadcast_to(is_other, (len(labelled), is_other.size)),
        others,
    )
    residuals, left = left[0], left[1:]
    values, without_group = without_group[0], without_group[1:]
    # A model without rows outside a group, or in it, does not move with it.
    left = np.where(np.isnan(left), residuals, left)
    without_group = np.where(np.isnan(without_group), values, without_group)
    k = len(labelled)
    beside = left - left.mean(axis=1, keepdims=True)
    apart = k / (k - 1) * _jackknife_variance(beside)
    clusters = np.array([np.unique(group[used & (rows.model == model)]).size for model in labelled])
    answered = np.array([np.unique(rows.instruction[used & (rows.model == model)]).size for model in labelled])
    return _Jackknife(
        residuals=residuals,
        errors=_jackknife_variance(left),
        apart=apart,
        clusters=clusters,
        carried=values,
        variance=_jackknife_variance(without_model) + _jackknife_variance(without_group),
        own=float((apart * answered).mean()),
    )


def _jackknife_variance(replicates: FloatArray) -> FloatArray:
    """(g - 1)/g times the sum of squares about the replicates' own mean, over the first axis (g, q)."""
    g = len(replicates)
    return np.asarray((g - 1) / g * ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0), dtype=np.float64)


def _rater_variance(
    given: JudgedAndRated,
    rows: _RatedRows,
    calibration: _Calibration,
    labelled: list[int],
    others: list[int],
    seed: int,
) -> tuple[FloatArray | None, WhyNotSuch | None]:
    """What the raters add to the variance of each carried mean, or why it is not known."""
    if given.positions:
        return None, "positions"
    if rows.raters < LEAST_RATERS:
        return None, "few_raters"
    wanted = np.isin(rows.model, others)
    of_labelled = np.isin(rows.model, labelled)
    rater, _ = cluster_codes(given.rater)
    _, by_rater, by_cell = left_out_groups(rows.instruction[given.response], rater, most=RATER_GROUPS, seed=seed)
    parts = []
    for codes in (by_rater, by_cell):
        found = []
        for kept in _without_each(codes):
            people = _means(given.response[kept], given.value[kept], rows.judge.size)
            training = of_labelled & ~np.isnan(people)
            found.append(calibration.means(people, training[None], wanted[None], others)[0])
        replicates = np.array(found)
        if np.isnan(replicates).any():
            return None, "undefined_without_one"
        parts.append(_jackknife_variance(replicates))
    raters, cells = parts
    return (raters if rows.raters < FEW_RATERS else np.maximum(raters - cells, 0.0)), None


def _without_each(codes: IntArray) -> Iterator[BoolArray]:
    for one in range(int(codes.max()) + 1):
        yield codes != one


def _carried(
    name: str, judge: FloatArray, value: float, variance: float, raters: float | None, sizes: _Sizes, support: _Support
) -> CarriedMean:
    centre = float(judge.mean())
    inside = float(((judge >= support.low) & (judge <= support.high)).mean())
    reason: NotCarried | None = None
    if not support.mean_low <= centre <= support.mean_high:
        reason = "mean_outside"
    elif inside < support.least_inside:
        reason = "verdicts_outside"
    if reason is not None:
        return CarriedMean(
            name, None, None, None, None, None, "not_stated", reason, centre, inside, judge.size, sizes.rated
        )
    freedom = float(sizes.models - 2)
    these = half_width(variance, freedom)
    reach = these
    if raters is not None:
        whole = variance + raters
        unsure = variance**2 / freedom + raters**2 / (sizes.raters - 1)
        reach = half_width(whole, min(whole**2 / unsure, freedom) if unsure > 0 else freedom)
    ends = value - reach, value + reach, value - these, value + these
    return CarriedMean(name, value, *ends, "carried", None, centre, inside, judge.size, sizes.rated)

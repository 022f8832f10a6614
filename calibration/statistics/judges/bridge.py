"""A bridge from one judge to its replacement: what the old judge would have said, from what the new one says. PURE.

Both judges scored the *anchors*; the new one scored every response. The old judge's score is predicted by a straight line f
in the new one's, fitted to anchors of other instructions (five folds), so that no anchor corrects a prediction it shaped.

- A model with anchors: mean of f(new) over all its responses plus the mean of old - f(new) over its anchors, the difference
  estimator of survey sampling (Cochran 1977, Sampling Techniques, chapter 7), unbiased however badly f fits. Its error is
  that of drawing the anchors, with the correction for a finite population: what is estimated is the mean of these responses.
- A model without anchors: f alone. Its error is that of f and tau^2, the variance between models of the mean residuals of
  models that f was fitted without (REML); Student's t has models - 2 degrees of freedom (Higgins, Thompson and
  Spiegelhalter 2009, J. R. Statist. Soc. A 172).
- One response's score: linear equating, by which the anchors' old and new scores have one mean and one standard deviation
  (Kolen and Brennan 2014, Test Equating, Scaling, and Linking). A regression would pull single scores toward the mean.
- A leaderboard that continues: the old judge's own mean of a model of which it scored at least as many responses as the
  new one, else the mean carried over the bridge. Here instructions are taken as drawn from many, as on any leaderboard, so
  that an interval holds the error of drawing them and that of the bridge. The places that a model may have follow from
  intervals that hold for all models together (Klein, Wright and Wieczorek 2020, J. R. Statist. Soc. A 183).
- Whether one bridge serves all models and categories: their mean residuals against a margin stated beforehand (population
  invariance, Dorans and Holland 2000, J. Educational Measurement 37).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.judges.between_models import (
    LEAST_MODELS,
    LEAST_OF_A_MODEL,
    PROMISED,
    GroupMean,
    Residuals,
    against_margin,
    folds,
    half_width,
    line,
    variance_between,
)
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray, IntArray, Labels, cluster_codes

BridgeKind: TypeAlias = Literal["anchored", "carried", "complete", "not_stated"]
NotBridged: TypeAlias = Literal["few_anchors", "few_models", "outside_support", "few_instructions"]

FOLDS = 5
LEAST_ANCHORS = 20
"""Fewest anchors, over all models, to which a line is fitted."""
MANY = 2**62
"""The number of responses from which some are drawn, where they are drawn from many."""


@dataclass(frozen=True)
class BridgedMean:
    """A model's mean on the old judge's scale: `value`, with its 95 % ends where `kind` has them.

    "anchored": corrected by its own `n_anchors` of `n` responses; "complete": the old judge scored them all, so there is no
    error; "carried": by the line alone; "not_stated" with the reason, without ends. `anchors_alone` is the half width that
    the model's old scores would have without the new judge, None with fewer than two instructions. `drawn_variance` is that
    of the mean where the instructions too are drawn from many, with `drawn_freedom` degrees of freedom, None where it is not
    stated: under MIN_CLUSTERS instructions, or where `kind` is "not_stated".
    """

    model: str
    value: float
    low: float | None
    high: float | None
    kind: BridgeKind
    reason: NotBridged | None
    n: int
    n_anchors: int
    anchors_alone: float | None
    drawn_variance: float | None = None
    drawn_freedom: float | None = None


@dataclass(frozen=True)
class ContinuedMean:
    """A model on the leaderboard that continues: its mean on the old judge's scale over `n` responses, with 95 % ends.

    `kind` "old": the mean of the old judge's own scores; "anchored", "complete" and "carried" as in BridgedMean. The ends
    take instructions as drawn from many; None where they are not stated, for `reason`. `n_both` of the model's responses
    have scores of both judges. `first` to `last` are the places it may have, 95 % for all placed models together; a model
    without ends, or with fewer than half of the median number of responses, is not placed.
    """

    model: str
    value: float
    low: float | None
    high: float | None
    kind: Literal["old", "anchored", "complete", "carried", "not_stated"]
    reason: NotBridged | None
    n: int
    n_both: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class Bridge:
    """`slope` and `intercept` of old on new over all anchors; `equated_slope` and `equated_intercept` for single scores.

    `models` in the order of their first response; `by_model` and `by_category` say whether one line serves all. `between`
    is tau, the standard deviation between models of their mean residuals, None under 6 models with anchors. `spread` is the
    standard deviation of the anchors' residuals within their models, which plans further anchors.
    """

    slope: float
    intercept: float
    equated_slope: float
    equated_intercept: float
    correlation: float
    models: tuple[BridgedMean, ...]
    by_model: Residuals
    by_category: Residuals
    between: float | None
    spread: float
    n: int
    n_anchors: int


def bridge(
    new: FloatArray,
    old: FloatArray,
    models: Labels,
    instructions: Labels,
    categories: Labels | None = None,
    *,
    margin: float,
    seed: int = 0,
) -> Bridge:
    """The bridge from `new` (n,) to `old` (n,), nan where the old judge gave no score, by model and instruction labels (n,).

    Anchors are taken to be drawn with equal probability within a model and category. `margin` is in points of the old scale.
    Raises TooFewRatings under 20 anchors or 5 instructions with anchors, and ConstantScores where a judge gave every anchor
    the same score.
    """
    rows = _rows(new, old, models, instructions, categories)
    anchored = np.flatnonzero(~np.isnan(rows.old))
    if anchored.size < LEAST_ANCHORS:
        raise TooFewRatings(int(anchored.size), LEAST_ANCHORS, "responses that both judges scored")
    x, y = rows.new[anchored], rows.old[anchored]
    for scores, what in ((x, "scores of the new judge"), (y, "scores of the old judge")):
        if float(np.ptp(scores)) <= 1e-12:
            raise ConstantScores(what, float(scores[0]))
    residual, predicted = _cross_fitted(rows, anchored, seed)
    slope, intercept = line(x, y)
    model_residuals = _model_residuals(rows, anchored)
    between = model_residuals.between if model_residuals is not None else None
    spread = _spread_within(residual, rows.model[anchored])
    means = [
        _bridged(rows, model, anchored, residual, predicted, model_residuals, spread)
        for model in range(len(rows.model_names))
    ]
    equated = float(y.std() / x.std())
    return Bridge(
        slope=slope,
        intercept=intercept,
        equated_slope=equated,
        equated_intercept=float(y.mean() - equated * x.mean()),
        correlation=float(np.corrcoef(x, y)[0, 1]),
        models=tuple(means),
        by_model=_invariance(rows.model[anchored], rows.model_names, rows.instruction[anchored], residual, margin),
        by_category=_invariance(
            rows.category[anchored], rows.category_names, rows.instruction[anchored], residual, margin
        ),
        between=between,
        spread=spread,
        n=rows.new.size,
        n_anchors=int(anchored.size),
    )


def anchors_for_width(spread: float, wanted: float, responses: int) -> int:
    """How many of a model's `responses` to score with both judges for a 95 % interval of plus or minus `wanted`.

    `spread` is the standard deviation of old - f(new). At least 5; at most all responses. Raises NoStatistic for a width
    that is not above 0.
    """
    if not wanted > 0:
        raise NoStatistic("A width must be above 0; name the half width that would be narrow enough.")
    for n in range(min(LEAST_OF_A_MODEL, responses), responses):
        error = spread**2 * (1 - n / responses) / n
        if half_width(error, n - 1) <= wanted:
            return n
    return responses


def continued(found: Bridge, old: FloatArray, models: Labels, instructions: Labels) -> tuple[ContinuedMean, ...]:
    """The leaderboard that continues over `found`, from all scores of the `old` judge (n,) with their labels; best first.

    A model of which the old judge scored at least as many responses as the new one keeps the mean of its own scores.
    """
    scores, names = np.asarray(old, dtype=np.float64), np.array([str(name) for name in models])
    codes = cluster_codes(instructions)[0]
    bridged = {one.model: one for one in found.models}
    standings: list[tuple[ContinuedMean, float, float]] = []
    kind: Literal["old", "anchored", "complete", "carried", "not_stated"]
    for name in sorted({*bridged, *names.tolist()}):
        own, one = names == name, bridged.get(name)
        size = int(own.sum())
        if one is not None and size < one.n:
            kind, value, n = one.kind, one.value, one.n
            variance, freedom, reason = one.drawn_variance, one.drawn_freedom, one.reason
        else:
            kind, value, n = "old", float(scores[own].mean()), size
            (variance, freedom), reason = _over_instructions(scores[own], codes[own]), None
        if variance is None or freedom is None:
            reason = reason or "few_instructions"
            standings.append(
                (ContinuedMean(name, value, None, None, kind, reason, n, one.n_anchors if one else 0), inf, 1.0)
            )
            continue
        reach = half_width(variance, freedom)
        both = one.n_anchors if one else 0
        standings.append(
            (ContinuedMean(name, value, value - reach, value + reach, kind, None, n, both), variance, freedom)
        )
    return _placed(standings)


def _placed(standings: Sequence[tuple[ContinuedMean, float, float]]) -> tuple[ContinuedMean, ...]:
    """Add the places that models may have by simultaneous intervals (Bonferroni), and sort: placed models first."""
    from scipy.special import stdtrit

    least = float(np.median([one.n for one, _variance, _freedom in standings])) / 2
    known = [(one, v, f) for one, v, f in standings if one.low is not None and one.n >= least]
    level = 1 - (1 - PROMISED) / 2 / max(len(known), 1)
    ends = [
        (one.value - float(stdtrit(f, level)) * sqrt(v), one.value + float(stdtrit(f, level)) * sqrt(v))
        for one, v, f in known
    ]
    placed = []
    for (one, _variance, _freedom), (low, high) in zip(known, ends, strict=True):
        first = 1 + sum(other > high for other, _ in ends)
        last = len(ends) - sum(other < low for _, other in ends)
        placed.append(replace(one, first=first, last=last))
    rest = [one for one, _variance, _freedom in standings if one.model not in {other.model for other in placed}]
    return (*sorted(placed, key=lambda one: (-one.value, one.model)), *sorted(rest, key=lambda one: one.model))


def _over_instructions(values: FloatArray, instruction: IntArray) -> tuple[float | None, float | None]:
    """Variance of the mean (n,) over instructions drawn from many, with its degrees of freedom; None with too few."""
    k = int(np.unique(instruction).size)
    if k < MIN_CLUSTERS:
        return None, None
    return _drawn_variance(values, instruction, MANY, values.size), float(k - 1)


def _together(
    first: tuple[float | None, float | None], variance: float, freedom: float
) -> tuple[float | None, float | None]:
    """Sum of two independent variances with Satterthwaite's degrees of freedom; None where the first is not stated."""
    drawn, of_drawn = first
    if drawn is None or of_drawn is None:
        return None, None
    total = drawn + variance
    unsure = drawn**2 / of_drawn + variance**2 / freedom
    return total, total**2 / unsure if unsure > 0 else of_drawn


@dataclass(frozen=True)
class _ScoredResponses:
    new: FloatArray
    old: FloatArray
    model: IntArray
    instruction: IntArray
    category: IntArray
    model_names: tuple[str, ...]
    category_names: tuple[str, ...]


@dataclass(frozen=True)
class _ModelResiduals:
    """Models with anchors: the variance between their mean residuals, and the line fitted to all of them."""

    between: float
    models: int
    new_low: float
    new_high: float
    slope: float
    intercept: float
    covariance: FloatArray


def _rows(
    new: FloatArray, old: FloatArray, models: Labels, instructions: Labels, categories: Labels | None
) -> _ScoredResponses:
    x, y = np.asarray(new, dtype=np.float64), np.asarray(old, dtype=np.float64)
    labels = [models, instructions, ["all"] * x.size if categories is None else categories]
    if x.ndim != 1 or y.shape != x.shape or any(len(given) != x.size for given in labels):
        raise ValueError("New scores, old scores and labels differ in number; give one of each for a response.")
    if not np.isfinite(x).all() or np.isinf(y).any():
        raise NoStatistic("Scores must be finite numbers; leave out the responses that the new judge did not score.")
    codes = [cluster_codes(given)[0] for given in labels]
    names = [tuple(str(name) for name in dict.fromkeys(list(given))) for given in labels]
    return _ScoredResponses(x, y, codes[0], codes[1], codes[2], names[0], names[2])


def _spread_within(residual: FloatArray, model: IntArray) -> float:
    codes, k = cluster_codes(model)
    means = np.bincount(codes, weights=residual) / np.bincount(codes)
    return float(np.sqrt(((residual - means[codes]) ** 2).sum() / max(residual.size - k, 1)))


def _cross_fitted(rows: _ScoredResponses, anchored: IntArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Residuals of the anchors, and predictions of every response, by lines of other instructions' anchors."""
    used = np.unique(rows.instruction[anchored])
    if used.size < FOLDS:
        raise TooFewRatings(int(used.size), FOLDS, "instructions with responses that both judges scored")
    own = folds(rows.instruction, used, FOLDS, seed)
    predicted = np.zeros(rows.new.size)
    for number in range(FOLDS):
        training = anchored[own[anchored] != number]
        slope, intercept = line(rows.new[training], rows.old[training])
        predicted[own == number] = intercept + slope * rows.new[own == number]
    return rows.old[anchored] - predicted[anchored], predicted


def _model_residuals(rows: _ScoredResponses, anchored: IntArray) -> _ModelResiduals | None:
    """Between-model variance of the residuals of models that the line was fitted without; None under 6 such models."""
    model = rows.model[anchored]
    counts = np.bincount(model, minlength=len(rows.model_names))
    usable = np.flatnonzero(counts >= LEAST_OF_A_MODEL)
    if usable.size < LEAST_MODELS:
        return None
    of_usable = anchored[np.isin(model, usable)]
    means, variances, centres = [], [], []
    for number in usable.tolist():
        own = anchored[model == number]
        rest = of_usable[rows.model[of_usable] != number]
        slope, intercept = line(rows.new[rest], rows.old[rest])
        responses = np.flatnonzero(rows.model == number)
        left = rows.old[own] - intercept - slope * rows.new[own]
        means.append(float(left.mean()))
        variances.append(_drawn_variance(left, rows.instruction[own], responses.size, own.size))
        centres.append(float(rows.new[responses].mean()))
    between = variance_between(np.asarray(means), np.asarray(variances))
    slope, intercept = line(rows.new[of_usable], rows.old[of_usable])
    return _ModelResiduals(
        between=sqrt(between),
        models=int(usable.size),
        new_low=min(centres),
        new_high=max(centres),
        slope=slope,
        intercept=intercept,
        covariance=_line_covariance(rows, of_usable, slope, intercept),
    )


def _line_covariance(rows: _ScoredResponses, used: IntArray, slope: float, intercept: float) -> FloatArray:
    """Covariance (2, 2) of intercept and slope by the sandwich over whole models."""
    design = np.column_stack([np.ones(used.size), rows.new[used]])
    left = rows.old[used] - intercept - slope * rows.new[used]
    bread = np.linalg.pinv(design.T @ design)
    total = np.zeros((2, 2))
    codes, k = cluster_codes(rows.model[used])
    for number in range(k):
        mine = design[codes == number].T @ left[codes == number]
        total += np.outer(mine, mine)
    return np.asarray(k / max(k - 1, 1) * bread @ total @ bread, dtype=np.float64)


def _bridged(
    rows: _ScoredResponses,
    model: int,
    anchored: IntArray,
    residual: FloatArray,
    predicted: FloatArray,
    others: _ModelResiduals | None,
    spread: float,
) -> BridgedMean:
    name = rows.model_names[model]
    responses = np.flatnonzero(rows.model == model)
    own = rows.model[anchored] == model
    mine, left = anchored[own], residual[own]
    n, n_anchors = int(responses.size), int(mine.size)
    alone = _anchors_alone(rows.old[mine], rows.instruction[mine], n)
    if n_anchors == n:
        value = float(rows.old[mine].mean())
        drawn = _over_instructions(rows.old[mine], rows.instruction[mine])
        return BridgedMean(name, value, value, value, "complete", None, n, n, 0.0, *drawn)
    over = _over_instructions(predicted[responses], rows.instruction[responses])
    if n_anchors >= LEAST_OF_A_MODEL:
        value, variance, freedom = _difference_estimate(rows, responses, mine, left, predicted)
        reach = half_width(variance, freedom)
        # Where instructions are drawn too, other responses vary about their predictions as the anchors do.
        _value, variance, freedom = _difference_estimate(rows, responses, mine, left, predicted, of_many=True)
        drawn = _together(over, variance, freedom)
        return BridgedMean(name, value, value - reach, value + reach, "anchored", None, n, n_anchors, alone, *drawn)
    centre = float(rows.new[responses].mean())
    if others is None:
        slope, intercept = line(rows.new[anchored], rows.old[anchored])
        value = intercept + slope * centre
        return BridgedMean(name, value, None, None, "not_stated", "few_models", n, n_anchors, alone)
    value = others.intercept + others.slope * centre
    if not others.new_low <= centre <= others.new_high:
        return BridgedMean(name, value, None, None, "not_stated", "outside_support", n, n_anchors, alone)
    at = np.array([1.0, centre])
    variance = float(at @ others.covariance @ at) + others.between**2
    reach = half_width(variance, others.models - 2)
    drawn = _together(over, variance + spread**2 / n, others.models - 2)
    return BridgedMean(name, value, value - reach, value + reach, "carried", None, n, n_anchors, alone, *drawn)


def _difference_estimate(
    rows: _ScoredResponses,
    responses: IntArray,
    anchors: IntArray,
    residual: FloatArray,
    predicted: FloatArray,
    *,
    of_many: bool = False,
) -> tuple[float, float, float]:
    """Value, variance and degrees of freedom, stratified by category where each category has two anchors or more.

    The variance is that of drawing the anchors from these responses, or from `of_many`.
    """
    category = rows.category[responses]
    of_anchor = rows.category[anchors]
    present = np.unique(category)
    counts = np.array([np.unique(rows.instruction[anchors[of_anchor == one]]).size for one in present])
    if (counts < 2).any():
        category, of_anchor = np.zeros_like(category), np.zeros_like(of_anchor)
        present = np.zeros(1, dtype=np.int64)
    value, variance, unsure = float(predicted[responses].mean()), 0.0, 0.0
    for one in present.tolist():
        inside = of_anchor == one
        size = int((category == one).sum())
        share = size / responses.size
        left, instruction = residual[inside], rows.instruction[anchors[inside]]
        value += share * float(left.mean())
        part = share**2 * _drawn_variance(left, instruction, MANY if of_many else size, int(inside.sum()))
        variance += part
        unsure += part**2 / max(np.unique(instruction).size - 1, 1)
    fewest = float(np.unique(rows.instruction[anchors]).size - 1)
    return value, variance, variance**2 / unsure if unsure > 0 else max(fewest, 1.0)


def _drawn_variance(left: FloatArray, instruction: IntArray, size: int, drawn: int) -> float:
    """Variance of the mean of `drawn` of `size` values, drawn by whole instructions without replacement."""
    codes, k = cluster_codes(instruction)
    if k < 2:
        return inf
    sums = np.bincount(codes, weights=left - left.mean(), minlength=k)
    return (1 - drawn / size) * k / (k - 1) * float(sums @ sums) / drawn**2


def _anchors_alone(old: FloatArray, instruction: IntArray, n: int) -> float | None:
    k = int(np.unique(instruction).size)
    if k < 2:
        return None
    return half_width(_drawn_variance(old, instruction, n, old.size), k - 1)


def _invariance(
    codes: IntArray, names: tuple[str, ...], instruction: IntArray, residual: FloatArray, margin: float
) -> Residuals:
    counts = np.bincount(codes, minlength=len(names))
    groups = []
    for one in np.flatnonzero(counts >= LEAST_OF_A_MODEL).tolist():
        mine = codes == one
        k = int(np.unique(instruction[mine]).size)
        if k < 2:
            continue
        error = sqrt(_drawn_variance(residual[mine], instruction[mine], MANY, int(mine.sum())))
        groups.append(GroupMean(names[one], float(residual[mine].mean()), error, k - 1, int(mine.sum())))
    return against_margin(groups, margin, int((counts > 0).sum()) - len(groups))

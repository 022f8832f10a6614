"""Compute points, category scores and averages from item scores. PURE.

HelloBench (arXiv 2409.16191): a response's points are the weighted sum of its checklist answers, 0..100 (equation 1);
a category's score is (mean points - 75) x 4; the average is the unweighted mean of the categories. With equal
weights the points are AVG-C. An unusable verdict is left out and counted, never set to zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibration.statistics.errors import NoStatistic
from calibration.statistics.resampling import (
    MIN_CLUSTERS,
    BoolArray,
    FloatArray,
    IntArray,
    IntervalKind,
    cluster_intervals,
)
from calibration.statistics.ties import settle_ties
from core.errors import UserError

PASS_MARK = 75.0
STRETCH = 4.0


@dataclass(frozen=True)
class PointsRule:
    """A category's score is (sum of `top` / sum of `under` - zero) x stretch over its entries.

    The overall score is the mean of the categories', weighted by `weights` (by category; empty for an unweighted one),
    or that of all entries at once where `pooled`.
    """

    zero: float
    stretch: float
    pooled: bool = False
    weights: Mapping[int, float] = field(default_factory=dict)

    def shares(self, categories: Sequence[int]) -> FloatArray:
        """Return the share of each category in the overall score, shape (n,), summing to 1."""
        weights = np.array([self.weights.get(category, 1.0) for category in categories], dtype=np.float64)
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def scaled(self, value: FloatArray) -> FloatArray:
        return np.asarray((value - self.zero) * self.stretch, dtype=np.float64)


HELLOBENCH = PointsRule(PASS_MARK, STRETCH)


class NoVerdicts(UserError):
    """There is no usable verdict from which to compute a score."""


class OnlyDiscredited(NoVerdicts):
    """All verdicts come from runs that failed their canary texts."""


class WithoutWeight(UserError):
    """Every applicable item of a response has no weight or weight zero, so its points are undefined."""


@dataclass(frozen=True)
class Points:
    """response (n,): each response once, ascending; points (n,) in 0..100."""

    response: IntArray
    points: FloatArray


@dataclass(frozen=True)
class CategoryScore:
    """score is rescaled points, 100 at best; n responses counted, unscored left out."""

    score: float
    n: int
    unscored: int


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True)
class ModelScores:
    """`categories` holds those with a usable verdict; `unscored` counts all unusable ones, by category.

    `average` is None unless every category of the board has a score: models are compared over the same categories.
    """

    model: str
    categories: Mapping[str, CategoryScore]
    unscored: Mapping[str, int]
    average: float | None


def response_points(response: IntArray, answer: FloatArray, weight: FloatArray) -> Points:
    """Return 100 x sum(w x)/sum(w) over the items of each response; arrays of shape (m,), one entry an applicable item.

    answer in [0, 1], weight >= 0. With weights that sum to 100 over complete items this is sum(w x). Raises NoVerdicts,
    WithoutWeight.
    """
    if not response.size:
        raise NoVerdicts("No usable verdict, so nothing can be scored.")
    pks, place = np.unique(response, return_inverse=True)
    total = np.bincount(place, weights=weight, minlength=pks.size)
    if (total <= 0).any():
        raise WithoutWeight(f"{int((total <= 0).sum())} responses have no item with a weight above zero.")
    earned = np.bincount(place, weights=weight * answer, minlength=pks.size)
    return Points(pks.astype(np.int64), 100 * earned / total)


def model_scores(
    *,
    model: IntArray,
    category: IntArray,
    points: FloatArray,
    unscored: Mapping[tuple[int, int], int],
    model_names: Mapping[int, str],
    category_keys: Mapping[int, str],
    under: FloatArray | None = None,
    judged: BoolArray | None = None,
    rule: PointsRule = HELLOBENCH,
) -> list[ModelScores]:
    """Return the scores, best average first, models without one last; arrays have shape (n,), one entry a response.

    unscored counts by (model, category); category_keys are all categories of the board, in order; `under` divides
    (None: ones, a plain mean); `judged` are the entries that somebody judged (None: all), which n counts.
    """
    models = sorted(set(np.unique(model).tolist()) | {pk for pk, _ in unscored})
    keys = list(category_keys)
    shape = (len(models), len(keys))
    cells = np.searchsorted(models, model) * len(keys) + _places(keys, category)
    size = shape[0] * shape[1]
    counts = np.bincount(cells, minlength=size).reshape(shape)
    sums = np.bincount(cells, weights=points, minlength=size).reshape(shape)
    below = counts if under is None else np.bincount(cells, weights=under, minlength=size).reshape(shape)
    given = counts if judged is None else np.bincount(cells[judged], minlength=size).reshape(shape)
    found = []
    for place, pk in enumerate(models):
        missing = {category_keys[key]: unscored.get((pk, key), 0) for key in keys}
        there = [spot for spot in range(len(keys)) if counts[place, spot]]
        scores = {
            category_keys[keys[spot]]: CategoryScore(
                float(rule.scaled(sums[place, spot] / below[place, spot])),
                int(given[place, spot]),
                missing[category_keys[keys[spot]]],
            )
            for spot in there
        }
        average = None
        if len(there) == len(keys) and rule.pooled:
            average = float(rule.scaled(sums[place].sum() / below[place].sum()))
        elif len(there) == len(keys):
            own = np.array([score.score for score in scores.values()])
            average = float(own @ rule.shares(keys)) if rule.weights else sum(own.tolist()) / len(keys)
        found.append(ModelScores(model_names[pk], scores, missing, average))
    averages = settle_ties(np.array([one.average or 0.0 for one in found]))
    ordered = sorted(
        zip(averages.tolist(), found, strict=True), key=lambda pair: (pair[1].average is None, -pair[0], pair[1].model)
    )
    return [one for _average, one in ordered]


def _places(keys: Sequence[int], category: IntArray) -> IntArray:
    """Return the place of each entry's category among keys."""
    place = {key: spot for spot, key in enumerate(keys)}
    known, codes = np.unique(category, return_inverse=True)
    return np.array([place[int(key)] for key in known], dtype=np.int64)[codes]


@dataclass(frozen=True)
class ScoreIntervals:
    """Intervals over whole instructions of models judged in every category, their kind and the number of instructions.

    `averages` by model; `cells` by (model, category); 95 % intervals are given only for those with enough instructions
    of their own.
    """

    averages: Mapping[int, Interval]
    cells: Mapping[tuple[int, int], Interval]
    kind: IntervalKind
    clusters: int


def average_intervals(
    *,
    model: IntArray,
    category: IntArray,
    instruction: IntArray,
    points: FloatArray,
    under: FloatArray | None = None,
    rule: PointsRule = HELLOBENCH,
    draws: int = 1000,
    seed: int = 0,
) -> ScoreIntervals:
    """Return intervals of each model's average and categories over whole instructions, the same drawn for all models.

    Only models judged in every category have intervals. Arrays have shape (n,).
    """
    models, m = np.unique(model, return_inverse=True)
    categories, c = np.unique(category, return_inverse=True)
    instructions, k = np.unique(instruction, return_inverse=True)
    shape = (len(instructions), len(models) * len(categories))
    cell = k * shape[1] + m * len(categories) + c
    size = shape[0] * shape[1]
    sums = np.bincount(cell, weights=points, minlength=size).reshape(shape)
    counts = np.bincount(cell, weights=under, minlength=size).reshape(shape).astype(np.float64)
    complete = (counts.sum(axis=0).reshape(len(models), len(categories)) > 0).all(axis=1)
    if not complete.any():
        return ScoreIntervals({}, {}, "none", len(instructions))
    columns = np.repeat(complete, len(categories))
    sums, counts = sums[:, columns], counts[:, columns]
    pks = models[complete].tolist()

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        above, below = drawn @ sums, drawn @ counts
        usable = np.asarray((below > 0).all(axis=1), dtype=np.bool_)
        means = above / np.where(below > 0, below, 1.0)
        groups = (len(drawn), -1, len(categories))
        if rule.pooled:
            total = below.reshape(groups).sum(axis=2)
            averages = above.reshape(groups).sum(axis=2) / np.where(total > 0, total, 1.0)
        else:
            parts = means.reshape(groups)
            averages = parts @ rule.shares(categories.tolist()) if rule.weights else parts.mean(axis=2)
        return rule.scaled(np.concatenate([averages, means], axis=1)), usable

    try:
        _, ends = cluster_intervals(statistic, len(instructions), draws=draws, seed=seed)
    except NoStatistic:
        return ScoreIntervals({}, {}, "none", len(instructions))
    if ends.kind == "none":
        return ScoreIntervals({}, {}, "none", len(instructions))
    found = [Interval(float(low), float(high)) for low, high in zip(ends.low, ends.high, strict=True)]
    places = [(pk, key) for pk in pks for key in categories.tolist()]
    whole = counts.reshape(len(instructions), len(pks), len(categories)).sum(axis=2)
    enough = [(had > 0).sum(axis=0) >= MIN_CLUSTERS for had in (whole, counts)]
    if ends.kind != "bootstrap95":
        enough = [np.ones_like(one) for one in enough]
    stated = {pk for pk, one in zip(pks, enough[0], strict=True) if one}
    cells = found[len(pks) :]
    return ScoreIntervals(
        {pk: one for pk, one in zip(pks, found[: len(pks)], strict=True) if pk in stated},
        {place: cell for place, cell, one in zip(places, cells, enough[1], strict=True) if one},
        ends.kind,
        len(instructions),
    )

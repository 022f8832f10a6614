"""From item scores to points, category scores and an average. PURE.

HelloBench (arXiv 2409.16191): a response's points are the weighted sum of its checklist answers, 0..100 (equation 1);
a category's score is (mean points - 75) x 4; the average is the unweighted mean of the categories. With equal
weights the points are AVG-C. An unusable verdict is left out and counted, never set to zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.resampling import BoolArray, FloatArray, IntArray, IntervalKind, cluster_intervals
from calibration.statistic_errors import NoStatistic

PASS_MARK = 75.0
STRETCH = 4.0


class NoVerdicts(LookupError):
    """There is no usable verdict to compute a score from."""


class WithoutWeight(ValueError):
    """Every applicable item of a response has weight zero or none, so its points are not defined."""


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

    `average` is there only where every category of the board has a score: over fewer it would compare unlike things.
    """

    model: str
    categories: Mapping[str, CategoryScore]
    unscored: Mapping[str, int]
    average: float | None


def rescaled(mean_points: float) -> float:
    """(mean - 75) x 4: 100 is perfect, 0 is 75 points, below it is negative. HelloBench, table 2."""
    return (mean_points - PASS_MARK) * STRETCH


def response_points(response: IntArray, answer: FloatArray, weight: FloatArray) -> Points:
    """100 x sum(w x)/sum(w) over the items of each response; arrays of shape (m,), one entry an applicable item.

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
) -> list[ModelScores]:
    """Best average first, models without one last; model, category, points have shape (n,), one entry a response.

    unscored counts by (model, category); category_keys are all categories of the board, in order.
    """
    models = sorted(set(np.unique(model).tolist()) | {pk for pk, _ in unscored})
    keys = list(category_keys)
    row, column = np.searchsorted(models, model), _places(keys, category)
    cells = row * len(keys) + column
    counts = np.bincount(cells, minlength=len(models) * len(keys)).reshape(len(models), len(keys))
    sums = np.bincount(cells, weights=points, minlength=counts.size).reshape(counts.shape)
    found = []
    for place, pk in enumerate(models):
        missing = {category_keys[key]: unscored.get((pk, key), 0) for key in keys}
        scores = {
            category_keys[key]: CategoryScore(
                rescaled(float(sums[place, spot] / counts[place, spot])),
                int(counts[place, spot]),
                missing[category_keys[key]],
            )
            for spot, key in enumerate(keys)
            if counts[place, spot]
        }
        average = (
            sum(score.score for score in scores.values()) / len(keys) if len(scores) == len(keys) else None
        )
        found.append(ModelScores(model_names[pk], scores, missing, average))
    return sorted(found, key=lambda one: (one.average is None, -(one.average or 0.0), one.model))


def _places(keys: Sequence[int], category: IntArray) -> IntArray:
    """The place of each entry's category among keys."""
    place = {key: spot for spot, key in enumerate(keys)}
    known, codes = np.unique(category, return_inverse=True)
    return np.array([place[int(key)] for key in known], dtype=np.int64)[codes]


def average_intervals(
    *,
    model: IntArray,
    category: IntArray,
    instruction: IntArray,
    points: FloatArray,
    draws: int = 1000,
    seed: int = 0,
) -> tuple[dict[int, Interval], IntervalKind, int]:
    """95 % intervals of each model's average over whole instructions, how they were made, and the instructions.

    Only models judged in every category have one. All models are drawn on the same instructions. Shapes (n,).
    """
    models, m = np.unique(model, return_inverse=True)
    categories, c = np.unique(category, return_inverse=True)
    instructions, k = np.unique(instruction, return_inverse=True)
    shape = (len(instructions), len(models) * len(categories))
    cell = k * shape[1] + m * len(categories) + c
    sums = np.bincount(cell, weights=points, minlength=shape[0] * shape[1]).reshape(shape)
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    complete = (counts.sum(axis=0).reshape(len(models), len(categories)) > 0).all(axis=1)
    if not complete.any():
        return {}, "none", len(instructions)
    columns = np.repeat(complete, len(categories))
    sums, counts = sums[:, columns], counts[:, columns]

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        seen = drawn @ counts
        usable = np.asarray((seen > 0).all(axis=1), dtype=np.bool_)
        means = (drawn @ sums) / np.where(seen > 0, seen, 1.0)
        averages = means.reshape(len(drawn), -1, len(categories)).mean(axis=2)
        return np.asarray((averages - PASS_MARK) * STRETCH, dtype=np.float64), usable

    try:
        _, ends = cluster_intervals(statistic, len(instructions), draws=draws, seed=seed)
    except NoStatistic:
        return {}, "none", len(instructions)
    found = {
        int(pk): Interval(float(low), float(high))
        for pk, low, high in zip(models[complete], ends.low, ends.high, strict=True)
    }
    return found, ends.kind, len(instructions)

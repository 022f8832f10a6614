"""Models by their mean score, with intervals over whole clusters: the ranking of stars and checklists. PURE."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from calibration.rank_intervals import ahead_chances, rank_ends, ranks
from calibration.rating_tables import sum_by
from calibration.resampling import (
    MIN_CLUSTERS,
    FloatArray,
    IntArray,
    IntervalKind,
    Labels,
    bootstrap_counts,
    cluster_codes,
    percentile_ends,
)
from calibration.statistic_errors import TooFewRatings


@dataclass(frozen=True)
class MeanScores:
    """Mean score of each of `models` (sorted), arrays (k,): ends over whole clusters as `interval_kind` says.

    `rank_low` and `rank_high` hold each model's true rank with at least 95 % where the kind is "bootstrap95".
    `sample` (draws, k) are the resampled means; `n` (k,) scores of each model.
    """

    models: tuple[Hashable, ...]
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    rank: IntArray
    rank_low: IntArray
    rank_high: IntArray
    n: IntArray
    sample: FloatArray
    interval_kind: IntervalKind
    clusters: int
    draws: int

    def ahead(self) -> FloatArray:
        """Probability (k, k) that the line's model has truly the higher mean. Raises TooFewRatings without draws."""
        if self.interval_kind != "bootstrap95":
            raise TooFewRatings(self.clusters, MIN_CLUSTERS, "clusters with usable draws")
        return ahead_chances(self.sample)


def mean_scores(
    scores: FloatArray, models: Labels, *, clusters: Labels, draws: int = 1000, seed: int = 0
) -> MeanScores:
    """Mean of scores (n,) of each model, models and clusters (n,) labels; models must be sortable.

    All models are resampled together, so that what a hard instruction does to all of them cancels from differences.
    A draw in which some model has no score is dropped. Raises TooFewRatings under two models.
    """
    values = np.asarray(scores, dtype=np.float64)
    names, model = np.unique(np.asarray(models), return_inverse=True)
    model = model.reshape(-1).astype(np.int64)
    k = len(names)
    if k < 2:
        raise TooFewRatings(k, 2, "models")
    codes, m = cluster_codes(clusters)
    if not values.size == codes.size == model.size:
        raise ValueError(f"{values.size} scores need as many models and clusters; give one of each a score.")
    cell = codes * k + model
    sums = sum_by(cell, m * k, values).reshape(m, k)
    sizes = sum_by(cell, m * k, np.ones_like(values)).reshape(m, k)
    mean = sums.sum(axis=0) / sizes.sum(axis=0)
    sample, kind = _resampled(sums, sizes, draws, seed)
    low, high = mean, mean
    if kind == "bootstrap95":
        low, high = percentile_ends(sample, m)
    elif kind == "leave_one_out_range":
        low, high = sample.min(axis=0), sample.max(axis=0)
    rank_low, rank_high = rank_ends(mean, sample, kind, m)
    return MeanScores(
        models=tuple(names.tolist()), mean=mean, low=low, high=high, rank=ranks(mean), rank_low=rank_low,
        rank_high=rank_high, n=sizes.sum(axis=0).astype(np.int64), sample=sample, interval_kind=kind, clusters=m,
        draws=len(sample) if kind == "bootstrap95" else 0,
    )  # fmt: skip


def _resampled(sums: FloatArray, sizes: FloatArray, draws: int, seed: int) -> tuple[FloatArray, IntervalKind]:
    """Means (draws, k) of whole clusters drawn again, or with each left out under MIN_CLUSTERS of them."""
    m = len(sums)
    if m < 2 or draws == 0:
        return np.empty((0, sums.shape[1])), "none"
    few = m < MIN_CLUSTERS
    counts = 1.0 - np.eye(m) if few else bootstrap_counts(m, draws, np.random.default_rng(seed))
    given = counts @ sizes
    usable = (given > 0).all(axis=1)
    sample = (counts[usable] @ sums) / given[usable]
    if few and len(sample):
        return sample, "leave_one_out_range"
    if not few and len(sample) >= draws / 2:
        return sample, "bootstrap95"
    return np.empty((0, sums.shape[1])), "none"


def complete_table(
    scores: FloatArray, tasks: IntArray, models: IntArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """Mean score of every model on every task that has all models: (tasks, models), the tasks' and models' labels.

    Raises TooFewRatings where fewer than two tasks or models are left.
    """
    task_names, task = np.unique(tasks, return_inverse=True)
    model_names, model = np.unique(models, return_inverse=True)
    k = len(model_names)
    cell = task.reshape(-1) * k + model.reshape(-1)
    size = len(task_names) * k
    total = sum_by(cell, size, np.asarray(scores, dtype=np.float64)).reshape(-1, k)
    given = sum_by(cell, size, np.ones(len(cell))).reshape(-1, k)
    whole = (given > 0).all(axis=1)
    if k < 2:
        raise TooFewRatings(k, 2, "models")
    if whole.sum() < 2:
        raise TooFewRatings(int(whole.sum()), 2, "instructions that every model has an answer to")
    return total[whole] / given[whole], task_names[whole].astype(np.int64), model_names.astype(np.int64)

"""Models by their mean score, with intervals over each model's own clusters: the ranking of stars and checklists. PURE."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.ranking.rank_intervals import clear_by_draws, clear_by_leaving_out, ends_of, ranks
from calibration.statistics.resampling import (
    MIN_CLUSTERS,
    BoolArray,
    FloatArray,
    IntArray,
    IntervalKind,
    Labels,
    bootstrap_counts,
    cluster_codes,
    percentile_ends,
)


@dataclass(frozen=True)
class MeanScores:
    """Mean score of each of `models` (sorted), arrays (k,): ends over the model's own `clusters` as `kinds` says.

    `rank_low` and `rank_high` hold the true rank with at least 95 % where a model's kind is "bootstrap95"; models that
    have no 95 % interval may then stand anywhere. Of a "leave_one_out_range" they are ranges as well, and with "none"
    any rank is possible. `sample` (draws, number of "bootstrap95") are the resampled means; `n` (k,) scores of each;
    `clear` (k, k) says who is clearly ahead of whom, as for `ends_of`.
    """

    models: tuple[Hashable, ...]
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    rank: IntArray
    rank_low: IntArray
    rank_high: IntArray
    n: IntArray
    kinds: tuple[IntervalKind, ...]
    clusters: IntArray
    sample: FloatArray
    clear: IntArray

    def ranks_among(self, mask: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
        """Rank, and smallest and largest possible rank, of the models where mask (k,) holds, among these alone."""
        low, high = ends_of(self.clear[np.ix_(mask, mask)])
        return ranks(self.mean[mask]), low, high


def mean_scores(
    scores: FloatArray, models: Labels, *, clusters: Labels, draws: int = 1000, seed: int = 0
) -> MeanScores:
    """Mean of scores (n,) of each model, models and clusters (n,) labels; models must be sortable.

    All models are resampled together, so that what a hard instruction does to all of them cancels from differences;
    what is stated of a model depends on how many clusters it has itself. Raises TooFewRatings under two models.
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
    own = (sizes > 0).sum(axis=0).astype(np.int64)
    kinds: list[IntervalKind] = [_kind(int(count), draws) for count in own]
    low, high, clear = mean.copy(), mean.copy(), np.zeros((k, k), dtype=np.int64)
    some = np.flatnonzero((own > 1) & (draws > 0))
    left = _left_out(sums[:, some], sizes[:, some])
    clear[np.ix_(some, some)] = clear_by_leaving_out(mean[some], left)
    low[some], high[some] = left.min(axis=0), left.max(axis=0)
    sure = _places(kinds, "bootstrap95")
    sample = _resampled(sums[:, sure], sizes[:, sure], draws, seed)
    clear[sure] = 0
    clear[np.ix_(sure, sure)] = clear_by_draws(mean[sure], sample, own[sure])
    for column, place in enumerate(sure):
        low[place], high[place] = percentile_ends(sample[:, column], int(own[place]))
    rank_low, rank_high = ends_of(clear)
    return MeanScores(
        models=tuple(names.tolist()),
        mean=mean,
        low=low,
        high=high,
        rank=ranks(mean),
        rank_low=rank_low,
        rank_high=rank_high,
        n=sizes.sum(axis=0).astype(np.int64),
        kinds=tuple(kinds),
        clusters=own,
        sample=sample,
        clear=clear,
    )


def _kind(clusters: int, draws: int) -> IntervalKind:
    if clusters < 2 or draws == 0:
        return "none"
    return "bootstrap95" if clusters >= MIN_CLUSTERS else "leave_one_out_range"


def _places(kinds: Sequence[IntervalKind], kind: IntervalKind) -> IntArray:
    return np.array([place for place, one in enumerate(kinds) if one == kind], dtype=np.int64)


def _left_out(sums: FloatArray, sizes: FloatArray) -> FloatArray:
    """Means (clusters, k) with each cluster left out, of models that have two clusters or more."""
    return np.asarray((sums.sum(axis=0) - sums) / (sizes.sum(axis=0) - sizes))


def _resampled(sums: FloatArray, sizes: FloatArray, draws: int, seed: int) -> FloatArray:
    """Means (draws, k) of whole clusters drawn again, of models that have MIN_CLUSTERS or more.

    A draw that misses all of a model's 20 clusters or more (at most 1 in 10^8) is dropped.
    """
    if not sums.shape[1]:
        return np.empty((0, 0))
    counts = bootstrap_counts(len(sums), draws, np.random.default_rng(seed))
    given = counts @ sizes
    usable = (given > 0).all(axis=1)
    return np.asarray((counts[usable] @ sums) / given[usable])


def complete_table(scores: FloatArray, tasks: IntArray, models: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
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

"""Comparisons between two models: the models, the outcomes, and the resampling of whole clusters. PURE.

A comparison (in code a "game") is one preference of one rater between two responses to one instruction. Every ranking is
computed from the counts of outcomes of each pair of models, so a resampled ranking needs only the resampled counts.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibration.statistics.errors import NoStatistic, TooFewRatings
from calibration.statistics.resampling import (
    MIN_CLUSTERS,
    BoolArray,
    FloatArray,
    IntArray,
    IntervalKind,
    Intervals,
    Labels,
    bootstrap_counts,
    cluster_codes,
    percentile_ends,
)

SCORE_OF_FIRST = {"first": 1.0, "second": 0.0, "tie": 0.5, "both_bad": 0.5}
"""Points of the side shown first by outcome; "both bad" separates the two sides no more than a tie does."""

MERGE_FROM = 1000
MERGE_FACTOR = 8


class UnboundedStrength(NoStatistic):
    """No other model won against or tied with `models`, so that no finite strength is large enough for them."""

    def __init__(self, models: tuple[Hashable, ...]) -> None:
        self.models = models
        super().__init__(
            f"Nothing outside this group ever won against or tied with it: {', '.join(map(str, models))}; "
            "its strength has no finite estimate until it does, or until virtual ties are added."
        )


@dataclass(frozen=True)
class Games:
    """Comparisons in the order in which they were made; arrays (n,).

    `first` and `second` index `models`, which are sorted; `score` is the points of the first side, 0, 0.5 or 1;
    `cluster` is 0..clusters-1, the task, instruction or rater whose comparisons are resampled together.
    """

    models: tuple[Hashable, ...]
    first: IntArray
    second: IntArray
    score: FloatArray
    cluster: IntArray
    clusters: int

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True)
class PairTables:
    """Counts of outcomes by pair: `total` (pairs, 3) and `resampled` (draws, pairs, 3).

    Pair p is models i < j of `pair_indices`; its outcomes are i won, tie, j won. `kind` says how the counts were
    resampled: whole clusters with replacement, each cluster left out once (under 20 clusters), or not at all.
    """

    total: FloatArray
    resampled: FloatArray
    kind: IntervalKind
    clusters: int


def as_games(first: Labels, second: Labels, score: FloatArray, *, clusters: Labels | None = None) -> Games:
    """Build comparisons from their two models, the first side's points and their clusters (default: one each).

    Model labels must be sortable (pks or names). Raises TooFewRatings if there are none, ValueError for a score other
    than 0, 0.5 and 1, for a model compared with itself, and for lengths that differ.
    """
    points = np.asarray(score, dtype=np.float64)
    n = points.size
    if n == 0:
        raise TooFewRatings(0, 1, "games")
    if len(first) != n or len(second) != n or (clusters is not None and len(clusters) != n):
        raise ValueError(f"{n} scores need {n} first models, second models and clusters.")
    if not np.isin(points, (0.0, 0.5, 1.0)).all():
        raise ValueError(
            "A comparison's score is 1, 0.5 or 0 for the first side; map preferences to these values first."
        )
    models, codes = np.unique(np.concatenate([np.asarray(first), np.asarray(second)]), return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    if (codes[:n] == codes[n:]).any():
        same = models[codes[:n][codes[:n] == codes[n:]][0]]
        raise ValueError(f"Model {same} is compared with itself; leave such comparisons out of a ranking.")
    cluster, k = (np.arange(n), n) if clusters is None else cluster_codes(clusters)
    return Games(tuple(models.tolist()), codes[:n], codes[n:], points, cluster, k)


def scores_of_first(endings: Sequence[str]) -> FloatArray:
    """Convert "first", "second", "tie" and "both_bad" to points of the first side. LLMEval (arXiv 2312.07398), Eq. 2."""
    unknown = sorted(set(endings) - SCORE_OF_FIRST.keys())
    if unknown:
        raise ValueError(f"Unknown outcome {unknown[0]!r}; an outcome is one of {', '.join(SCORE_OF_FIRST)}.")
    return np.asarray([SCORE_OF_FIRST[ending] for ending in endings], dtype=np.float64)


def pair_indices(models: int) -> tuple[IntArray, IntArray]:
    """Return the models i < j of every pair, in the order of PairTables."""
    lower, upper = np.triu_indices(models, 1)
    return lower.astype(np.int64), upper.astype(np.int64)


def cells(games: Games) -> IntArray:
    """Return the cell (pair * 3 + outcome) of a PairTables row in which each comparison is counted."""
    k = len(games.models)
    low, high = np.minimum(games.first, games.second), np.maximum(games.first, games.second)
    pair = low * (2 * k - low - 1) // 2 + high - low - 1
    of_low = np.where(games.first < games.second, games.score, 1 - games.score)
    ending = np.rint(2 * (1 - of_low)).astype(np.int64)
    return np.asarray(pair * 3 + ending, dtype=np.int64)


def pair_tables(games: Games, *, draws: int = 0, seed: int = 0, min_clusters: int = MIN_CLUSTERS) -> PairTables:
    """Count outcomes by pair, and again for `draws` bootstrap samples of whole clusters.

    With fewer than `min_clusters` clusters, the samples are the data without each cluster; with draws=0 there are none.
    """
    from scipy.sparse import csr_array

    k = len(games.models)
    width = 3 * (k * (k - 1) // 2)
    where = cells(games)
    total = np.bincount(where, minlength=width).astype(np.float64).reshape(-1, 3)
    if draws == 0 or games.clusters < 2:
        return PairTables(total, np.empty((0, *total.shape)), "none", games.clusters)
    pattern, patterns = _patterns(games.cluster, where, games.clusters)
    if games.clusters < min_clusters:
        kind: IntervalKind = "leave_one_out_range"
        counts = (1.0 - np.eye(games.clusters)) @ np.eye(patterns)[pattern]
    else:
        kind = "bootstrap95"
        counts = _pattern_counts(pattern, patterns, draws, np.random.default_rng(seed))
    # One cluster of each pattern represents all of them.
    example = np.full(patterns, -1)
    example[pattern[::-1]] = np.arange(games.clusters)[::-1]
    chosen = example[pattern[games.cluster]] == games.cluster
    shape = (width, patterns)
    entries = (np.ones(int(chosen.sum())), (where[chosen], pattern[games.cluster[chosen]]))
    by_pattern: Any = csr_array(entries, shape=shape)
    drawn = np.asarray(by_pattern @ np.ascontiguousarray(counts.T), dtype=np.float64).T
    return PairTables(total, np.ascontiguousarray(drawn).reshape(-1, *total.shape), kind, games.clusters)


def half_tie_wins(tables: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return wins of i and of j in each pair, with a tie as half a win for each: two (..., pairs) from (..., pairs, 3)."""
    half = tables[..., 1] / 2
    return tables[..., 0] + half, tables[..., 2] + half


def sample_ends(point: FloatArray, sample: FloatArray, tables: PairTables, usable: BoolArray) -> Intervals:
    """Compute the ends of each quantity (q,) from its resampled values (draws, q); `usable` (draws,) are defined.

    If fewer than half of the bootstrap draws are usable, no interval is stated: the kind is "none".
    """
    kept = sample[usable]
    if tables.kind == "bootstrap95" and len(kept) >= len(sample) / 2:
        low, high = percentile_ends(kept, tables.clusters)
        return Intervals(low, high, "bootstrap95", tables.clusters, len(kept))
    if tables.kind == "leave_one_out_range" and len(kept):
        return Intervals(kept.min(axis=0), kept.max(axis=0), tables.kind, tables.clusters, 0)
    return Intervals(point, point, "none", tables.clusters, 0)


def _patterns(cluster: IntArray, where: IntArray, clusters: int) -> tuple[IntArray, int]:
    """Number clusters so that those with the same comparisons share a number: (clusters,) and the count of numbers.

    Thousands of clusters of one or two comparisons have only a few hundred different patterns, and a draw needs no more
    random numbers than there are patterns. Clusters of the same size are compared as sorted rows of cells.
    """
    if clusters < MERGE_FROM:
        return np.arange(clusters), clusters
    width = int(where.max()) + 1
    ordered = np.sort(cluster * width + where) % width
    sizes = np.bincount(cluster, minlength=clusters)
    starts = np.cumsum(sizes) - sizes
    numbers = np.empty(clusters, dtype=np.int64)
    used = 0
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        rows = ordered[starts[same][:, None] + np.arange(size)]
        keys = rows[:, 0] if size == 1 else rows
        distinct, number = np.unique(keys, axis=0, return_inverse=True)
        numbers[same] = number.reshape(-1) + used
        used += len(distinct)
    return numbers, used


def _pattern_counts(pattern: IntArray, patterns: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """Count how often each pattern enters each draw, which takes all clusters with replacement: (draws, patterns)."""
    from scipy.sparse import csr_array

    clusters = pattern.size
    if patterns * MERGE_FACTOR <= clusters:
        shares = np.bincount(pattern, minlength=patterns) / clusters
        return rng.multinomial(clusters, shares, size=draws).astype(np.float64)
    counts = bootstrap_counts(clusters, draws, rng)
    if patterns == clusters:
        return counts[:, np.argsort(pattern)]
    member: Any = csr_array((np.ones(clusters), (pattern, np.arange(clusters))), shape=(patterns, clusters))
    return np.asarray(member @ np.ascontiguousarray(counts.T), dtype=np.float64).T

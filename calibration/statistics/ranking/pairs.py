"""Rankings of models from pairwise preferences: points, and the imports of Elo, Bradley-Terry and Davidson. PURE."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.proportions import share_ends_of_clusters
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.ranking.bradley_terry import (
    BradleyTerry,
    BradleyTerryIntervals,
    bradley_terry,
    bradley_terry_intervals,
    on_elo_scale,
)
from calibration.statistics.ranking.comparisons import (
    Games,
    UnboundedStrength,
    as_games,
    pair_indices,
    pair_tables,
    sample_ends,
    scores_of_first,
)
from calibration.statistics.ranking.davidson import Davidson, davidson
from calibration.statistics.ranking.elo import Elo, EloOrders, elo, elo_orders, elo_variance_law, simulate_elo_variance
from calibration.statistics.ranking.paired_effects import PairedEffects, length_contrast, paired_effects
from calibration.statistics.ranking.rank_intervals import ranks
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray, IntArray, cluster_codes
from calibration.statistics.shares import ShareInterval

__all__ = [
    "BradleyTerry",
    "BradleyTerryIntervals",
    "Davidson",
    "Elo",
    "EloOrders",
    "Games",
    "PairedEffects",
    "Points",
    "UnboundedStrength",
    "as_games",
    "bradley_terry",
    "bradley_terry_intervals",
    "davidson",
    "elo",
    "elo_orders",
    "elo_variance_law",
    "length_contrast",
    "on_elo_scale",
    "paired_effects",
    "points",
    "ranks",
    "scores_of_first",
    "simulate_elo_variance",
]


@dataclass(frozen=True)
class Points:
    """Points of each model, arrays (k,) in the order of `models`: a win counts 1, a tie 0.5, a loss 0.

    `total` is their sum and `per_game` their mean, with ends over whole clusters as `interval_kind` says: "wilson95", a
    bootstrap's for a model in fewer than 20 clusters, because a model that won every comparison is not certain to win all
    others; or "leave_one_out_range" or "none". `rank` is by `total`, as in the source, and `rank_per_game` by `per_game`,
    which is fair if models were compared unequally often.
    """

    models: tuple[Hashable, ...]
    total: FloatArray
    per_game: FloatArray
    per_game_low: FloatArray
    per_game_high: FloatArray
    rank: IntArray
    rank_per_game: IntArray
    wins: IntArray
    ties: IntArray
    losses: IntArray
    interval_kind: ShareInterval
    clusters: int
    draws: int
    seed: int


def points(games: Games, *, draws: int = 0, seed: int = 0, min_clusters: int = MIN_CLUSTERS) -> Points:
    """Compute the points of every model. LLMEval (arXiv 2312.07398), Eq. 1 and 2; "both bad" is a tie."""
    tables = pair_tables(games, draws=draws, seed=seed, min_clusters=min_clusters)
    k = len(games.models)
    ended = outcomes_by_model(tables.total[None], k)[0]
    drawn = outcomes_by_model(tables.resampled, k)
    played = drawn.sum(axis=2)
    sample = (drawn[..., 0] + drawn[..., 1] / 2) / np.maximum(played, 1)
    total = ended[:, 0] + ended[:, 1] / 2
    per_game = total / ended.sum(axis=1)
    ends = sample_ends(per_game, sample, tables, (played > 0).all(axis=1))
    wins, ties, losses = ended.T.astype(np.int64)
    low, high, kind = ends.low, ends.high, ends.kind
    stated: ShareInterval = kind
    if kind == "bootstrap95":
        (low, high), stated = _wilson(games, low, high), "wilson95"
    return Points(
        models=games.models,
        total=total,
        per_game=per_game,
        per_game_low=low,
        per_game_high=high,
        rank=ranks(total),
        rank_per_game=ranks(per_game),
        wins=wins,
        ties=ties,
        losses=losses,
        interval_kind=stated,
        clusters=ends.clusters,
        draws=ends.draws,
        seed=seed,
    )


def _wilson(games: Games, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends (k,) of points per game, and those given for models in too few clusters for Wilson's."""
    least, most = low.copy(), high.copy()
    for model in range(len(games.models)):
        won = np.concatenate([games.score[games.first == model], 1 - games.score[games.second == model]])
        cluster = np.concatenate([games.cluster[games.first == model], games.cluster[games.second == model]])
        codes, k = cluster_codes(cluster)
        if k >= MIN_CLUSTERS:
            entries = np.bincount(codes, minlength=k).astype(np.float64)
            least[model], most[model] = share_ends_of_clusters(sum_by(codes, k, won), entries)
    return least, most


def outcomes_by_model(tables: FloatArray, models: int) -> FloatArray:
    """Count wins, ties and losses of each model, (b, k, 3), from tables (b, pairs, 3)."""
    i, j = pair_indices(models)
    of_first = np.zeros((len(i), models))
    of_first[np.arange(len(i)), i] = 1.0
    of_second = np.zeros((len(i), models))
    of_second[np.arange(len(i)), j] = 1.0
    ended = np.einsum("bpe,pk->bke", tables, of_first, optimize=True)
    ended += np.einsum("bpe,pk->bke", tables[..., ::-1], of_second, optimize=True)
    return np.asarray(ended, dtype=np.float64)

"""Elo ratings and their dependence on the order of comparisons. PURE. LLMEval (arXiv 2312.07398), Eq. 3, 4.

Expected points E_a = 1/(1 + 10^((R_b - R_a)/400)); a comparison raises R_a by K (S_a - E_a) and lowers R_b by as much.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import tanh

import numpy as np

from calibration.statistics.errors import TooFewRatings, out_of_range
from calibration.statistics.ranking.bradley_terry import ELO_POINTS
from calibration.statistics.ranking.comparisons import Games
from calibration.statistics.ranking.rank_intervals import ranks_among
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray

START = 1500.0
K = 32.0
LAST_GAMES = 100
CONTRACTION = 0.9264
VARIANCE_FACTOR = K**2 / (1 - CONTRACTION**2)
"""7222.3: the constant of LLMEval's Eq. 6 as its own formula gives it (printed there as 7211.27)."""

HALF_UNIT = 2 * ELO_POINTS
GAMES_AT_ONCE = 512


@dataclass(frozen=True)
class Elo:
    """Ratings after one pass in the given order; arrays (k,) in the order of `models`.

    Before and after each of the last `last_games` comparisons, ratings were in `last_low`..`last_high` and ranks (1 +
    number of higher ratings) in `last_rank_low`..`last_rank_high`.
    """

    models: tuple[Hashable, ...]
    rating: FloatArray
    rank: IntArray
    last_low: FloatArray
    last_high: FloatArray
    last_rank_low: IntArray
    last_rank_high: IntArray
    last_games: int
    games: int
    start: float
    k: float


@dataclass(frozen=True)
class EloOrders:
    """Final ratings (orders, k) of the same comparisons in `orders` random orders; summaries (k,) over the orders."""

    models: tuple[Hashable, ...]
    ratings: FloatArray
    mean: FloatArray
    deviation: FloatArray
    low: FloatArray
    high: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    orders: int
    games: int
    start: float
    k: float
    seed: int


def elo(
    games: Games, *, start: float = START, k: float = K, last_games: int = LAST_GAMES, ranked: BoolArray | None = None
) -> Elo:
    """Process the comparisons once, in their order. `last_games` above their number means all of them.

    Ranks are among the models of the mask `ranked` (k,), all by default, and 0 for the others.
    """
    watched = min(last_games, len(games))
    rating = [start / HALF_UNIT] * len(games.models)
    step = k / HALF_UNIT
    history = np.empty((watched + 1, len(rating)))
    begin = len(games) - watched
    played = zip(games.first.tolist(), games.second.tolist(), games.score.tolist(), strict=True)
    for number, (a, b, points) in enumerate(played):
        if number >= begin:
            history[number - begin] = rating
        gain = step * (points - (1 + tanh(rating[a] - rating[b])) / 2)
        rating[a] += gain
        rating[b] -= gain
    history[watched] = rating
    history *= HALF_UNIT
    placed = ranks_among(history, np.ones(len(rating), dtype=bool) if ranked is None else ranked)
    return Elo(
        models=games.models,
        rating=history[-1],
        rank=placed[-1],
        last_low=history.min(axis=0),
        last_high=history.max(axis=0),
        last_rank_low=placed.min(axis=0),
        last_rank_high=placed.max(axis=0),
        last_games=watched,
        games=len(games),
        start=start,
        k=k,
    )


def elo_orders(
    games: Games,
    *,
    orders: int = 200,
    seed: int = 0,
    start: float = START,
    k: float = K,
    ranked: BoolArray | None = None,
) -> EloOrders:
    """Compute Elo over `orders` shuffles of the comparisons, stepping all of them together. Raises TooFewRatings if 0.

    `ranked` as for `elo`.
    """
    if orders < 1:
        raise TooFewRatings(orders, 1, "orders")
    models = len(games.models)
    # All that matters of a game is who met and how it ended: one small number, cheap to shuffle.
    kind = (games.first * models + games.second) * 3 + np.rint(games.score * 2).astype(np.int64)
    rng = np.random.default_rng(seed)
    shuffled = np.empty((orders, len(games)), dtype=np.int16 if 3 * models**2 < 2**15 else np.int32)
    for line in shuffled:
        rng.shuffle(kind)
        line[:] = kind
    rating = np.full(orders * models, start / HALF_UNIT)
    for begin in range(0, len(games), GAMES_AT_ONCE):
        block = shuffled[:, begin : begin + GAMES_AT_ONCE].T.astype(np.int64)
        _play(rating, np.ascontiguousarray(block), models, k / HALF_UNIT)
    final = rating.reshape(orders, models) * HALF_UNIT
    placed = ranks_among(final, np.ones(models, dtype=bool) if ranked is None else ranked)
    return EloOrders(
        models=games.models,
        ratings=final,
        mean=final.mean(axis=0),
        deviation=final.std(axis=0),
        low=final.min(axis=0),
        high=final.max(axis=0),
        rank_low=placed.min(axis=0),
        rank_high=placed.max(axis=0),
        orders=orders,
        games=len(games),
        start=start,
        k=k,
        seed=seed,
    )


def elo_variance_law(accuracy: float) -> float:
    """Compute the variance of a rating, in squared Elo points, by LLMEval's linear law, 7222.3 p (1 - p).

    The stronger of two models wins each comparison with probability p = `accuracy`. The law approximates the logistic
    curve by a line and holds only near p = 0.7: simulated variances at 0.5, 0.7, 0.9 are 1517, 1490, 1409, whereas the
    law gives 1806, 1517, 650.
    """
    _check_share(accuracy)
    return VARIANCE_FACTOR * accuracy * (1 - accuracy)


def simulate_elo_variance(accuracy: float, *, games: int, chains: int, seed: int) -> float:
    """Simulate the variance, over `chains` runs, of the stronger model's rating after `games` comparisons of two models."""
    from scipy.special import expit

    _check_share(accuracy)
    rng = np.random.default_rng(seed)
    rating = np.full(chains, START)
    for _ in range(games):
        expected = expit((2 * rating - 2 * START) / ELO_POINTS)
        rating += K * ((rng.random(chains) < accuracy) - expected)
    return float(rating.var(ddof=1))


def _play(rating: FloatArray, codes: IntArray, models: int, step: float) -> None:
    """Process the comparisons in codes (games, orders) one after another, in place, in every order at once.

    Ratings are in half natural units, in which E_a = (1 + tanh(R_a - R_b))/2, because tanh is fastest.
    """
    kinds = np.arange(3 * models**2)
    orders = codes.shape[1]
    sides = np.empty((len(codes), 2, orders), dtype=np.int64)
    np.take(kinds // 3 // models, codes, out=sides[:, 0], mode="clip")
    np.take(kinds // 3 % models, codes, out=sides[:, 1], mode="clip")
    sides += np.arange(orders) * models
    points = np.take((kinds % 3 - 1) * (step / 2), codes)
    gain = np.empty(orders)
    both = np.empty((2, orders))
    ahead, behind = both
    for place, won in zip(sides, points, strict=True):
        rating.take(place, out=both, mode="clip")
        np.subtract(ahead, behind, out=gain)
        np.tanh(gain, out=gain)
        np.multiply(gain, -step / 2, out=gain)
        gain += won
        ahead += gain
        behind -= gain
        rating[place] = both


def _check_share(accuracy: float) -> None:
    if not 0 <= accuracy <= 1:
        raise out_of_range("Accuracy", 0.0, 1.0, accuracy)

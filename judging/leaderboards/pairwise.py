"""Rankings from a benchmark's pairs: points, Elo, Bradley-Terry, and ranks shared by models that do not differ."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from calibration.statistics.errors import NoStatistic
from calibration.statistics.ranking.bradley_terry import bradley_terry_intervals, on_elo_scale
from calibration.statistics.ranking.comparisons import Games, as_games
from calibration.statistics.ranking.elo import elo
from calibration.statistics.ranking.pairs import points
from calibration.statistics.ranking.power import shared_ranks
from calibration.statistics.resampling import IntervalKind
from judging.leaderboards.observations import BoardEntries
from judging.scores.benchmark_scores import win_shares

T = TypeVar("T")


@dataclass(frozen=True)
class Standing:
    """Results of one model; None if the comparisons do not determine a value. `strength` is Bradley-Terry on Elo's
    scale, with its interval.
    """

    model: str
    points: float
    games: int
    per_game: float
    elo: float
    strength: float | None
    low: float | None
    high: float | None
    rank: int | None


@dataclass(frozen=True)
class Standings:
    """Most points per comparison first. `strengthless` says why there are no strengths; '' if there are."""

    rows: tuple[Standing, ...]
    interval_kind: IntervalKind
    clusters: int
    strengthless: str


def standings(entries: BoardEntries, wins: BoardEntries, names: Mapping[int, str]) -> Standings:
    """Rank the models from entries of pairs, two per pair.

    `wins` holds 1, .5 or 0 as `top` for the same pairs. Elo processes the comparisons by instruction. Ranks compare
    models with paired t tests over the instructions that all of them have (HREF, table 3).
    """
    half = wins.select(wins.response < wins.rival)
    order = np.lexsort([half.rival, half.response, half.instruction])
    half = half.select(order)
    games = as_games(half.model, half.opponent, win_shares(half.top - 0.5), clusters=half.instruction)
    once, rated = points(games), elo(games)
    fitted = _or_none(lambda: bradley_terry_intervals(games))
    ranks = _or_none(lambda: _ranks(entries, names)) or {}
    rows = []
    for place, model in enumerate(games.models):
        name = names[int(str(model))]
        strength = low = high = None
        if fitted is not None:
            strength, low, high = (
                float(on_elo_scale(one)[place]) for one in (fitted.fit.strength, fitted.low, fitted.high)
            )
        played = int(once.wins[place] + once.ties[place] + once.losses[place])
        rows.append(
            Standing(
                name,
                float(once.total[place]),
                played,
                float(once.per_game[place]),
                float(rated.rating[place]),
                strength,
                low,
                high,
                ranks.get(name),
            )
        )
    rows.sort(key=lambda one: (-one.per_game, one.model))
    return Standings(
        tuple(rows), fitted.interval_kind if fitted else "none", games.clusters, "" if fitted else _why(games)
    )


def _why(games: Games) -> str:
    try:
        bradley_terry_intervals(games, draws=0)
    except NoStatistic as error:
        return type(error).__name__
    return ""


def _or_none(found: Callable[[], T]) -> T | None:
    try:
        return found()
    except NoStatistic:
        return None


def _ranks(entries: BoardEntries, names: Mapping[int, str]) -> dict[str, int]:
    """Rank the models over the instructions that every model has; a model's outcome is its mean on each.

    A single model ranks first. Raises TooFewRatings under two instructions.
    """
    models, m = np.unique(entries.model, return_inverse=True)
    instructions, i = np.unique(entries.instruction, return_inverse=True)
    shape = (len(models), len(instructions))
    cell = m.reshape(-1) * shape[1] + i.reshape(-1)
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, weights=entries.top, minlength=shape[0] * shape[1]).reshape(shape)
    shared = (counts > 0).all(axis=0)
    means = sums[:, shared] / counts[:, shared]
    if len(models) == 1 and means.shape[1] > 1:
        return {names[int(models[0])]: 1}
    # Models that tie are listed by name.
    named = sorted((names[int(pk)], row) for row, pk in enumerate(models))
    ranked = shared_ranks(means[[row for _name, row in named]].T, [name for name, _row in named])
    return {str(model): int(rank) for model, rank in zip(ranked.models, ranked.rank, strict=True)}

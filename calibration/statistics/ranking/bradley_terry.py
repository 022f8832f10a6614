"""Bradley-Terry strengths by maximum likelihood, their intervals over whole clusters, and the ranks that follow. PURE.

P(i beats j) = 1/(1 + exp(strength_j - strength_i)) (Bradley and Terry 1952); a tie counts as half a win for each.
The computation is our own: win counts by pair, and Newton steps on all bootstrap samples together.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import Undefined, not_converged
from calibration.statistics.ranking.comparisons import (
    Games,
    UnboundedStrength,
    half_tie_wins,
    pair_indices,
    pair_tables,
    sample_ends,
)
from calibration.statistics.ranking.newton import maximise
from calibration.statistics.ranking.rank_intervals import rank_ends, ranks
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, IntervalKind

ELO_POINTS = 400 / np.log(10)
GRADIENT_ALLOWED = 1e-8


@dataclass(frozen=True)
class BradleyTerry:
    """Strengths of `models`, arrays in their order.

    `strength` (k,) is in natural log-odds with mean 0; `rank` (k,) is 1 + the number of models that are stronger;
    `beats` (k, k) is the probability that the row's model is preferred to the column's, 0.5 on the diagonal. `games` is the
    number of comparisons; `virtual_ties` ties were added to every pair (0: plain maximum likelihood).
    """

    models: tuple[Hashable, ...]
    strength: FloatArray
    rank: IntArray
    beats: FloatArray
    games: int
    virtual_ties: float


@dataclass(frozen=True)
class BradleyTerryIntervals:
    """A fit with intervals over whole clusters.

    `low` and `high` (k,) are of the strengths, `difference_low` and `difference_high` (k, k) of line minus column.
    `rank_low` and `rank_high` (k,) hold each model's true rank with at least 95 %: models count as ahead or behind
    when their difference leaves 0 outside an interval that is simultaneous over all rivals of that model (Mogstad,
    Romano, Shaikh and Wilhelm 2024, marginal confidence sets). Of the kind "leave_one_out_range" all of these are
    ranges over leaving one cluster out. `strength_draws` (draws, k) are the usable samples.
    """

    fit: BradleyTerry
    low: FloatArray
    high: FloatArray
    difference_low: FloatArray
    difference_high: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    strength_draws: FloatArray
    interval_kind: IntervalKind
    clusters: int
    draws: int
    seed: int


def bradley_terry(games: Games, *, virtual_ties: float = 0.0) -> BradleyTerry:
    """Estimate strengths by maximum likelihood; each of `virtual_ties` adds one tie between every two models.

    Without virtual ties, raises Undefined (DisconnectedComparisons) or UnboundedStrength if no finite maximum exists
    (Ford 1957). Raises Undefined (NotConverged) if the gradient of the likelihood is not zero in the end.
    """
    return _fit(games, pair_tables(games).total, virtual_ties)


def bradley_terry_intervals(
    games: Games, *, virtual_ties: float = 0.0, draws: int = 1000, seed: int = 0, min_clusters: int = MIN_CLUSTERS
) -> BradleyTerryIntervals:
    """Estimate strengths, differences and ranks, with intervals from `draws` samples of whole clusters of `games`.

    A sample without a finite maximum (in which a model is undefeated) is not counted in `draws`; virtual ties avoid that.
    If more than half are left out, the kind is "none". Raises what bradley_terry raises.
    """
    tables = pair_tables(games, draws=draws, seed=seed, min_clusters=min_clusters)
    fit = _fit(games, tables.total, virtual_ties)
    k = len(games.models)
    i, j = pair_indices(k)
    wins, losses = _wins(tables.resampled, virtual_ties)
    usable = strongly_connected(wins, losses, k)
    bounded = np.flatnonzero(usable)
    sample = np.zeros((len(wins), k))
    start = np.broadcast_to(fit.strength, (bounded.size, k))
    sample[bounded], usable[bounded] = strengths(wins[bounded], losses[bounded], start)
    point = np.concatenate([fit.strength, fit.strength[i] - fit.strength[j]])
    ends = sample_ends(point, np.column_stack([sample, sample[:, i] - sample[:, j]]), tables, usable)
    kept = sample[usable] if ends.kind != "none" else sample[:0]
    rank_low, rank_high = rank_ends(fit.strength, kept, ends.kind, ends.clusters)
    return BradleyTerryIntervals(
        fit=fit,
        low=ends.low[:k],
        high=ends.high[:k],
        difference_low=_square(ends.low[k:], -ends.high[k:], k),
        difference_high=_square(ends.high[k:], -ends.low[k:], k),
        rank_low=rank_low,
        rank_high=rank_high,
        strength_draws=kept,
        interval_kind=ends.kind,
        clusters=ends.clusters,
        draws=ends.draws,
        seed=seed,
    )


def on_elo_scale(strength: FloatArray, *, centre: float = 1500.0) -> FloatArray:
    """Convert natural log-odds to Elo points: 400/ln 10 points per unit, so that Elo's Eq. 3 gives the same chances."""
    return np.asarray(centre + ELO_POINTS * strength, dtype=np.float64)


def strengths(wins: FloatArray, losses: FloatArray, start: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Find maximum-likelihood strengths (b, k) with mean 0, and which converged (b,), from wins and losses (b, pairs)."""
    from scipy.special import expit

    k = start.shape[1]
    design = incidence(k)
    played = wins + losses

    def objective(found: FloatArray, problems: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        ahead = found @ design.T
        chance = expit(ahead)
        n, won = played[problems], wins[problems]
        value = (won * ahead - n * np.logaddexp(0.0, ahead)).sum(axis=1)
        return value, (won - n * chance) @ design, strength_information(n * chance * (1 - chance), k)

    found, reached = maximise(objective, start)
    return found - found.mean(axis=1, keepdims=True), reached


def strength_information(weights: FloatArray, models: int) -> FloatArray:
    """Information (b, k, k) on the strengths where each pair's difference has the information `weights` (b, pairs).

    Only differences are determined; a constant is added that fixes their mean and leaves the rest as it is.
    """
    i, j = pair_indices(models)
    information = np.zeros((len(weights), models, models))
    information[:, i, j] = information[:, j, i] = -weights
    own = -information.sum(axis=2)
    information[:, np.arange(models), np.arange(models)] = own
    information += own.sum(axis=1)[:, None, None] / models**2
    return information


def incidence(models: int) -> FloatArray:
    """Design (pairs, k): 1 for the pair's first model, -1 for its second."""
    i, j = pair_indices(models)
    design = np.zeros((len(i), models))
    design[np.arange(len(i)), i] = 1.0
    design[np.arange(len(i)), j] = -1.0
    return design


def strongly_connected(wins: FloatArray, losses: FloatArray, models: int) -> BoolArray:
    """Whether each of b problems, wins and losses (b, pairs), has a finite maximum: every model beats or ties with
    every other through a chain (Ford 1957)."""
    answer: BoolArray = np.asarray(((wins > 0) & (losses > 0)).all(axis=1), dtype=np.bool_)
    open_cases = np.flatnonzero(~answer)
    answer[open_cases] = chains(wins[open_cases], losses[open_cases], models).all(axis=(1, 2))
    return answer


def chains(wins: FloatArray, losses: FloatArray, models: int) -> BoolArray:
    """Whether a chain of wins leads from each model to each other one, or back to itself: (b, k, k)."""
    i, j = pair_indices(models)
    beat = np.zeros((len(wins), models, models))
    beat[:, i, j] = wins > 0
    beat[:, j, i] = losses > 0
    reach = beat
    length = 1
    while length < models:
        reach = np.minimum(reach + reach @ reach, 1.0)
        length *= 2
    return np.asarray(reach > 0, dtype=np.bool_)


def check_finite(games: Games, wins: FloatArray, losses: FloatArray) -> None:
    """Raise Undefined (DisconnectedComparisons) or UnboundedStrength, naming the models, unless wins (pairs,) suffice."""
    from scipy.sparse.csgraph import connected_components

    k = len(games.models)
    if strongly_connected(wins[None], losses[None], k)[0]:
        return
    i, j = pair_indices(k)
    beat = np.zeros((k, k), dtype=np.int64)
    beat[i, j], beat[j, i] = wins > 0, losses > 0

    def named(members: BoolArray) -> tuple[Hashable, ...]:
        return tuple(games.models[int(place)] for place in np.flatnonzero(members))

    parts, member = connected_components(beat, directed=False)
    if parts > 1:
        shown = " | ".join(", ".join(map(str, named(member == part))) for part in range(parts))
        raise Undefined(
            "DisconnectedComparisons",
            f"No chain of comparisons links these groups of models: {shown}; "
            "compare models across the groups, rank each group alone, or add virtual ties.",
        )
    parts, member = connected_components(beat, directed=True, connection="strong")
    for part in range(parts):
        inside = member == part
        if not beat[np.ix_(~inside, inside)].any():
            raise UnboundedStrength(named(inside))


def _fit(games: Games, total: FloatArray, virtual_ties: float) -> BradleyTerry:
    from scipy.special import expit

    if not 0 <= virtual_ties < np.inf:
        raise ValueError(f"The number of virtual ties must be finite and at least 0, found {virtual_ties:g}.")
    wins, losses = _wins(total, virtual_ties)
    check_finite(games, wins, losses)
    k = len(games.models)
    found, reached = strengths(wins[None], losses[None], np.zeros((1, k)))
    strength = found[0]
    design = incidence(k)
    gradient = (wins - (wins + losses) * expit(design @ strength)) @ design
    violation = float(np.abs(gradient).max() / (wins + losses).sum())
    if not reached[0] or violation > GRADIENT_ALLOWED:
        raise not_converged("The Bradley-Terry fit", violation, GRADIENT_ALLOWED)
    beats = expit(strength[:, None] - strength[None, :])
    return BradleyTerry(games.models, strength, ranks(strength), beats, len(games), virtual_ties)


def _wins(tables: FloatArray, virtual_ties: float) -> tuple[FloatArray, FloatArray]:
    wins, losses = half_tie_wins(tables)
    return wins + virtual_ties / 2, losses + virtual_ties / 2


def _square(upper: FloatArray, lower: FloatArray, models: int) -> FloatArray:
    i, j = pair_indices(models)
    matrix = np.zeros((models, models))
    matrix[i, j], matrix[j, i] = upper, lower
    return matrix

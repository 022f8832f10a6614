"""Davidson's model of paired comparisons with ties: the models' strengths and the raters' tendency to tie. PURE.

With strengths s and tie parameter v, the outcomes "i wins", "tie" and "j wins" have odds exp(s_i) : v exp((s_i + s_j)/2) :
exp(s_j) (Davidson 1970, JASA 65). v = 0 is Bradley-Terry without ties. The computation is our own.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import Undefined, not_converged
from calibration.statistics.ranking.bradley_terry import (
    chains,
    check_finite,
    incidence,
    strength_information,
    strongly_connected,
)
from calibration.statistics.ranking.comparisons import Games, half_tie_wins, pair_tables, sample_ends
from calibration.statistics.ranking.newton import STEP_ALLOWED, maximise
from calibration.statistics.ranking.rank_intervals import ranks
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, IntervalKind

STEPS_OF_FIRST = np.array([0.5, 0.0, -0.5])


@dataclass(frozen=True)
class Davidson:
    """Strengths and tie parameter, intervals over whole clusters as `interval_kind` says.

    `strength` (k,) is in natural log-odds of winning a decided comparison, with mean 0; `rank` (k,) as in BradleyTerry.
    `tie_parameter` v is the odds of a tie against a win of one given side between equal models, which tie with
    probability v/(2 + v), `equal_tie`. `wins` and `ties` (k, k) are the modelled probabilities of row against column
    (a model against itself is a model against an equal one). `loglikelihood` omits the binomial coefficients.
    """

    models: tuple[Hashable, ...]
    strength: FloatArray
    low: FloatArray
    high: FloatArray
    rank: IntArray
    tie_parameter: float
    tie_low: float
    tie_high: float
    equal_tie: float
    wins: FloatArray
    ties: FloatArray
    loglikelihood: float
    games: int
    interval_kind: IntervalKind
    clusters: int
    draws: int
    seed: int


def davidson(games: Games, *, draws: int = 0, seed: int = 0, min_clusters: int = MIN_CLUSTERS) -> Davidson:
    """Estimate strengths and tie parameter. Raises Undefined (NoTieModel, DisconnectedComparisons), UnboundedStrength."""
    tables = pair_tables(games, draws=draws, seed=seed, min_clusters=min_clusters)
    k = len(games.models)
    check_finite(games, *half_tie_wins(tables.total))
    tied = int(tables.total[:, 1].sum())
    if not _determined(tables.total[None], k)[0]:
        # Without ties, or a chain of wins that leads back to its start, larger strengths with more ties may fit ever better.
        raise Undefined(
            "NoTieModel",
            f"{tied} of {len(games)} games were tied and the others do not contradict each other enough to estimate how "
            "readily ties are called; use Bradley-Terry, where a tie is half a win each way.",
        )
    found, reached = _fit(tables.total[None], np.zeros((1, k + 1)))
    if not reached[0]:
        raise not_converged("Davidson's model", float(np.abs(found).max()), STEP_ALLOWED)
    point = found[0]
    usable = _determined(tables.resampled, k)
    bounded = np.flatnonzero(usable)
    sample = np.zeros((len(usable), k + 1))
    start = np.broadcast_to(point, (bounded.size, k + 1))
    sample[bounded], usable[bounded] = _fit(tables.resampled[bounded], start)
    ends = sample_ends(point, sample, tables, usable)
    strength, v = point[:k], float(np.exp(point[k]))
    endings = _chances(strength[:, None] - strength[None, :], point[k])
    i, j = np.triu_indices(k, 1)
    return Davidson(
        models=games.models,
        strength=strength,
        low=ends.low[:k],
        high=ends.high[:k],
        rank=ranks(strength),
        tie_parameter=v,
        tie_low=float(np.exp(ends.low[k])),
        tie_high=float(np.exp(ends.high[k])),
        equal_tie=v / (2 + v),
        wins=endings[..., 0],
        ties=endings[..., 1],
        loglikelihood=float((tables.total * np.log(endings[i, j])).sum()),
        games=len(games),
        interval_kind=ends.kind,
        clusters=ends.clusters,
        draws=ends.draws,
        seed=seed,
    )


def davidson_refits(tables: FloatArray, start: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Strengths and log tie parameter (b, k + 1) of tables (b, pairs, 3) near `start`, and which are determined (b,)."""
    k = len(start) - 1
    usable = _determined(tables, k)
    found = np.zeros((len(tables), k + 1))
    places = np.flatnonzero(usable)
    found[places], usable[places] = _fit(tables[places], np.broadcast_to(start, (places.size, k + 1)))
    return found, usable


def _determined(tables: FloatArray, models: int) -> BoolArray:
    """Whether a finite maximum is sure for tables (b, pairs, 3): connected, a tie, and wins that lead in a circle.

    A direction in which no likelihood falls may not widen a circle of wins, so it cannot raise the tie parameter;
    with a tie it cannot lower it either, and then connection leaves no direction at all.
    """
    circles = chains(tables[..., 0], tables[..., 2], models).diagonal(axis1=1, axis2=2).any(axis=1)
    tied = tables[..., 1].sum(axis=1) > 0
    return np.asarray(strongly_connected(*half_tie_wins(tables), models) & tied & circles, dtype=np.bool_)


def _chances(difference: FloatArray, log_tie: FloatArray | float) -> FloatArray:
    """Chances of i wins, tie, j wins on a new last axis."""
    steps = difference[..., None] * STEPS_OF_FIRST
    steps[..., 1] += log_tie
    steps -= steps.max(axis=-1, keepdims=True)
    odds = np.exp(steps)
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True), dtype=np.float64)


def _fit(tables: FloatArray, start: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Strengths (mean 0) and log tie parameter (b, k + 1) of tables (b, pairs, 3), and whether reached (b,)."""
    k = start.shape[1] - 1
    design = incidence(k)
    played = tables.sum(axis=2)
    margin = (tables[..., 0] - tables[..., 2]) / 2

    def objective(found: FloatArray, problems: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        chance = _chances(found[:, :k] @ design.T, found[:, k, None])
        n, counted = played[problems], tables[problems]
        value = (counted * np.log(np.maximum(chance, 1e-300))).sum(axis=(1, 2))
        win, tie, loss = chance[..., 0], chance[..., 1], chance[..., 2]
        lead = (win - loss) / 2
        gradient = np.column_stack([(margin[problems] - n * lead) @ design, (counted[..., 1] - n * tie).sum(axis=1)])
        information = np.empty((len(found), k + 1, k + 1))
        information[:, :k, :k] = strength_information(n * ((win + loss) / 4 - lead**2), k)
        crossed = (-n * lead * tie) @ design
        information[:, :k, k] = information[:, k, :k] = crossed
        information[:, k, k] = (n * tie * (1 - tie)).sum(axis=1)
        return value, gradient, information

    found, reached = maximise(objective, start)
    found[:, :k] -= found[:, :k].mean(axis=1, keepdims=True)
    return found, reached

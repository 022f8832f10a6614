"""Strengths and points from comparisons, for such raters and for these raters, and bounds for undefeated models. PURE.

A ranking is a function of the counts of outcomes of each pair, so leaving out an instruction, a rater or a cell subtracts
their counts and fits again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import REACH, effective_answers, wilson_ends
from calibration.statistics.crossed import Crossed, WhyNot, crossed_refits
from calibration.statistics.populations import MOST_REPLICATES
from calibration.statistics.ranking.bradley_terry import BradleyTerry, chains, strengths, strongly_connected
from calibration.statistics.ranking.comparisons import Games, cells, half_tie_wins, pair_indices, pair_tables
from calibration.statistics.ranking.davidson import Davidson, davidson_refits
from calibration.statistics.ranking.pairs import outcomes_by_model
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray

NUMBERS_AT_ONCE = 4_000_000
VIRTUAL_TIES = 1.0
ONE_SIDED = 0.05

Refit: TypeAlias = Callable[[FloatArray], tuple[FloatArray, BoolArray]]
"""Tables (b, pairs, 3) -> the statistic (b, q), and where it is defined (b,)."""
Bound: TypeAlias = Literal["", "at_least", "at_most"]


@dataclass(frozen=True)
class StrengthBounds:
    """One-sided 95 % bounds of strengths (k,) in natural log-odds: `kind` says for which models and on which side.

    `units` (k,) is the number of instructions, or of raters if fewer, in which the model's side met the others.
    """

    kind: tuple[Bound, ...]
    bound: FloatArray
    units: IntArray


def crossed_strengths(games: Games, raters: IntArray | None, fit: BradleyTerry) -> Crossed:
    """Bradley-Terry strengths (k,) and the differences of every two models, in the order of pair_indices.

    `raters` (n,) are codes from 0 up, None where the data name none. The instructions are the games' clusters. With virtual
    ties, every refit has as many.
    """
    k = len(games.models)
    i, j = pair_indices(k)

    def refit(tables: FloatArray) -> tuple[FloatArray, BoolArray]:
        wins, losses = (won + fit.virtual_ties / 2 for won in half_tie_wins(tables))
        usable = strongly_connected(wins, losses, k)
        found = np.zeros((len(tables), k))
        places = np.flatnonzero(usable)
        start = np.broadcast_to(fit.strength, (places.size, k))
        found[places], usable[places] = strengths(wins[places], losses[places], start)
        return np.column_stack([found, found[:, i] - found[:, j]]), usable

    value = np.concatenate([fit.strength, fit.strength[i] - fit.strength[j]])
    return _crossed(games, raters, refit, value)


def crossed_points(games: Games, raters: IntArray | None) -> Crossed:
    """Points per comparison of each model (k,)."""
    k = len(games.models)

    def per_game(tables: FloatArray) -> tuple[FloatArray, BoolArray]:
        ended = outcomes_by_model(tables, k)
        played = ended.sum(axis=2)
        return (ended[..., 0] + ended[..., 1] / 2) / np.maximum(played, 1), (played > 0).all(axis=1)

    return _crossed(games, raters, per_game, per_game(pair_tables(games).total[None])[0][0])


@dataclass(frozen=True)
class WinRates:
    """Points per comparison of each model (k,), 0 to 1, with 95 % ends for such raters and for these raters.

    `not_stated` says why there are none for such raters, '' where there are; ends that are not stated are nan.
    """

    value: FloatArray
    such_low: FloatArray
    such_high: FloatArray
    these_low: FloatArray
    these_high: FloatArray
    not_stated: WhyNot


def win_rates(games: Games, raters: IntArray | None) -> WinRates:
    """Win rates, a tie counting half, with Wilson's interval of as many independent answers as are as uncertain.

    Without that, a model that won every comparison would be certain to win all others. `raters` as for crossed_strengths.
    """
    found = crossed_points(games, raters)
    k = len(games.models)
    played = outcomes_by_model(pair_tables(games).total[None], k)[0].sum(axis=1)
    these, such = (
        _share_ends(found, variance, played, of) for variance, of in ((found.these, False), (found.such, True))
    )
    why: WhyNot = found.not_stated[0] or ""
    if raters is None and why != "few_instructions":
        why = "positions"
    if why == "few_instructions":
        these = np.full_like(these, np.nan)
    return WinRates(found.value, such[:, 0], such[:, 1], these[:, 0], these[:, 1], why)


def _share_ends(found: Crossed, variance: FloatArray, played: FloatArray, such: bool) -> FloatArray:
    """Ends (k, 2) of shares over `played` comparisons (k,); nan where there is no variance."""
    reach = found.reach(such=such)
    ends = np.full((len(played), 2), np.nan)
    for place in np.flatnonzero(np.isfinite(variance)).tolist():
        share, units = float(np.clip(found.value[place], 0.0, 1.0)), float(found.n_instructions[place])
        effective = effective_answers(share, float(variance[place]), units, float(played[place]))
        ends[place] = wilson_ends(share, effective * (REACH / float(reach[place])) ** 2)
    return ends


def crossed_davidson(games: Games, raters: IntArray | None, fit: Davidson) -> Crossed:
    """Davidson's strengths (k,)."""
    k = len(games.models)
    start = np.append(fit.strength, np.log(fit.tie_parameter))

    def refit(tables: FloatArray) -> tuple[FloatArray, BoolArray]:
        found, usable = davidson_refits(tables, start)
        return found[:, :k], usable

    return _crossed(games, raters, refit, fit.strength)


def strength_bounds(games: Games, raters: IntArray | None, fit: BradleyTerry) -> StrengthBounds:
    """Bounds of models whose strength has no finite estimate, around their opponents' mean strength in `fit`.

    A group of models that no other ever won against or tied with is at least as strong, and one that never won against or
    tied with another at most, as the chance p of the other outcome allows: (1 - p)^units = .05 (Clopper and Pearson 1934).
    Of a larger group than half of the models nothing is said, because the others are the exception.
    """
    k = len(games.models)
    wins, losses = half_tie_wins(pair_tables(games).total)
    reach = chains(wins[None], losses[None], k)[0]
    kind: list[Bound] = [""] * k
    bound, units = np.zeros(k), np.zeros(k, dtype=np.int64)
    same = (reach & reach.T) | np.eye(k, dtype=np.bool_)
    for model in range(k):
        group = same[model]
        if 2 * group.sum() > k:
            continue
        beaten, beats = reach[np.ix_(~group, group)].any(), reach[np.ix_(group, ~group)].any()
        if beaten == beats:
            continue
        inside = group[games.first] != group[games.second]
        met = len(np.unique(games.cluster[inside]))
        if raters is not None:
            met = min(met, len(np.unique(raters[inside])))
        opponent = np.where(group[games.first[inside]], games.second[inside], games.first[inside])
        middle = float(fit.strength[opponent].mean())
        chance = ONE_SIDED ** (1 / met)
        reached = float(np.log(chance / (1 - chance)))
        kind[model] = "at_least" if beats else "at_most"
        bound[model], units[model] = (middle + reached if beats else middle - reached), met
    return StrengthBounds(tuple(kind), bound, units)


def exact_p(games: Games, raters: IntArray | None, bounds: StrengthBounds) -> dict[int, float | None]:
    """By place in pair_indices, the p of every pair with a model that has only a bound, None where the two never met.

    The sign test of the model that won all: 2 x .5^units, over the instructions on which they met, or the raters if fewer.
    """
    first, second = pair_indices(len(games.models))
    found: dict[int, float | None] = {}
    for place, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        if not (bounds.kind[i] or bounds.kind[j]):
            continue
        met = ((games.first == i) & (games.second == j)) | ((games.first == j) & (games.second == i))
        won = np.where(games.first[met] == i, games.score[met], 1 - games.score[met])
        if not met.any() or np.ptp(won) > 0 or won[0] == 0.5:
            found[place] = None
            continue
        units = len(np.unique(games.cluster[met]))
        if raters is not None:
            units = min(units, len(np.unique(raters[met])))
        found[place] = min(1.0, 2 * 0.5**units)
    return found


def _crossed(games: Games, raters: IntArray | None, refit: Refit, value: FloatArray) -> Crossed:
    where = cells(games)
    k = len(games.models)
    width = 3 * (k * (k - 1) // 2)
    total = np.bincount(where, minlength=width).astype(np.float64)

    def without_each(codes: IntArray, groups: int) -> tuple[FloatArray, BoolArray]:
        counted = np.bincount(codes * width + where, minlength=groups * width).reshape(groups, width)
        return refit((total - counted).reshape(groups, -1, 3))

    most = min(MOST_REPLICATES, max(1, NUMBERS_AT_ONCE // width))
    return crossed_refits(games.cluster, raters, without_each, value, most=most).with_care()

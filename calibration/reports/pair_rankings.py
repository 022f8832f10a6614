"""Rankings from pairs: points, Elo and its instability, Bradley-Terry, Davidson, and what sways the choices."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Literal, TypeVar

import numpy as np

from calibration.data.circumstances import Circumstances
from calibration.data.frames import Bools, Floats, Ints, ScoreFrame
from calibration.data.played_games import PlayedGames, played_games
from calibration.reports.codec import INLINED, Missing, part
from calibration.statistics.crossed import Crossed, WhyNot
from calibration.statistics.errors import Undefined
from calibration.statistics.judges.bias import LENGTH_THRESHOLDS, LengthBias, PositionBias, length_bias, position_bias
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.judges.people_biases import Answers, SwapRates, first_side_wins, longer_preferred
from calibration.statistics.ranking.bradley_terry import (
    ELO_POINTS,
    BradleyTerryIntervals,
    bradley_terry_intervals,
    on_elo_scale,
)
from calibration.statistics.ranking.comparisons import Games, UnboundedStrength
from calibration.statistics.ranking.coverage import instructions_compared, unranked_in
from calibration.statistics.ranking.davidson import davidson
from calibration.statistics.ranking.elo import elo, elo_orders
from calibration.statistics.ranking.paired_effects import PairedEffects, length_contrast, paired_effects
from calibration.statistics.ranking.pairs import Points, points
from calibration.statistics.ranking.populations import (
    Difference,
    ModelDifference,
    differences_shown,
    named_differences,
    ranks_left,
)
from calibration.statistics.ranking.rank_intervals import ranks_among
from calibration.statistics.ranking.strength_populations import (
    VIRTUAL_TIES,
    Bound,
    StrengthBounds,
    crossed_davidson,
    crossed_strengths,
    exact_p,
    strength_bounds,
    win_rates,
)
from calibration.statistics.report_reasons import NoPairs
from calibration.statistics.resampling import FloatArray, IntArray, IntervalKind
from calibration.statistics.ties import descending

T = TypeVar("T")
NotRanked = Literal["", "few", "no_interval"]
ORDERS = 200


@dataclass(frozen=True)
class ModelStrength:
    """A model's Bradley-Terry strength in Elo points with its ends, and the rank with the ends of the true rank.

    `low` and `high` are for exactly these raters, `such_low` and `such_high` for raters like these, None where not stated.
    With a `bound`, no finite strength was estimated: the strength is that with virtual ties, and `bound_at` a one-sided
    95 % bound.

    Ranks are among the models that are ranked; `not_ranked` says why the model is not. `clusters` counts the different
    instructions on which it was compared.
    """

    model: str
    strength: float
    low: float
    high: float
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    clusters: int
    not_ranked: NotRanked
    such_low: float | None
    such_high: float | None
    bound: Bound
    bound_at: float | None


@dataclass(frozen=True)
class Strengths:
    """Bradley-Terry strengths of k models, the strongest first, and after the others those that are not ranked.

    `differences` of ranked models in Elo points begin with that of the first two; ranks hold all at once with 95 %.
    `beats` (k, k) is the probability that the row's model is preferred to the column's in one comparison. `not_stated` says
    why there are no ends for raters like these; `virtual_ties` were added to each pair (0: none).
    """

    models: list[ModelStrength]
    interval_kind: IntervalKind
    clusters: int
    draws: int
    beats: FloatArray
    differences: list[ModelDifference]
    not_stated: WhyNot
    n_raters: int
    virtual_ties: float


@dataclass(frozen=True)
class TieStrengths:
    """Davidson's model: `strength`, `low`, `high` (k,) in Elo points; the rest is that of the statistic.

    The rank of a model that is not ranked is 0.
    """

    models: list[str]
    strength: FloatArray
    low: FloatArray
    high: FloatArray
    rank: IntArray
    tie_parameter: float
    tie_low: float
    tie_high: float
    equal_tie: float
    loglikelihood: float
    games: int
    interval_kind: IntervalKind
    clusters: int
    draws: int
    seed: int


@dataclass(frozen=True)
class ModelElo:
    """A model's Elo rating and rank after all comparisons, over the last of them, and over shuffled orders.

    The ranks of a model that is not ranked are 0.
    """

    model: str
    rating: float
    rank: int
    last_low: float
    last_high: float
    last_rank_low: int
    last_rank_high: int
    mean: float
    deviation: float
    low: float
    high: float
    rank_low: int
    rank_high: int
    not_ranked: NotRanked


@dataclass(frozen=True)
class EloRatings:
    """Elo ratings, the highest first and those that are not ranked last.

    They are over `orders` shuffled orders and the `last_games` last comparisons.
    """

    models: list[ModelElo]
    orders: int
    last_games: int
    start: float
    k: float


@dataclass(frozen=True)
class Effects(PairedEffects):
    """Effects of position and length, from the `n_used` comparisons for which they are known."""

    n_used: int


@dataclass(frozen=True)
class CategoryPoints:
    """The points of models in the `n` comparisons of one category."""

    category: str
    category_pk: int
    n: int
    points: Points | Missing = field(metadata=INLINED)


@dataclass(frozen=True)
class SuchEnds:
    """Ends (k,) for raters like these, in the order of the models of the part they belong to."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class PeopleSways:
    """What sways people, for raters like these and for these raters: wins of the first side, swaps, and at each length."""

    first_wins: PeopleEstimate | Missing
    swap: SwapRates | Missing
    length: list[PeopleEstimate | Missing]


@dataclass(frozen=True)
class PairParts:
    """Every part of a ranking from `n_games` comparisons; `n_left_out` compare no two different models.

    `points_such` and `davidson_such` are ends for raters like these, None where they are not stated; `sways` are people's,
    None where judges alone answered.
    """

    n_games: int
    n_left_out: int
    points: Points | Missing
    strength: Strengths | Missing
    davidson: TieStrengths | Missing
    elo: EloRatings | Missing
    effects: Effects | Missing
    position: PositionBias | Missing
    length: list[LengthBias | Missing] | Missing
    by_category: list[CategoryPoints]
    points_such: SuchEnds | Missing | None = None
    davidson_such: SuchEnds | Missing | None = None
    sways: PeopleSways | None = None


def pair_parts(frame: ScoreFrame, around: Circumstances, draws: int, seed: int) -> PairParts:
    """Compute every part of the report on pairs."""
    try:
        played = played_games(frame, around)
    except NoPairs as error:
        why = Missing.because(error)
        return PairParts(0, len(frame), why, why, why, why, why, why, why, by_category=[])
    return PairParts(
        n_games=len(played.games),
        n_left_out=len(frame) - len(played.games),
        points=part(lambda: _points(played, played.games, draws, seed)),
        strength=part(lambda: _strength(played, draws, seed)),
        davidson=part(lambda: _davidson(played, draws, seed)),
        elo=part(lambda: _elo(played, seed)),
        effects=part(lambda: _effects(played)),
        position=part(lambda: position_part(played, draws, seed)),
        length=length_parts(played, draws, seed),
        by_category=_by_category(played, draws, seed),
        points_such=part(lambda: _points_such(played)),
        davidson_such=part(lambda: _davidson_such(played)),
        sways=None if frame.is_judge.all() else people_sways(played, seed),
    )


def _named(played: PlayedGames, models: Iterable[Hashable]) -> list[str]:
    return [played.names[int(str(pk))] for pk in models]


def _points(played: PlayedGames, games: Games, draws: int, seed: int) -> Points:
    found, ranked = points(games, draws=draws, seed=seed), _ranked(games)
    return replace(
        found,
        models=tuple(_named(played, found.models)),
        rank=ranks_among(found.total, ranked),
        rank_per_game=ranks_among(found.per_game, ranked),
    )


def _ranked(games: Games) -> Bools:
    """Which models (k,) are ranked."""
    return ~np.isin(np.arange(len(games.models)), list(unranked_in(games)))


def _why_not(games: Games) -> list[str]:
    """Why a model is not ranked, by its place; '' where it is."""
    out = unranked_in(games)
    return [str(out.get(place, "")) for place in range(len(games.models))]


def _in_order(value: Floats, ranked: Bools) -> Ints:
    """Places by value, those that are not ranked after the others."""
    order = descending(value)
    return np.concatenate([order[ranked[order]], order[~ranked[order]]])


def _strength(played: PlayedGames, draws: int, seed: int) -> Strengths:
    """Fit Bradley-Terry on the scale of Elo points, the strongest first; with virtual ties if a model has no finite one."""
    games, raters = played.games, played.rater
    bounds: StrengthBounds | None = None
    try:
        found = bradley_terry_intervals(games, draws=draws, seed=seed)
    except UnboundedStrength:
        found = bradley_terry_intervals(games, virtual_ties=VIRTUAL_TIES, draws=draws, seed=seed)
        bounds = strength_bounds(games, raters, found.fit)
    k, ranked = len(games.models), _ranked(games)
    crossed = crossed_strengths(games, raters, found.fit)
    exact = exact_p(games, raters, bounds) if bounds else {}
    rows = differences_shown(crossed.part(slice(k, None)), ranked, positions=raters is None, exact=exact)
    order, names = _in_order(found.fit.strength, ranked), _named(played, games.models)
    why: WhyNot = crossed.not_stated[0] or ""
    return Strengths(
        models=rows_in_order(ModelStrength, order, _columns(played, found, crossed.part(slice(0, k)), rows, bounds)),
        interval_kind=found.interval_kind,
        clusters=found.clusters,
        draws=found.draws,
        beats=found.fit.beats[np.ix_(order, order)],
        differences=named_differences(rows, names, order, scale=ELO_POINTS),
        not_stated="positions" if raters is None and why != "few_instructions" else why,
        n_raters=0 if raters is None else int(crossed.n_raters[0]),
        virtual_ties=found.fit.virtual_ties,
    )


def _columns(
    played: PlayedGames,
    found: BradleyTerryIntervals,
    crossed: Crossed,
    rows: Sequence[Difference],
    bounds: StrengthBounds | None,
) -> Sequence[Sequence[object] | np.ndarray]:
    """The columns (k,) of ModelStrength."""
    games, ranked = played.games, _ranked(played.games)
    k = len(games.models)
    strength, low, high = (on_elo_scale(values) for values in (found.fit.strength, found.low, found.high))
    rank, (rank_low, rank_high) = ranks_among(found.fit.strength, ranked), ranks_left(rows, ranked)
    ends = [on_elo_scale(end) for end in crossed.ends(such=True)]
    kinds = bounds.kind if bounds else ("",) * k
    unknown = np.array([why is not None or bool(kind) for why, kind in zip(crossed.not_stated, kinds, strict=True)])
    at = [None if bounds is None or not kinds[i] else float(on_elo_scale(bounds.bound)[i]) for i in range(k)]
    return (
        *(_named(played, games.models), strength, low, high),
        *(_none_where(~ranked, column) for column in (rank, rank_low, rank_high)),
        *(instructions_compared(games), _why_not(games)),
        *(_none_where(unknown, end) for end in ends),
        np.array(kinds, dtype=object),
        np.array(at, dtype=object),
    )


def _none_where(mask: Bools, values: np.ndarray) -> np.ndarray:
    found = np.full(len(values), None, dtype=object)
    found[~mask] = values[~mask].tolist()
    return found


def _such_ends(crossed: Crossed) -> SuchEnds | None:
    """The ends for raters like these, None where one of them is not stated."""
    if any(crossed.not_stated):
        return None
    return SuchEnds(*crossed.ends(such=True))


def _points_such(played: PlayedGames) -> SuchEnds | None:
    found = win_rates(played.games, played.rater)
    return None if found.not_stated else SuchEnds(found.such_low, found.such_high)


def _davidson_such(played: PlayedGames) -> SuchEnds | None:
    found = _such_ends(crossed_davidson(played.games, played.rater, davidson(played.games)))
    return None if found is None else SuchEnds(on_elo_scale(found.low), on_elo_scale(found.high))


def rows_in_order(row: Callable[..., T], order: Ints, columns: Sequence[Sequence[object] | np.ndarray]) -> list[T]:
    """Build a row for each place in `order` from columns (k,), in the order of the row's fields."""
    return [row(*values) for values in zip(*(np.asarray(column)[order].tolist() for column in columns), strict=True)]


def _davidson(played: PlayedGames, draws: int, seed: int) -> TieStrengths:
    found = davidson(played.games, draws=draws, seed=seed)
    values = {each.name: getattr(found, each.name) for each in fields(TieStrengths)}
    values |= {name: on_elo_scale(values[name]) for name in ("strength", "low", "high")}
    rank = ranks_among(found.strength, _ranked(played.games))
    return TieStrengths(**{**values, "models": _named(played, found.models), "rank": rank})


def _elo(played: PlayedGames, seed: int) -> EloRatings:
    ranked = _ranked(played.games)
    once = elo(played.games, ranked=ranked)
    shuffled = elo_orders(played.games, orders=ORDERS, seed=seed, ranked=ranked)
    columns = (
        *(_named(played, once.models), once.rating, once.rank),
        *(once.last_low, once.last_high, once.last_rank_low, once.last_rank_high),
        *(shuffled.mean, shuffled.deviation, shuffled.low, shuffled.high, shuffled.rank_low, shuffled.rank_high),
        _why_not(played.games),
    )
    rows = rows_in_order(ModelElo, _in_order(once.rating, ranked), columns)
    return EloRatings(rows, shuffled.orders, once.last_games, once.start, once.k)


def _effects(played: PlayedGames) -> Effects:
    """Fit position and length as covariates of Bradley-Terry, as far as they are known."""
    side, length = bool(played.known_side.any()), bool(played.known_length.any())
    if not side and not length:
        raise Undefined("NoPositions", "Neither the side shown first nor the lengths are known.")
    mask = (played.known_side | (not side)) & (played.known_length | (not length))
    games = played.subset(mask)
    covariates: dict[str, Floats] = {}
    if length:
        covariates["length"] = length_contrast(played.first_chars[mask], played.second_chars[mask])
    found = paired_effects(games, covariates, position=side)
    return Effects(**{**vars(found), "models": tuple(_named(played, found.models))}, n_used=len(games))


def position_part(played: PlayedGames, draws: int, seed: int) -> PositionBias:
    """Compute position bias over the games whose sides are known. Raises Undefined, TooFewRatings."""
    mask = played.known_side
    if not mask.any():
        raise Undefined("NoPositions", "It is not recorded which side was shown first.")
    return position_bias(played.games.score[mask], clusters=played.instruction[mask], draws=draws, seed=seed)


def people_sways(played: PlayedGames, seed: int) -> PeopleSways:
    """Compute what sways people for both populations, but for swaps."""
    return PeopleSways(
        first_wins=part(lambda: _first_wins(played, seed)),
        swap=Missing.because(Undefined("NeverSwapped", "No pair was shown to the same rater from both sides.")),
        length=[part(partial(_longer, played, threshold, seed)) for threshold in (1, *LENGTH_THRESHOLDS)],
    )


def _answers(played: PlayedGames, mask: Bools) -> Answers:
    named = played.rater is not None
    rater = played.rater[mask] if played.rater is not None else np.zeros(int(mask.sum()), dtype=np.int64)
    return Answers(rater, played.instruction[mask], positions=not named)


def _first_wins(played: PlayedGames, seed: int) -> PeopleEstimate:
    mask = played.known_side
    if not mask.any():
        raise Undefined("NoPositions", "It is not recorded which side was shown first.")
    return first_side_wins(played.games.score[mask], _answers(played, mask), seed=seed)


def _longer(played: PlayedGames, threshold: int, seed: int) -> PeopleEstimate:
    mask = played.known_length
    if not mask.any():
        raise Undefined("NoLengths", "The texts are not stored.")
    lengths = played.first_chars[mask].astype(np.float64), played.second_chars[mask].astype(np.float64)
    answers = _answers(played, mask)
    return longer_preferred(*lengths, played.games.score[mask], answers, threshold=threshold, seed=seed)


def length_parts(played: PlayedGames, draws: int, seed: int) -> list[LengthBias | Missing]:
    """Compute length bias at every threshold."""
    return [part(partial(_length_at, played, threshold, draws, seed)) for threshold in (1, *LENGTH_THRESHOLDS)]


def _length_at(played: PlayedGames, threshold: int, draws: int, seed: int) -> LengthBias:
    mask = played.known_length
    if not mask.any():
        raise Undefined("NoLengths", "The texts are not stored.")
    return length_bias(
        played.first_chars[mask].astype(np.float64),
        played.second_chars[mask].astype(np.float64),
        played.games.score[mask],
        threshold=threshold,
        clusters=played.instruction[mask],
        draws=draws,
        seed=seed,
    )


def _by_category(played: PlayedGames, draws: int, seed: int) -> list[CategoryPoints]:
    rows = []
    for category in np.unique(played.category).tolist():
        mask = played.category == category
        found = part(partial(_points, played, played.subset(mask), draws, seed))
        rows.append(CategoryPoints(played.category_names.get(category, "all"), category, int(mask.sum()), found))
    return rows if len(rows) > 1 else []

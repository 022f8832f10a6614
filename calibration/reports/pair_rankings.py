"""Rankings from pairs: points, Elo and its instability, Bradley-Terry, Davidson, and what sways the choices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibration.data.circumstances import Circumstances, response_characters
from calibration.data.frames import Bools, Floats, Ints, ScoreFrame
from calibration.reports.codec import plain, plain_part
from calibration.reports.registry import Plain
from calibration.statistics.judges.bias import LENGTH_THRESHOLDS, length_bias, position_bias
from calibration.statistics.ranking.bradley_terry import ELO_POINTS, bradley_terry_intervals, on_elo_scale
from calibration.statistics.ranking.comparisons import Games, as_games
from calibration.statistics.ranking.davidson import davidson
from calibration.statistics.ranking.elo import elo, elo_orders
from calibration.statistics.ranking.paired_effects import length_contrast, paired_effects
from calibration.statistics.ranking.pairs import points
from calibration.statistics.report_reasons import NoLengths, NoPairs, NoPositions
from calibration.statistics.ties import descending

ORDERS = 200


@dataclass(frozen=True)
class PlayedGames:
    """Games in the order played, with what else is known of each; arrays (n,).

    `known_side` where it is recorded which side stood first (elsewhere the task's response A counts as first);
    characters of the first and the second side, 0 with `known_length` false where a text is not stored.
    """

    games: Games
    names: Mapping[int, str]
    known_side: Bools
    first_chars: Ints
    second_chars: Ints
    known_length: Bools
    category: Ints
    category_names: Mapping[int, str]
    instruction: Ints

    def subset(self, mask: Bools) -> Games:
        """The games where `mask` holds, among the models that play in them."""
        pks = np.array([int(str(pk)) for pk in self.games.models], dtype=np.int64)
        return as_games(
            pks[self.games.first[mask]],
            pks[self.games.second[mask]],
            self.games.score[mask],
            clusters=self.instruction[mask],
        )


def played_games(frame: ScoreFrame, around: Circumstances) -> PlayedGames:
    """Games of a frame of preferences. Raises NoPairs where no two models ever met."""
    own = frame.select((frame.model > 0) & (frame.model_b > 0) & (frame.model != frame.model_b))
    if not len(own):
        raise NoPairs("No two models were compared.")
    place = around.rows(own.assignment)
    order = np.argsort(around.played[place], kind="stable")
    side = around.first[place][order]
    swapped = side == 2

    def sides(one: Ints, other: Ints) -> tuple[Ints, Ints]:
        a, b = one[order], other[order]
        return np.where(swapped, b, a), np.where(swapped, a, b)

    first, second = sides(own.model, own.model_b)
    first_response, second_response = sides(own.response, own.response_b)
    points_of_a = (1 + np.sign(own.value[order])) / 2
    chars = response_characters(np.concatenate([own.response, own.response_b]))
    first_chars = np.array([chars.get(pk, -1) for pk in first_response.tolist()], dtype=np.int64)
    second_chars = np.array([chars.get(pk, -1) for pk in second_response.tolist()], dtype=np.int64)
    known = (first_chars >= 0) & (second_chars >= 0)
    return PlayedGames(
        games=as_games(first, second, np.where(swapped, 1 - points_of_a, points_of_a), clusters=own.instruction[order]),
        names=own.model_names,
        known_side=side > 0,
        first_chars=np.maximum(first_chars, 0),
        second_chars=np.maximum(second_chars, 0),
        known_length=known,
        category=np.where(own.parent > 0, own.parent, own.category)[order],
        category_names=own.category_names,
        instruction=own.instruction[order],
    )


def pair_parts(frame: ScoreFrame, around: Circumstances, draws: int, seed: int) -> Plain:
    """Every part of the report on pairs; each says why where it has no answer."""
    try:
        played = played_games(frame, around)
    except NoPairs as error:
        reason = {"why": "NoPairs", "reason": str(error)}
        parts = ("points", "strength", "davidson", "elo", "effects", "position", "length")
        return {"n_games": 0, "n_left_out": len(frame), "by_category": [], **dict.fromkeys(parts, reason)}
    return {
        "n_games": len(played.games),
        "n_left_out": len(frame) - len(played.games),
        "points": plain_part(lambda: _points(played, played.games, draws, seed)),
        "strength": plain_part(lambda: _strength(played, draws, seed)),
        "davidson": plain_part(lambda: _davidson(played, draws, seed)),
        "elo": plain_part(lambda: _elo(played, seed)),
        "effects": plain_part(lambda: _effects(played)),
        "position": plain_part(lambda: position_part(played, draws, seed)),
        "length": length_parts(played, draws, seed),
        "by_category": _by_category(played, draws, seed),
    }


def _named(played: PlayedGames, models: Any) -> list[str]:
    return [played.names[int(str(pk))] for pk in models]


def _points(played: PlayedGames, games: Games, draws: int, seed: int) -> Plain:
    found = points(games, draws=draws, seed=seed)
    return {**plain(found), "models": _named(played, found.models)}


def _strength(played: PlayedGames, draws: int, seed: int) -> Plain:
    """Bradley-Terry on the scale of Elo's points, the strongest first."""
    found = bradley_terry_intervals(played.games, draws=draws, seed=seed)
    order = descending(found.fit.strength)
    names = _named(played, found.fit.models)
    value, low, high = (on_elo_scale(one) for one in (found.fit.strength, found.low, found.high))
    ahead = plain_part(found.ahead)
    return {
        "models": [
            {
                "model": names[place],
                "strength": value[place],
                "low": low[place],
                "high": high[place],
                "rank": found.fit.rank[place],
                "rank_low": found.rank_low[place],
                "rank_high": found.rank_high[place],
            }
            for place in order
        ],
        "interval_kind": found.interval_kind,
        "clusters": found.clusters,
        "draws": found.draws,
        "ahead": [[ahead[int(i)][int(j)] for j in order] for i in order] if isinstance(ahead, list) else ahead,
        "beats": [[found.fit.beats[i, j] for j in order] for i in order],
        "lead": _lead(found, order),
    }


def _lead(found: Any, order: Ints) -> Plain:
    """How far the first is ahead of the second, in Elo's points."""
    one, two = int(order[0]), int(order[1])
    return {
        "value": ELO_POINTS * (found.fit.strength[one] - found.fit.strength[two]),
        "low": ELO_POINTS * found.difference_low[one, two],
        "high": ELO_POINTS * found.difference_high[one, two],
        "interval_kind": found.interval_kind,
    }


def _davidson(played: PlayedGames, draws: int, seed: int) -> Plain:
    found = davidson(played.games, draws=draws, seed=seed)
    kept = {name: value for name, value in plain(found).items() if name not in ("wins", "ties")}
    value, low, high = (on_elo_scale(one) for one in (found.strength, found.low, found.high))
    return {**kept, "models": _named(played, found.models), "strength": value, "low": low, "high": high}


def _elo(played: PlayedGames, seed: int) -> Plain:
    once, shuffled = elo(played.games), elo_orders(played.games, orders=ORDERS, seed=seed)
    names = _named(played, once.models)
    order = descending(once.rating)
    rows = [
        {
            "model": names[place],
            "rating": once.rating[place],
            "rank": once.rank[place],
            "last_low": once.last_low[place],
            "last_high": once.last_high[place],
            "last_rank_low": once.last_rank_low[place],
            "last_rank_high": once.last_rank_high[place],
            "mean": shuffled.mean[place],
            "deviation": shuffled.deviation[place],
            "low": shuffled.low[place],
            "high": shuffled.high[place],
            "rank_low": shuffled.rank_low[place],
            "rank_high": shuffled.rank_high[place],
        }
        for place in order
    ]
    return {"models": rows, "orders": shuffled.orders, "last_games": once.last_games, "start": once.start, "k": once.k}


def _effects(played: PlayedGames) -> Plain:
    """Position and length as covariates of Bradley-Terry, as far as they are known."""
    side, length = bool(played.known_side.any()), bool(played.known_length.any())
    if not side and not length:
        raise NoPositions("Neither the side shown first nor the lengths are known.")
    mask = (played.known_side | (not side)) & (played.known_length | (not length))
    games = played.subset(mask)
    covariates: dict[str, Floats] = {}
    if length:
        covariates["length"] = length_contrast(played.first_chars[mask], played.second_chars[mask])
    found = paired_effects(games, covariates, position=side)
    return {**plain(found), "models": _named(played, found.models), "n_used": len(games)}


def position_part(played: PlayedGames, draws: int, seed: int) -> Any:
    """Position bias over the games whose sides are known. Raises NoPositions, TooFewRatings."""
    mask = played.known_side
    if not mask.any():
        raise NoPositions("It is not recorded which side was shown first.")
    return position_bias(played.games.score[mask], clusters=played.instruction[mask], draws=draws, seed=seed)


def length_parts(played: PlayedGames, draws: int, seed: int) -> list[Any]:
    """Length bias at every threshold, or why there is none."""
    return [plain_part(_length_at(played, threshold, draws, seed)) for threshold in (1, *LENGTH_THRESHOLDS)]


def _length_at(played: PlayedGames, threshold: int, draws: int, seed: int) -> Callable[[], Any]:
    def found() -> Any:
        mask = played.known_length
        if not mask.any():
            raise NoLengths("The texts are not stored.")
        return length_bias(
            played.first_chars[mask].astype(np.float64),
            played.second_chars[mask].astype(np.float64),
            played.games.score[mask],
            threshold=threshold,
            clusters=played.instruction[mask],
            draws=draws,
            seed=seed,
        )

    return found


def _by_category(played: PlayedGames, draws: int, seed: int) -> list[Plain]:
    rows = []
    for category in np.unique(played.category).tolist():
        mask = played.category == category
        own = plain_part(partial(_points, played, played.subset(mask), draws, seed))
        name = played.category_names.get(category, "all")
        rows.append({"category": name, "category_pk": category, "n": int(mask.sum()), **own})
    return rows if len(rows) > 1 else []

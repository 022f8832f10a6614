"""Preferences as games in the order played, with the sides, lengths and categories of each."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibration.data.circumstances import Circumstances, response_characters
from calibration.data.frames import Bools, Ints, ScoreFrame
from calibration.data.scores import named_raters
from calibration.statistics.ranking.comparisons import Games, as_games
from calibration.statistics.report_reasons import NoPairs


@dataclass(frozen=True)
class PlayedGames:
    """Games in the order played, with what else is known of each; arrays (n,).

    `known_side` where it is recorded which side stood first (elsewhere the task's response A counts as first);
    characters of the first and the second side, 0 with `known_length` false where a text is not stored. `rater` are codes
    from 0 up, None where the data number positions, not persons.
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
    rater: Ints | None = None

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
        rater=named_raters(own.rater[order]),
    )

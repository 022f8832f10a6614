"""What sways the preferences of people or of one judge: the side shown first, the length, the order of the sides."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Rater, Study, Task
from calibration.data.circumstances import circumstances
from calibration.data.frames import ROLES, Bools, Floats, Ints, ScoreFrame
from calibration.data.played_games import PlayedGames, played_games
from calibration.data.scores import score_frame
from calibration.reports.codec import Missing, part
from calibration.reports.judge_matches import are_positions
from calibration.reports.pair_rankings import PeopleSways, length_parts, people_sways, position_part
from calibration.statistics.errors import Undefined
from calibration.statistics.judges.bias import LengthBias, PositionBias, SwapAgreement, swap_agreement
from calibration.statistics.judges.people_biases import Answers, SwapRates, swap_rates
from calibration.statistics.report_reasons import NoPairs


@dataclass(frozen=True)
class Sways:
    """What sways the `n` preferences of people or of one judge; `for_both` has people's rates for both populations."""

    n: int
    position: PositionBias | Missing
    swap: SwapAgreement | Missing
    length: list[LengthBias | Missing] | Missing
    for_both: PeopleSways | None


def sways_of(study: Study, judge: Rater | None, draws: int, seed: int) -> Sways:
    """Compute what sways people or one judge on this study's pairs; swapped pairs count in both orders."""
    kinds = [Task.Kind.PAIR]
    frame = score_frame(
        kinds=kinds, study=study, people=judge is None, raters=[judge.pk] if judge else None, judges=judge is not None
    )
    twice = score_frame(kinds=kinds, study=study, raters=[judge.pk], people=False, repeats=True) if judge else frame

    def games(of: ScoreFrame) -> PlayedGames:
        preferred = preferences(of)
        if not len(preferred):
            raise NoPairs("There are no pairs.")
        return played_games(preferred, circumstances(study))

    return Sways(
        n=len(preferences(frame)),
        position=part(lambda: position_part(games(twice), draws, seed)),
        swap=part(lambda: _swaps(study, judge.pk if judge else None, draws, seed)),
        length=part(lambda: length_parts(games(frame), draws, seed)),
        for_both=None if judge else _people_sways(study, frame, games, seed),
    )


def _people_sways(
    study: Study, frame: ScoreFrame, games: Callable[[ScoreFrame], PlayedGames], seed: int
) -> PeopleSways:
    found = part(lambda: people_sways(games(frame), seed))
    if isinstance(found, Missing):
        return PeopleSways(found, found, [found])
    return replace(found, swap=part(lambda: _people_swaps(study, seed)))


def preferences(frame: ScoreFrame) -> ScoreFrame:
    return frame.select((frame.role == ROLES.index("preference")) & frame.applicable)


def _swaps(study: Study, judge: int | None, draws: int, seed: int) -> SwapAgreement:
    """Compute swap agreement of a judge (its rater's pk) or of people, over each (rater, task) seen in both orders."""
    own, once, again = _seen_twice(study, judge)
    return swap_agreement(once, again, clusters=own.instruction, draws=draws, seed=seed)


def _people_swaps(study: Study, seed: int) -> SwapRates:
    own, once, again = _seen_twice(study, None)
    return swap_rates(once, again, Answers(own.rater, own.instruction, are_positions(own)), seed=seed)


def _seen_twice(study: Study, judge: int | None) -> tuple[ScoreFrame, Floats, Floats]:
    """The first answers to each (rater, task) seen in both orders, their points and those of the second order.

    Points are those of the side that was shown first. Of several answers in one order, the first counts. Raises
    Undefined if nobody saw a pair in both orders.
    """
    frame = score_frame(
        kinds=[Task.Kind.PAIR],
        study=study,
        people=judge is None,
        judges=judge is not None,
        raters=None if judge is None else [judge],
        keep_derived=False,
        repeats=True,
    )
    own = preferences(frame)
    around = circumstances(study)
    side = around.first[around.rows(own.assignment)] if len(own) else np.zeros(0, dtype=np.int64)
    points = (1 + np.sign(own.value)) / 2
    first, once = _earliest(own.rater, own.task, own.criterion, own.repeat, side == 1)
    second, again = _earliest(own.rater, own.task, own.criterion, own.repeat, side == 2)
    _, left, right = np.intersect1d(first, second, return_indices=True)
    if not left.size:
        raise Undefined("NeverSwapped", "No pair was shown to the same rater from both sides.")
    return own.select(once[left]), points[once[left]], 1 - points[again[right]]


def _earliest(rater: Ints, task: Ints, criterion: Ints, repeat: Ints, mask: Bools) -> tuple[Ints, Ints]:
    """Return a sorted key for each (rater, task, criterion) in `mask`, and the index of its earliest answer."""
    places = np.flatnonzero(mask)
    if not places.size:
        return np.zeros(0, dtype=np.int64), places
    places = places[np.argsort(repeat[places], kind="stable")]
    width = int(criterion.max()) + 1
    key = (rater[places] * (int(task.max()) + 1) + task[places]) * width + criterion[places]
    keys, at = np.unique(key, return_index=True)
    return keys, places[at]

"""What sways people's preferences, for raters like these and for exactly these raters. PURE.

The same rates as in bias.py, pooled over all raters' answers: a line is one rater's preference for one pair. Points are
those of the side shown first: 1 it is preferred, 0.5 tie (or both bad), 0 the other is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.estimates import PeopleEstimate, pooled_estimates
from calibration.statistics.populations import Scale
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class SwapRates:
    """The shares of pairs with the same verdict in both orders, and with the preference reversed."""

    agreement: PeopleEstimate
    flip_rate: PeopleEstimate


@dataclass(frozen=True)
class Answers:
    """Who answered about what, one line a preference (n,): codes of raters and of instructions.

    `positions`: the raters are positions of a data set and not persons.
    """

    rater: IntArray
    instruction: IntArray
    positions: bool = False


def first_side_wins(points: FloatArray, answers: Answers, *, seed: int = 0) -> PeopleEstimate:
    """The share of the decided preferences (n,) for the side shown first. Raises TooFewRatings if all were tied."""
    decided = np.asarray(points) != 0.5
    if not decided.any():
        raise TooFewRatings(0, 1, "pairs that were not tied")
    (found,) = _pooled([points == 1], decided, answers, ["share"], seed)
    return found


def longer_preferred(
    first_chars: FloatArray,
    second_chars: FloatArray,
    points: FloatArray,
    answers: Answers,
    *,
    threshold: int,
    seed: int = 0,
) -> PeopleEstimate:
    """HREF's length bias rate: preferring the longer minus preferring the shorter (length_bias). Raises TooFewRatings."""
    ahead = np.asarray(first_chars, dtype=np.float64) - np.asarray(second_chars, dtype=np.float64)
    far = np.abs(ahead) >= threshold
    if not far.any():
        raise TooFewRatings(0, 1, "pairs whose lengths differ enough")
    longer = np.where(ahead > 0, points, 1 - np.asarray(points, dtype=np.float64))
    (found,) = _pooled([(longer == 1).astype(np.float64) - (longer == 0)], far, answers, ["plain"], seed)
    return found


def swap_rates(points: FloatArray, swapped_points: FloatArray, answers: Answers, *, seed: int = 0) -> SwapRates:
    """Of pairs that a rater answered from both sides, one line each (see swap_agreement). Raises TooFewRatings."""
    once, again = np.asarray(points, dtype=np.float64), np.asarray(swapped_points, dtype=np.float64)
    if not once.size:
        raise TooFewRatings(0, 1, "pairs answered from both sides")
    flips = ((once == 1) & (again == 1)) | ((once == 0) & (again == 0))
    same, reversed_ = _pooled([once == 1 - again, flips], np.ones(once.size, bool), answers, ["share", "share"], seed)
    return SwapRates(same, reversed_)


def _pooled(
    parts: Sequence[FloatArray | BoolArray], mask: BoolArray, answers: Answers, scales: Sequence[Scale], seed: int
) -> list[PeopleEstimate]:
    ones = np.ones(int(mask.sum()))
    return pooled_estimates(
        [np.asarray(part, dtype=np.float64)[mask] for part in parts],
        [ones] * len(parts),
        answers.rater[mask],
        answers.instruction[mask],
        scales,
        positions=answers.positions,
        seed=seed,
    )

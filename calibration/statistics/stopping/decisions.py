"""When a question about the mean over instructions is answered, looked at after every instruction. PURE.

A question is answered at the first instruction after which the capital that was bet against the contrary exceeds what its
error allows, so that the probability of ever giving a wrong answer is at most `error`, however often one looks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from calibration.statistics.resampling import FloatArray, IntArray
from calibration.statistics.stopping.confidence_sequence import first_above, log_capital

PATHS = 200
MOST_COLUMNS = 20_000
FEWEST_TO_EXPECT = 10
"""Instructions from which on what is still needed is estimated."""


@dataclass(frozen=True)
class Answered:
    """After how many instructions (t) the question is answered, inf where it is not, and how.

    `above`: the mean is above the threshold, or below it. `leading` are the places of the leading models.
    """

    at: float
    above: bool = False
    leading: tuple[int, ...] = ()


@dataclass(frozen=True)
class StillNeeded:
    """How many more instructions until the answer, in continuations that repeat what was seen so far.

    `median` and the ends that hold 80 of 100 continuations; `unanswered` is the share (0..1) in which all instructions of
    the study do not answer it. Those count as the number that are left.
    """

    median: int
    low: int
    high: int
    unanswered: float


def against_threshold(
    lowest: FloatArray, highest: FloatArray, threshold: float, *, size: int, error: float
) -> Answered:
    """Whether the mean of `size` values in 0..1 is above or below a threshold; half of the error for each answer.

    lowest, highest (t,): the values, and where one is missing the worst that it could be for either answer.
    """
    up = first_above(lowest[:, None], np.array([threshold]), size=size, error=error / 2)[0]
    down = first_above(1 - highest[:, None], np.array([1 - threshold]), size=size, error=error / 2)[0]
    return Answered(float(min(up, down)), above=bool(up <= down))


def leaders(points: FloatArray, places: int, *, size: int, error: float) -> Answered:
    """Which `places` models lead: points (t, k) in 0..1 by model, nan in a row that is missing.

    Every leading model has to be ahead of every other one. If the leading set is another one, one of the k - places models
    outside it was wrongly found ahead of one of the `places` inside, and if it ties with another, one tied model was: a
    union of places (k - places) + 1 events, among which the error is divided. With two models this is whether A or B is
    better. There must be more models than places.
    """
    k = points.shape[1]
    if k <= places:
        raise ValueError(f"{places} of {k} models cannot lead.")
    ahead = _ahead(points[:, None, :], size, pair_error(k, places, error))[0]
    return _leading(ahead, places)


def pair_error(models: int, places: int, error: float) -> float:
    """The error that `leaders` allows for each finding that one model is ahead of another."""
    return error / (places * (models - places) + 1)


def _ahead(points: FloatArray, size: int, error: float) -> FloatArray:
    """When (paths, k, k) the row's model is found ahead of the column's; points (t, paths, k), nan where missing."""
    t, paths, k = points.shape
    first, second = np.nonzero(~np.eye(k, dtype=np.bool_))
    apart = (1 + points[:, :, first] - points[:, :, second]) / 2
    values = np.where(np.isnan(apart), 0.0, apart).reshape(t, paths * len(first))
    found = np.full((paths, k, k), np.inf)
    at = first_above(values, np.full(values.shape[1], 0.5), size=size, error=error)
    found[:, first, second] = at.reshape(paths, len(first))
    return found


def _leading(ahead: FloatArray, places: int) -> Answered:
    k = len(ahead)
    best = Answered(np.inf)
    # Only a model that is ahead of all but places - 1 others can lead.
    able = [one for one in range(k) if np.isfinite(ahead[one]).sum() >= k - places]
    for inside in combinations(able, places):
        outside = [one for one in range(k) if one not in inside]
        at = float(ahead[np.ix_(inside, outside)].max())
        if at < best.at:
            best = Answered(at, leading=inside)
    return best


def better_than(gains: FloatArray, bounds: FloatArray, *, error: float) -> float:
    """After how many values the conditional mean of gains (t,) is claimed to be above 0; inf where it is not.

    Each gain lies between -bound and its bound (t,), which is known before the gain is.

    The gains of weights that are fitted anew after each instruction have no fixed mean. What is refuted is that at no
    moment weights fitted so far predict the next instruction better, whatever the order; the whole error is spent on it.
    """
    if not len(gains):
        return float("inf")
    # Drawn from so many that what was drawn leaves no trace in what is left: with replacement.
    endless = 10**9
    scaled = np.divide(gains, bounds, out=np.zeros(len(gains)), where=bounds > 0)
    values = (1 + scaled[:, None]) / 2
    reached = log_capital(values, np.array([0.5]), size=endless, error=error, horizon=HORIZON_OF_GAINS)
    above = reached[:, 0] >= np.log(1 / error)
    return float(above.argmax() + 1) if above.any() else float("inf")


HORIZON_OF_GAINS = 60
"""Instructions for which bets on gains are sized."""


def still_needed(
    seen: int, size: int, answered: Callable[[IntArray], FloatArray], *, columns: int, seed: int = 0
) -> StillNeeded | None:
    """Continue the study many times by Polya's urn, which gives what is left a finite population's posterior.

    Each further instruction repeats one of those seen or continued so far (Lo 1988). answered(index) returns when
    each continuation is answered, for index (size, paths) into the `seen` instructions; `columns` is how many capitals a
    continuation needs. None where too few were seen or too many capitals are needed.
    """
    paths = min(PATHS, MOST_COLUMNS // max(1, columns))
    if seen < FEWEST_TO_EXPECT or paths < PATHS // 4 or seen >= size:
        return None
    rng = np.random.default_rng(seed)
    index = np.empty((size, paths), dtype=np.int64)
    index[:seen] = np.arange(seen)[:, None]
    for place in range(seen, size):
        index[place] = index[rng.integers(place, size=paths), np.arange(paths)]
    at = answered(index)
    more = np.minimum(at, size) - seen
    low, median, high = np.quantile(more, [0.1, 0.5, 0.9])
    return StillNeeded(round(median), int(low), int(np.ceil(high)), float(np.mean(~np.isfinite(at))))


def threshold_needed(
    lowest: FloatArray, highest: FloatArray, threshold: float, *, size: int, error: float, seed: int = 0
) -> StillNeeded | None:
    """What `against_threshold` still needs."""

    def answered(index: IntArray) -> FloatArray:
        level = np.full(index.shape[1], threshold)
        up = first_above(lowest[index], level, size=size, error=error / 2)
        return np.minimum(up, first_above(1 - highest[index], 1 - level, size=size, error=error / 2))

    return still_needed(len(lowest), size, answered, columns=2, seed=seed)


def leaders_needed(points: FloatArray, places: int, *, size: int, error: float, seed: int = 0) -> StillNeeded | None:
    """What `leaders` still needs."""
    k = points.shape[1]

    def answered(index: IntArray) -> FloatArray:
        ahead = _ahead(points[index], size, pair_error(k, places, error))
        return np.array([_leading(one, places).at for one in ahead])

    return still_needed(len(points), size, answered, columns=k * (k - 1), seed=seed)

"""An estimate that people's ratings enter, with its interval for raters like these and for exactly these raters. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.populations import (
    CrossedVariance,
    Scale,
    Statistic,
    TaskSums,
    crossed_variance,
    such_raters,
    these_raters,
)
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, Labels, cluster_codes

Population: TypeAlias = Literal["such", "these"]
PeopleInterval: TypeAlias = Literal["crossed95", "leave_one_out_range", "none"]
WhyNot: TypeAlias = Literal[
    "", "few_instructions", "few_raters", "undefined_without_one", "named_raters", "positions", "extreme"
]

LEAST_RATERS = 3
ROUNDING = 1e-12
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class PeopleEstimate:
    """A value with the ends of its main interval, and `p`, two-sided against 0, which inverts that interval.

    `population` says about whom the interval is: "such" raters (instructions and raters drawn again) or "these" raters
    (instructions drawn again); `why_not` says why it is not about such raters. these_low and these_high are the ends for
    these raters, None where no 95 % is stated. interval_kind "crossed95" is a 95 % interval with Student's t; under 20
    instructions "leave_one_out_range", the range over leaving one of them out; "none" where nothing is stated and the
    ends repeat the value. `p` is None without a 95 % interval.
    """

    value: float
    low: float
    high: float
    interval_kind: PeopleInterval
    population: Population
    these_low: float | None
    these_high: float | None
    p: float | None
    why_not: WhyNot
    clusters: int
    raters: int

    @property
    def excludes_zero(self) -> bool:
        """Whether a 95 % interval is stated and lies on one side of 0."""
        return self.interval_kind == "crossed95" and (self.low > 0 or self.high < 0)


def estimates_of(
    sums: TaskSums,
    statistic: Statistic,
    scales: Sequence[Scale],
    *,
    positions: bool = False,
    least_raters: int = LEAST_RATERS,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[PeopleEstimate]:
    """The quantities of a statistic of sums over tasks, each on its own scale, with intervals of this confidence.

    Raises NoStatistic as crossed_variance.
    """
    variance = crossed_variance(sums, statistic, least_raters=least_raters, seed=seed)
    left_out = np.full((0, len(scales)), np.nan)
    if variance.n_instructions < MIN_CLUSTERS:
        added = sum_by(sums.instruction, variance.n_instructions, sums.whole(0, len(sums.instruction)))
        values, defined = statistic(added.sum(axis=0) - added)
        left_out = values[defined]
    return [
        people_estimate(
            _at(variance, place), scale, left_out=left_out[:, place], positions=positions, confidence=confidence
        )
        for place, scale in enumerate(scales)
    ]


def pooled_estimates(
    tops: Sequence[FloatArray],
    bottoms: Sequence[FloatArray],
    raters: Labels,
    instructions: Labels,
    scales: Sequence[Scale],
    *,
    positions: bool = False,
    seed: int = 0,
) -> list[PeopleEstimate]:
    """Ratios of sums over all raters' answers, each from arrays (n,) of one entry an answer, such as shares.

    Raises NoStatistic where a denominator is 0.
    """
    width = len(tops)
    parts = np.column_stack([*tops, *bottoms]).astype(np.float64)
    rater, _ = cluster_codes(raters)
    instruction, _ = cluster_codes(instructions)

    def whole(start: int, end: int) -> FloatArray:
        return parts[start:end]

    def without(start: int, end: int) -> FloatArray:
        return np.zeros((end - start, 2 * width))

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        below = sums[:, width:]
        known = below > 1e-9
        return sums[:, :width] / np.where(known, below, 1.0), np.asarray(known.all(axis=1), dtype=np.bool_)

    sums = TaskSums(instruction, rater, np.arange(len(parts) + 1), 2 * width, whole, without)
    return estimates_of(sums, statistic, scales, positions=positions, seed=seed)


def _at(variance: CrossedVariance, place: int) -> CrossedVariance:
    one = slice(place, place + 1)
    return replace(
        variance,
        value=variance.value[one],
        these=variance.these[one],
        raters=variance.raters[one],
        such=variance.such[one],
        freedom=variance.freedom[one],
    )


def people_estimate(
    variance: CrossedVariance, scale: Scale, *, left_out: FloatArray, positions: bool = False, confidence: float = 0.95
) -> PeopleEstimate:
    """The estimate of a variance's one quantity; left_out (g,) are its values without each instruction.

    `positions`: the raters are positions in a data set rather than persons, so that nothing is said of such raters. A
    stated interval has this `confidence`, whatever the name of its kind.
    """
    value = float(variance.value[0])
    over = {"clusters": variance.n_instructions, "raters": variance.n_raters}
    if scale == "correlation" and abs(value) >= 1 - ROUNDING:
        # Fisher's scale ends here: an interval from 1 to 1 would claim what these responses cannot show.
        return PeopleEstimate(value, value, value, "none", "these", None, None, None, "extreme", **over)
    if variance.n_instructions < MIN_CLUSTERS:
        known = left_out[np.isfinite(left_out)]
        few: WhyNot = "few_instructions"
        if known.size < 2:
            return PeopleEstimate(value, value, value, "none", "these", None, None, None, few, **over)
        ends = float(known.min()), float(known.max())
        return PeopleEstimate(value, *ends, "leave_one_out_range", "these", None, None, None, few, **over)
    these = these_raters(variance, scale, confidence=confidence)
    if these.not_stated is not None:
        return PeopleEstimate(value, value, value, "none", "these", None, None, None, these.not_stated, **over)
    ends = float(these.low[0]), float(these.high[0])
    such = such_raters(variance, scale, confidence=confidence)
    if positions or such.not_stated is not None:
        why: WhyNot = "positions" if positions else such.not_stated or ""
        p = _p(value, float(variance.these[0]), variance.n_instructions - 1.0, scale)
        return PeopleEstimate(value, *ends, "crossed95", "these", *ends, p, why, **over)
    p = _p(value, float(variance.such[0]), float(variance.freedom[0]), scale)
    main = float(such.low[0]), float(such.high[0])
    return PeopleEstimate(value, *main, "crossed95", "such", *ends, p, "", **over)


def _p(value: float, variance: float, freedom: float, scale: Scale) -> float | None:
    """Two-sided p against 0 by Student's t, on the scale of the interval; a share is compared with no value."""
    from scipy.special import stdtr

    if scale == "share":
        return None
    if variance <= 0:
        return 1.0 if value == 0 else None
    distance = abs(float(np.arctanh(value)) * (1 - value**2)) if scale == "correlation" else abs(value)
    return float(2 * stdtr(freedom, -distance / variance**0.5))


def opposite_sides(estimates: Sequence[PeopleEstimate | None]) -> bool:
    """Whether two of the estimates have 95 % intervals on different sides of 0."""
    signs = {np.sign(one.value) for one in estimates if one is not None and one.excludes_zero}
    return len(signs) > 1


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Holm's (1979) step-down p values; where one is missing it counts as 1 and stays missing."""
    values = np.array([1.0 if one is None else one for one in p])
    order = np.argsort(values, kind="stable")
    steps = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    corrected = np.empty(len(values))
    corrected[order] = steps
    return [None if one is None else float(found) for one, found in zip(p, corrected, strict=True)]


class Compared(Protocol):
    """Two places compared: the estimate of the first minus the second, and its corrected p."""

    @property
    def one(self) -> int: ...
    @property
    def other(self) -> int: ...
    @property
    def difference(self) -> PeopleEstimate: ...
    @property
    def p(self) -> float | None: ...


def best_of_pairs(pairs: Sequence[Compared], places: int) -> int | None:
    """The place that is ahead of every other with a corrected p under .05; None where none is."""
    wins = dict.fromkeys(range(places), 0)
    for pair in pairs:
        if pair.p is not None and pair.p < SIGNIFICANT:
            wins[pair.one if pair.difference.value > 0 else pair.other] += 1
    return next((place for place, won in wins.items() if won == places - 1), None)

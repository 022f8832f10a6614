"""Intervals of a statistic of people: for these raters, and for raters like them."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

from calibration.reports.codec import Missing
from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import CrossedVariance, Scale, such_raters, these_raters

JACKKNIFE = "jackknife95"
"""The kind of a 95 % interval from leaving out clusters one by one."""


@dataclass(frozen=True)
class Interval:
    """The ends of an interval, None where `kind` is "none", and the number of clusters that it leaves out or resamples."""

    low: float | None
    high: float | None
    kind: str
    clusters: int


@dataclass(frozen=True)
class SuchRaters:
    """The ends of a 95 % interval for raters like these: instructions and raters are both taken as drawn.

    `raters_share` is the part of the variance (0 to 1) that the raters add, None too where nothing varies. `not_stated` says
    why these are None: one of populations.NotStated, or "positions" where the data identify positions, not persons; it is
    empty otherwise.
    """

    low: float | None
    high: float | None
    raters_share: float | None
    n_instructions: int
    n_raters: int
    not_stated: str


@dataclass(frozen=True)
class EstimateForBoth:
    """A statistic of people with its interval for these raters and that for such raters."""

    value: float
    these: Interval
    such: SuchRaters


def such_of(variance: CrossedVariance, scale: Scale, *, slots: bool, place: int = 0) -> SuchRaters:
    """The interval of the value at `place`; with `slots`, raters are positions in a data set."""
    over = (variance.n_instructions, variance.n_raters)
    ends = such_raters(variance, scale)
    if slots or ends.not_stated is not None:
        return SuchRaters(None, None, None, *over, "positions" if slots else str(ends.not_stated))
    whole = float(variance.such[place])
    share = float(variance.raters[place]) / whole if whole > 0 else None
    return SuchRaters(float(ends.low[place]), float(ends.high[place]), share, *over, "")


def these_of(variance: CrossedVariance, scale: Scale, *, place: int = 0) -> Interval:
    """The interval for these raters of the value at `place`, of kind "none" where it is not stated."""
    ends = these_raters(variance, scale)
    if ends.not_stated is not None:
        return Interval(None, None, "none", variance.n_instructions)
    return Interval(float(ends.low[place]), float(ends.high[place]), JACKKNIFE, variance.n_instructions)


def estimate_of(variance: CrossedVariance, scale: Scale, *, slots: bool, place: int = 0) -> EstimateForBoth:
    """The value at `place` with both of its intervals."""
    return EstimateForBoth(
        float(variance.value[place]),
        these_of(variance, scale, place=place),
        such_of(variance, scale, slots=slots, place=place),
    )


def stated(compute: Callable[[], EstimateForBoth]) -> EstimateForBoth | Missing:
    """The estimate from `compute`, or why there is none."""
    try:
        return compute()
    except NoStatistic as error:
        return Missing.because(error)


def or_none(value: float) -> float | None:
    """The value, or None for a nan, which a report does not store."""
    return value if isfinite(value) else None

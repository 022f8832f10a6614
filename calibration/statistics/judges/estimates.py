"""An estimate that people's ratings enter, with its interval for raters like these and for exactly these raters. PURE."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.crossed import FEW_TO_TELL, combine
from calibration.statistics.populations import (
    CrossedVariance,
    Scale,
    Statistic,
    TaskSums,
    crossed_variance,
    left_out_groups,
    such_raters,
    these_raters,
)
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, Labels, cluster_codes

Population: TypeAlias = Literal["such", "these"]
PeopleInterval: TypeAlias = Literal["crossed95", "leave_one_out_range", "none"]
WhyNot: TypeAlias = Literal[
    "",
    "few_instructions",
    "single_in_category",
    "few_raters",
    "undefined_without_one",
    "named_raters",
    "positions",
    "counted_together",
    "no_spread",
    "extreme",
]
"""Why an interval is not about such raters; "single_in_category": people scored one instruction of some category, which
shows no spread; "counted_together": who gave which answer is not known; "no_spread": all scores are alike."""

LEAST_RATERS = 3
LEAST_RATERS_OF_MEANS = 2
MOST_REPLICATES = 400
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


def following_skew(found: PeopleEstimate, variance: CrossedVariance, third: float) -> PeopleEstimate:
    """The estimate, on the plain scale, with the upper end farther out where draws of it are skewed upwards.

    That end lies t standard errors away as they are at the end itself: they grow with the value by half the skewness, as
    those of a count or of a variance do, here to twice their size at most. `third` is the third central moment of draws of
    the value over instructions; raters are taken to add none. Where the end lies beyond 0, p is that of an end at 0.
    """
    square = float(variance.these[0])
    if found.these_low is None or found.these_high is None or square <= 0 or third <= 0:
        return found
    value, freedom = found.value, variance.n_instructions - 1.0
    high = these_high = value + _stretched(found.these_high - value, square, third)
    if found.population == "such":
        square, freedom = float(variance.such[0]), float(variance.freedom[0])
        high = max(these_high, value + _stretched(found.high - value, square, third))
    p = found.p
    if value < 0:
        p = _p(value, (square**0.5 - value * third / (2 * square**1.5)) ** 2, freedom, "plain")
    return replace(found, high=high, these_high=these_high, p=p)


def _stretched(half: float, square: float, third: float) -> float:
    """The distance of an end that was `half` away, with the standard error at the end; `square` is the variance."""
    growth, t = third / (2 * square**1.5), half / square**0.5
    return float(half / max(0.5, 1 - growth * t))


@dataclass(frozen=True)
class SingleAnswers:
    """People's single answers behind the scores of n responses, one line an answer (lines,), top/under in points.

    A response's score is the mean of its tops over the mean of its unders, and it needs at least one answer; `place` is its
    place, 0 to n - 1. judge_top and judge_under (n,) are the judge's score of each response, `column` (n,) the category from
    0 up, over whose means the mean is taken. `positions`: the raters are positions of a data set.
    """

    place: IntArray
    rater: Labels
    top: FloatArray
    under: FloatArray
    judge_top: FloatArray
    judge_under: FloatArray
    column: IntArray
    positions: bool = False


@dataclass(frozen=True)
class RatersVariance:
    """The jackknife's variances of a mean over raters, and over cells (one rater's answers to one instruction), nan where
    `why_not` says why there are none."""

    by_raters: float
    by_cells: float
    raters: int
    why_not: WhyNot


def raters_variance(
    signed: Sequence[tuple[SingleAnswers | None, Labels, float]], power: float, *, seed: int = 0
) -> RatersVariance:
    """What raters add to a mean of people's scores less power x the judge's, or to a difference of two such means.

    For each mean its answers, the instructions (n,) of its responses, and its sign. A response that loses all of its answers
    is left out with the judge's score of it; the power stays as it is. Above 400 raters or cells, 200 random groups of them
    are left out.
    """
    known = [(answers, labels, sign) for answers, labels, sign in signed if answers is not None]
    if len(known) < len(signed):
        return RatersVariance(np.nan, np.nan, 0, "counted_together")
    whole = [label_list(labels) for _, labels, _ in known]
    instruction, _ = cluster_codes([label for labels in whole for label in labels])
    rater, raters = cluster_codes([label for answers, _, _ in known for label in label_list(answers.rater)])
    if any(answers.positions for answers, _, _ in known):
        return RatersVariance(np.nan, np.nan, raters, "positions")
    if raters < LEAST_RATERS_OF_MEANS:
        return RatersVariance(np.nan, np.nan, raters, "few_raters")
    starts = np.cumsum([0, *map(len, whole)])
    at = np.concatenate([start + answers.place for start, (answers, _, _) in zip(starts, known, strict=False)])
    _, by_raters, by_cells = left_out_groups(instruction[at], rater, most=MOST_REPLICATES, seed=seed)
    cuts = np.cumsum([len(answers.place) for answers, _, _ in known])[:-1]
    found = []
    for codes in (by_raters, by_cells):
        groups = int(codes.max()) + 1
        values, defined = np.zeros(groups), np.ones(groups, dtype=np.bool_)
        for (answers, _, sign), own in zip(known, np.split(codes, cuts), strict=True):
            mean, there = _without_each(answers, power, own.astype(np.int64), groups)
            values += sign * mean
            defined &= there
        if not defined.all():
            return RatersVariance(np.nan, np.nan, raters, "undefined_without_one")
        found.append(float((groups - 1) / groups * ((values - values.mean()) ** 2).sum()))
    return RatersVariance(found[0], found[1], raters, "")


def _without_each(answers: SingleAnswers, power: float, codes: IntArray, groups: int) -> tuple[FloatArray, BoolArray]:
    """The mean without each group (groups,) of answers, and where it is defined."""
    n, columns = len(answers.column), int(answers.column.max()) + 1
    given = np.bincount(answers.place, minlength=n)
    tops, unders = (np.bincount(answers.place, weights=one, minlength=n) for one in (answers.top, answers.under))
    keys, line = np.unique(codes * n + answers.place, return_inverse=True)
    line = line.reshape(-1)
    at, place = keys // n, keys % n
    left = given[place] - np.bincount(line)
    kept = left > 0
    cell = at * columns + answers.column[place]

    def without(whole: FloatArray, taken: FloatArray) -> FloatArray:
        total = np.bincount(answers.column, weights=whole, minlength=columns)
        return np.asarray(total - sum_by(cell, groups * columns, taken).reshape(groups, columns), dtype=np.float64)

    parts = []
    for total, own in ((tops, answers.top), (unders, answers.under)):
        mean = total / np.maximum(given, 1)
        rest = np.where(kept, (total[place] - np.bincount(line, weights=own)) / np.maximum(left, 1), 0.0)
        parts.append(without(mean, mean[place] - rest))
    parts += [without(one, np.where(kept, 0.0, one[place])) for one in (answers.judge_top, answers.judge_under)]
    top, under, judge_top, judge_under = parts
    there = (under > ROUNDING) & (judge_under > ROUNDING)
    means = top / np.where(there, under, 1.0) - power * judge_top / np.where(there, judge_under, 1.0)
    return np.asarray(means.mean(axis=1)), np.asarray(there.all(axis=1), dtype=np.bool_)


def such_variance(these: float, freedom: float, raters: RatersVariance) -> tuple[float, float]:
    """The variance for such raters, V_I + V_R - V_C with `these` = V_I, and its degrees of freedom.

    Not below V_I or V_R; Satterthwaite's degrees of freedom, raters - 1 with two or three of them.
    """
    such, _, found = combine(
        np.array([these]),
        np.array([raters.by_raters]),
        np.array([raters.by_cells]),
        np.array([freedom + 1]),
        np.array([raters.raters]),
    )
    few = raters.raters <= FEW_TO_TELL
    return float(such[0]), float(raters.raters - 1) if few else float(found[0])


def label_list(labels: Labels) -> list[Hashable]:
    """The labels as a list."""
    return list(labels.tolist() if isinstance(labels, np.ndarray) else labels)


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

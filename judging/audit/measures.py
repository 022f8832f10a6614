"""A judge measured against people on the same tasks: agreement beside its human ceiling, and biases beyond people's. PURE.

Every statistic is a function of sums over tasks, so that instructions, raters, and cells of both can be left out
(calibration/statistics/populations.py).

Biases are measured at equal quality as people see it. With q the quality of a response, v its people's mean and j the
judge's value, an honest judge on a scale of its own has j = a + b q + noise. The people's covariance between raters
estimates Q = var(q) without their noise. A judge that adds s for each unit of x (a length, a family, a moment) has
cov(j, x) = b cov(v, x) + s var(x) and cov(j, v) = b Q + s cov(v, x), free of attenuation; so
s = (Q cov(j, x) - cov(j, v) cov(v, x)) / (Q var(x) - cov(v, x)^2), the slope on x at equal quality, which is 0 for an honest
judge. Without a second person on every task Q is not known, and b is taken as 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibration.statistics.agreement.leave_one_out import left_out_modes
from calibration.statistics.agreement.rating_tables import count_table, sum_by
from calibration.statistics.errors import NoStatistic, TooFewRatings
from calibration.statistics.populations import (
    CrossedVariance,
    Scale,
    Statistic,
    TaskSums,
    crossed_variance,
    such_raters,
    these_raters,
)
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray
from judging.audit.ratings import Ratings
from judging.audit.report import AuditEstimate, Ends

LEAST_RATERS = 3
NOTHING = 1e-12
COLLINEAR = 1e-3
"""The share of x that quality must leave unexplained, so that both can be told apart."""


@dataclass(frozen=True)
class Lines:
    """People's answers to the tasks used, in the order of tasks; as TaskSums, with `judge` (tasks,)."""

    instruction: IntArray
    rater: IntArray
    first: IntArray
    value: FloatArray
    judge: FloatArray
    tasks: IntArray

    @property
    def counts(self) -> IntArray:
        return np.diff(self.first)

    @property
    def task(self) -> IntArray:
        return np.repeat(np.arange(len(self.counts)), self.counts)


def common_lines(ratings: Ratings, judge: FloatArray, least: int, *, centred: bool) -> Lines:
    """The tasks that the judge and at least `least` people answered; `centred`: less the mean of each criterion.

    Raises TooFewRatings where there is none.
    """
    given = (
        np.bincount(ratings.task, minlength=len(judge)) if len(ratings.task) else np.zeros(len(judge), dtype=np.int64)
    )
    used = (given >= least) & np.isfinite(judge)
    if not used.any():
        raise TooFewRatings(0, 1, "tasks with answers of people and judge")
    kept = used[ratings.task]
    value, judged = ratings.value[kept], judge[used]
    if centred:
        value = value - _means(ratings.criterion[ratings.task[kept]], value)
        judged = judged - _means(ratings.criterion[used], judged)
    first = np.concatenate([[0], np.cumsum(given[used])]).astype(np.int64)
    return Lines(
        _numbered(ratings.instruction[used]), _numbered(ratings.rater[kept]), first, value, judged, np.flatnonzero(used)
    )


def share_agreement(lines: Lines) -> CrossedVariance:
    """People's leave-one-out agreement, the judge's (see leave_one_out.py), and the judge's minus people's. NoStatistic."""
    levels, code = np.unique(np.concatenate([lines.value, lines.judge]), return_inverse=True)
    labels, judged = code[: len(lines.value)], code[len(lines.value) :]
    task, table = lines.task, _wide_table(lines, labels, len(levels))

    def adds(counts: IntArray, verdicts: IntArray) -> FloatArray:
        matches, shares = left_out_modes(counts)
        return np.column_stack([np.ones(len(counts)), matches, shares[np.arange(len(counts)), verdicts]])

    def whole(start: int, end: int) -> FloatArray:
        return adds(table[start:end], judged[start:end])

    def without(start: int, end: int) -> FloatArray:
        left = table[task[start:end]]
        left[np.arange(end - start), labels[start:end]] -= 1
        found, enough = np.zeros((end - start, 3)), left.sum(axis=1) >= 2
        if enough.any():
            found[enough] = adds(left[enough], judged[task[start:end]][enough])
        return found

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        n = np.rint(sums[:, :1])
        shares = sums[:, 1:] / np.maximum(n, 1.0)
        return np.column_stack([shares, shares[:, 1] - shares[:, 0]]), n[:, 0] > 0

    return _crossed(lines, 3, whole, without, statistic)


def correlation_agreement(lines: Lines) -> CrossedVariance:
    """Pearson's correlation of a person, and of the judge, with the mean of the people but one; and the difference.

    Each task has the weight 1, whatever its number of people. Raises NoStatistic.
    """
    totals, squares = _totals(lines)

    def adds(m: FloatArray, s: FloatArray, q: FloatArray, j: FloatArray) -> FloatArray:
        others = ((m - 2) * s**2 + q) / (m - 1) ** 2
        parts = [np.ones_like(m), s / m, q / m, others / m, (s**2 - q) / (m - 1) / m, j, j**2, j * s / m]
        return np.column_stack(parts)

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        n = np.maximum(sums[:, :1], NOTHING)
        mean, own, others, both, j, jj, jv = (sums[:, 1:] / n).T
        spread, spread_own, spread_judge = others - mean**2, own - mean**2, jj - j**2
        usable = (sums[:, 0] > 0.5) & (np.minimum(np.minimum(spread, spread_own), spread_judge) > NOTHING)
        safe = np.where(usable, spread, 1.0)
        people = (both - mean**2) / np.sqrt(safe * np.where(usable, spread_own, 1.0))
        judged = (jv - j * mean) / np.sqrt(safe * np.where(usable, spread_judge, 1.0))
        return np.column_stack([people, judged, judged - people]), usable

    whole, without = _moments(lines, totals, squares, adds, 8, 2)
    return _crossed(lines, 8, whole, without, statistic)


def interval_alpha(lines: Lines) -> CrossedVariance:
    """Krippendorff's alpha in the interval metric, which needs only sums and squares, however many values occur.

    As krippendorff_alpha: 1 - observed/expected disagreement over the tasks with two people or more. Raises NoStatistic.
    """
    totals, squares = _totals(lines)

    def adds(m: FloatArray, s: FloatArray, q: FloatArray, _judge: FloatArray) -> FloatArray:
        return np.column_stack([m, s, q, 2 * (m * q - s**2) / (m - 1)])

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        n, s, q, within = sums.T
        apart = 2 * (n * q - s**2)
        usable = (n > 1.5) & (apart > NOTHING * np.maximum(n * q, NOTHING))
        observed = within / np.maximum(n, 1.0)
        expected = apart / np.maximum(n * (n - 1), 1.0)
        return (1 - observed / np.where(usable, expected, 1.0))[:, None], usable

    whole, without = _moments(lines, totals, squares, adds, 4, 2)
    return _crossed(lines, 4, whole, without, statistic)


def slope_beyond_people(lines: Lines, x: FloatArray) -> CrossedVariance:
    """The judge's slope on x (tasks,) at equal quality, see above. Raises NoStatistic."""

    def value(m: _Moments) -> tuple[FloatArray, BoolArray]:
        if m.quality is None or m.judge_people is None:
            usable = m.spread_x > NOTHING
            return (m.judge_x - m.people_x) / np.where(usable, m.spread_x, 1.0), usable
        left = m.spread_x * m.quality - m.people_x**2
        usable = left > COLLINEAR * m.spread_x * m.quality
        slope = (m.judge_x * m.quality - m.judge_people * m.people_x) / np.where(usable, left, 1.0)
        return slope, usable & (m.spread_x > NOTHING)

    found = _bias(lines, x - x.mean(), value)
    # People use the scale more or less widely, so that squares of their mean slope exceed the slopes' product by 1/raters.
    return found if found.rater_bias is None else replace(found, value=found.value - found.rater_bias)


def shift_from_people(lines: Lines, centre: float | None) -> CrossedVariance:
    """The judge's mean minus people's; of points, how far it is from `centre` beyond b times the people's distance."""

    def value(m: _Moments) -> tuple[FloatArray, BoolArray]:
        if centre is None:
            return m.judge - m.people, np.ones(len(m.judge), dtype=np.bool_)
        return (m.judge - centre) - m.scale * (m.people - centre), np.ones(len(m.judge), dtype=np.bool_)

    return _bias(lines, np.zeros(len(lines.judge)), value, scaled=centre is not None)


@dataclass(frozen=True)
class _Moments:
    """Means and covariances (n,) of each line of sums; `scale` is b, 1 where one person at most rates a task.

    `quality` is Q, and `judge_people` the covariance of judge and people, None without a second person on every task.
    """

    judge: FloatArray
    people: FloatArray
    judge_x: FloatArray
    people_x: FloatArray
    spread_x: FloatArray
    scale: FloatArray
    quality: FloatArray | None
    judge_people: FloatArray | None


def _bias(
    lines: Lines, x: FloatArray, value: Callable[[_Moments], tuple[FloatArray, BoolArray]], *, scaled: bool = True
) -> CrossedVariance:
    totals, squares = _totals(lines)
    pairs = scaled and int(lines.counts.min()) >= 2
    least = 2 if pairs else 1

    def adds(m: FloatArray, s: FloatArray, q: FloatArray, j: FloatArray, at: FloatArray) -> FloatArray:
        v = s / m
        product = (s**2 - q) / (m * np.maximum(m - 1, 1.0))
        return np.column_stack([np.ones_like(m), at, at**2, j, j * at, v, v * at, j * v, product])

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        n = np.maximum(sums[:, :1], NOTHING)
        at, at2, j, jx, v, vx, jv, product = (sums[:, 1:] / n).T
        usable = sums[:, 0] > 0.5
        scale, quality, both = np.ones(len(sums)), None, None
        if pairs:
            quality, both = product - v**2, jv - j * v
            usable &= quality > NOTHING
            scale = both / np.where(quality > NOTHING, quality, 1.0)
        found, defined = value(_Moments(j, v, jx - j * at, vx - v * at, at2 - at**2, scale, quality, both))
        return found[:, None], usable & defined

    whole, without = _moments(lines, totals, squares, adds, 9, least, x)
    return _crossed(lines, 9, whole, without, statistic)


def _moments(
    lines: Lines,
    totals: FloatArray,
    squares: FloatArray,
    adds: Callable[..., FloatArray],
    width: int,
    least: int,
    *by_task: FloatArray,
) -> tuple[Callable[[int, int], FloatArray], Callable[[int, int], FloatArray]]:
    """`whole` and `without` of TaskSums for sums made of the number, sum and sum of squares of a task's values."""
    counts, task, columns = lines.counts.astype(np.float64), lines.task, (lines.judge, *by_task)

    def whole(start: int, end: int) -> FloatArray:
        part = slice(start, end)
        return adds(counts[part], totals[part], squares[part], *(column[part] for column in columns))

    def without(start: int, end: int) -> FloatArray:
        own, value = task[start:end], lines.value[start:end]
        found, enough = np.zeros((end - start, width)), counts[own] - 1 >= least
        if enough.any():
            at, left = own[enough], value[enough]
            found[enough] = adds(
                counts[at] - 1, totals[at] - left, squares[at] - left**2, *(column[at] for column in columns)
            )
        return found

    return whole, without


def estimate(found: CrossedVariance, place: int, scale: Scale) -> AuditEstimate:
    """One of the quantities with both intervals."""
    part = slice(place, place + 1)
    alone = replace(
        found,
        value=found.value[part],
        these=found.these[part],
        raters=found.raters[part],
        such=found.such[part],
        freedom=found.freedom[part],
    )
    ends = []
    for given in (such_raters(alone, scale), these_raters(alone, scale)):
        stated = given.not_stated is None and np.isfinite(given.low[0])
        ends.append(Ends(float(given.low[0]), float(given.high[0])) if stated else None)
    return AuditEstimate(float(alone.value[0]), ends[0], ends[1], found.not_stated or "")


@dataclass(frozen=True)
class Tested:
    """A test that the quantity is 0, by the interval for raters like these if it is stated, else for exactly these."""

    p: float
    error: float
    freedom: float
    population: Literal["such", "these"]


def test_of_zero(found: CrossedVariance, place: int) -> Tested:
    """The p that inverts the stated interval on the plain scale. Raises NoStatistic where no interval is stated."""
    from scipy.special import stdtr

    if found.not_stated is None:
        variance, freedom, population = found.such[place], float(found.freedom[place]), "such"
    else:
        variance, freedom, population = found.these[place], found.n_instructions - 1.0, "these"
    if found.not_stated == "few_instructions" or not np.isfinite(variance):
        raise NoStatistic("No interval is stated for this quantity.")
    error = float(np.sqrt(variance))
    value = float(found.value[place])
    if error <= NOTHING:
        return Tested(1.0 if abs(value) <= NOTHING else 0.0, 0.0, freedom, population)  # type: ignore[arg-type]
    p = float(min(1.0, 2 * stdtr(freedom, -abs(value) / error)))
    return Tested(p, error, freedom, population)  # type: ignore[arg-type]


def holm(p: FloatArray) -> FloatArray:
    """Holm's (1979) adjusted p values (m,) of m tests."""
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(raised, 1.0)
    return found


def _crossed(
    lines: Lines,
    width: int,
    whole: Callable[[int, int], FloatArray],
    without: Callable[[int, int], FloatArray],
    statistic: Statistic,
) -> CrossedVariance:
    sums = TaskSums(lines.instruction, lines.rater, lines.first, width, whole, without)
    return crossed_variance(sums, statistic, least_raters=LEAST_RATERS)


def _totals(lines: Lines) -> tuple[FloatArray, FloatArray]:
    sums = sum_by(lines.task, len(lines.counts), np.column_stack([lines.value, lines.value**2]))
    return np.asarray(sums[:, 0], dtype=np.float64), np.asarray(sums[:, 1], dtype=np.float64)


def _wide_table(lines: Lines, labels: IntArray, width: int) -> IntArray:
    """How often each label was given to each task (tasks, width)."""
    table = np.zeros((len(lines.counts), width), dtype=np.int64)
    found = count_table(lines.task, labels)
    table[:, : found.shape[1]] = found
    return table


def _means(groups: IntArray, values: FloatArray) -> FloatArray:
    """The mean of each entry's group."""
    codes = _numbered(groups)
    return np.asarray((np.bincount(codes, weights=values) / np.bincount(codes))[codes], dtype=np.float64)


def _numbered(codes: IntArray) -> IntArray:
    """Codes from 0 up without gaps."""
    return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)

"""Calibration of a judge's graded verdicts: verdicts as shares of the scale against people's shares. PURE.

A verdict of 0.75 (a level of a checklist, "slightly better", a probability) is calibrated if people give a mean of 0.75
to the responses that get it: Murphy and Winkler, Applied Statistics 26 (1977), the reliability diagram.
"""

from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray, Labels, cluster_codes, cluster_intervals
from calibration.statistics.shares import Share, mean_shares
from calibration.statistics.weights.rows import check_range

MOST_LEVELS = 11
"""Up to this number of different verdicts, each is a group of its own; beyond it, they are grouped by tenths."""


@dataclass(frozen=True)
class VerdictGroup:
    """The `n` verdicts from `low` to `high`: the judge's mean share beside people's, with its ends."""

    low: float
    high: float
    n: int
    judge: float
    people: Share


@dataclass(frozen=True)
class SoftVerdicts:
    """`groups` in ascending order over `n` verdicts.

    `slope` of people's share on the judge's (1 calibrated, under 1 the judge exaggerates, 0 its grades say nothing);
    `offset` mean of judge minus people; `error` the mean over verdicts of their group's |judge minus people|, which
    chance alone makes greater than 0 and draws make greater still: read its ends as an upper bound.
    """

    groups: tuple[VerdictGroup, ...]
    slope: Share
    offset: Share
    error: Share
    n: int


def soft_verdicts(
    judge: FloatArray, people: FloatArray, *, clusters: Labels | None = None, draws: int = 0, seed: int = 0
) -> SoftVerdicts:
    """Judge and people (n,): shares 0..1 of the same n questions, people's the mean of theirs.

    Raises TooFewRatings under two verdicts, ConstantScores where the judge always says the same, Undefined (OutOfRange).
    """
    x, y = np.asarray(judge, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"{x.size} verdicts need as many shares of people; give both of each.")
    if x.size < 2:
        raise TooFewRatings(x.size, 2, "verdicts on what people have answered")
    check_range("Verdicts", x, 0.0, 1.0)
    check_range("People's shares", y, 0.0, 1.0)
    if float(np.ptp(x)) <= 1e-12:
        raise ConstantScores("verdicts", float(x[0]))
    place, ends = _grouped(x)
    width = len(ends)
    codes, k = cluster_codes(np.arange(x.size) if clusters is None else clusters)
    if codes.size != x.size:
        raise ValueError(f"{codes.size} cluster labels for {x.size} verdicts; give one for each.")
    cell = codes * width + place
    # Centred on the judge's mean, which keeps the digits of a slope.
    centre = float(x.mean())
    sums = np.column_stack(
        [sum_by(cell, k * width, part).reshape(k, width) for part in (np.ones_like(x), x - centre, y)]
        + [sum_by(codes, k, part) for part in ((x - centre) ** 2, (x - centre) * y)]
    )

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = drawn @ sums
        n, of_judge, of_people = m[:, :width], m[:, width : 2 * width], m[:, 2 * width : 3 * width]
        total, sum_x, sum_y = n.sum(axis=1), of_judge.sum(axis=1), of_people.sum(axis=1)
        spread = m[:, -2] - sum_x**2 / total
        usable = spread > 1e-12 * total
        slope = (m[:, -1] - sum_x * sum_y / total) / np.where(usable, spread, 1.0)
        apart = of_judge + n * centre - of_people
        shares = of_people / np.where(n > 0, n, 1.0)
        return np.column_stack([slope, apart.sum(axis=1) / total, np.abs(apart).sum(axis=1) / total, shares]), usable

    values, found = cluster_intervals(statistic, k, draws=draws, seed=seed)
    slope, offset, error = (
        Share(float(values[at]), float(found.low[at]), float(found.high[at]), found.kind, k, found.draws)
        for at in range(3)
    )
    return SoftVerdicts(
        groups=_groups(x, y, place, ends, codes, draws=draws, seed=seed),
        slope=slope,
        offset=offset,
        error=error,
        n=x.size,
    )


def _grouped(values: FloatArray) -> tuple[IntArray, list[tuple[float, float]]]:
    """Each verdict's group and the groups' ends: every level by itself where they are few, else tenths."""
    levels, place = np.unique(np.round(values, 9), return_inverse=True)
    if levels.size <= MOST_LEVELS:
        return place.reshape(-1).astype(np.int64), [(float(level), float(level)) for level in levels]
    tenth = np.minimum((values * 10 + 1e-9).astype(np.int64), 9)
    used, place = np.unique(tenth, return_inverse=True)
    return place.reshape(-1).astype(np.int64), [(float(one) / 10, float(one + 1) / 10) for one in used]


def _groups(
    x: FloatArray,
    y: FloatArray,
    place: IntArray,
    ends: list[tuple[float, float]],
    codes: IntArray,
    *,
    draws: int,
    seed: int,
) -> tuple[VerdictGroup, ...]:
    """Each group with the ends of its own mean, over the clusters it holds."""
    found = []
    for group, (low, high) in enumerate(ends):
        mask = place == group
        (people,) = mean_shares([y[mask]], codes[mask], draws=draws, seed=seed)
        found.append(VerdictGroup(low, high, int(mask.sum()), float(x[mask].mean()), people))
    return tuple(found)

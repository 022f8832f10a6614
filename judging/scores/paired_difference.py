"""Compute the difference of two models' scores on the same instructions, with an interval over instructions. PURE.

Every instruction is one entry, so that Student's t holds: by column, and for the mean of columns with the degrees of freedom
of Welch and Satterthwaite (Cochran 1977, Sampling Techniques, chapter 5). p inverts the interval.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray, IntArray
from judging.scores.points import Interval, PointsRule

DifferenceInterval: TypeAlias = Literal["t95", "leave_one_out_range", "none"]


@dataclass(frozen=True)
class Difference:
    """First model minus second, on the score's scale; n instructions, on which `first` and `second` were better.

    `kind` is that of the interval: 95 % from 20 instructions on, where no column of a mean of columns has a single one;
    else the range over leaving one instruction out; "none" for a single instruction, whose ends repeat the value.
    """

    value: float
    interval: Interval
    n: int
    first: int
    second: int
    ties: int
    kind: DifferenceInterval


@dataclass(frozen=True)
class PairedDifference:
    """`columns` by code; `p`, two-sided, inverts the overall interval, and is None where that is not one of 95 %."""

    overall: Difference
    columns: Mapping[int, Difference]
    p: float | None
    clusters: int

    @property
    def kind(self) -> DifferenceInterval:
        return self.overall.kind


def paired_difference(column: IntArray, gap: FloatArray, rule: PointsRule) -> PairedDifference:
    """Compute the difference from one entry per instruction, arrays (n,): its column and the first value minus the
    second.

    The overall difference is the mean of the columns' means, or of all instructions if the rule pools. Raises
    TooFewRatings without an instruction that both models have.
    """
    if not gap.size:
        raise TooFewRatings(0, 1, "instructions that both models have")
    columns, place = np.unique(column, return_inverse=True)
    place = place.reshape(-1).astype(np.int64)
    stretched = np.asarray(gap * rule.stretch, dtype=np.float64)
    stratum = np.zeros(gap.size, dtype=np.int64) if rule.pooled else place
    overall, p = _difference(stretched, gap, stratum)
    parts = {
        code: _difference(stretched[place == spot], gap[place == spot], np.zeros(int((place == spot).sum()), np.int64))[
            0
        ]
        for spot, code in enumerate(columns.tolist())
    }
    return PairedDifference(overall, parts, p, gap.size)


def _difference(gap: FloatArray, raw: FloatArray, stratum: IntArray) -> tuple[Difference, float | None]:
    """The mean over strata of the means of `gap` (n,), and its p; `raw` (n,) tells which model was better."""
    from scipy.special import stdtr, stdtrit

    n, size = gap.size, np.bincount(stratum)
    mean = np.bincount(stratum, weights=gap) / size
    value = float(mean.mean())
    better = int((raw > 0).sum()), int((raw < 0).sum()), int((raw == 0).sum())
    if n < MIN_CLUSTERS or size.min() < 2:
        # Leaving out an instruction moves its stratum's mean; one that is alone there stays.
        others = size[stratum] - 1
        moved = value + (mean[stratum] - gap) / np.maximum(others, 1) / len(size)
        found = moved[others > 0]
        if not found.size:
            return Difference(value, Interval(value, value), n, *better, "none"), None
        ends = Interval(float(found.min()), float(found.max()))
        return Difference(value, ends, n, *better, "leave_one_out_range"), None
    squares = np.bincount(stratum, weights=(gap - mean[stratum]) ** 2)
    by_stratum = squares / (size - 1) / size / len(size) ** 2
    variance = float(by_stratum.sum())
    if variance <= 1e-18 * max(1.0, value**2):
        # Every instruction gives the same difference: the sign test of as many.
        p = min(1.0, 2 * 0.5**n) if value else 1.0
        return Difference(value, Interval(value, value), n, *better, "t95"), p
    freedom = variance**2 / float((by_stratum**2 / (size - 1)).sum())
    half = float(stdtrit(freedom, 0.975)) * variance**0.5
    p = float(2 * stdtr(freedom, -abs(value) / variance**0.5))
    return Difference(value, Interval(value - half, value + half), n, *better, "t95"), p

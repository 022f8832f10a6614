"""Compute the difference of two models' scores on the same instructions, with an interval over instructions. PURE."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import (
    BoolArray,
    FloatArray,
    IntArray,
    IntervalKind,
    cluster_intervals,
    sign_flip_p,
)
from judging.scores.points import Interval, PointsRule


@dataclass(frozen=True)
class Difference:
    """First model minus second, on the score's scale; n instructions, on which `first` and `second` were better."""

    value: float
    interval: Interval
    n: int
    first: int
    second: int
    ties: int


@dataclass(frozen=True)
class PairedDifference:
    """`columns` by code; `p` is two-sided, from flipping the signs of whole instructions at random."""

    overall: Difference
    columns: Mapping[int, Difference]
    p: float
    kind: IntervalKind
    clusters: int


def paired_difference(
    column: IntArray, gap: FloatArray, rule: PointsRule, *, draws: int = 1000, seed: int = 0
) -> PairedDifference:
    """Compute the difference from one entry per instruction, arrays (n,): its column and the first value minus the
    second.

    The overall difference is the mean of the columns' means, or of all instructions if the rule pools. Raises
    TooFewRatings without an instruction that both models have.
    """
    if not gap.size:
        raise TooFewRatings(0, 1, "instructions that both models have")
    columns, place = np.unique(column, return_inverse=True)
    n, k = gap.size, columns.size
    sums, counts = np.zeros((n, k)), np.zeros((n, k))
    sums[np.arange(n), place] = gap * rule.stretch
    counts[np.arange(n), place] = 1.0

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        above, below = drawn @ sums, drawn @ counts
        usable = np.asarray((below > 0).all(axis=1), dtype=np.bool_)
        means = above / np.where(below > 0, below, 1.0)
        pooled = above.sum(axis=1) / np.maximum(below.sum(axis=1), 1e-300)
        overall = pooled if rule.pooled else means.mean(axis=1)
        return np.column_stack([overall, means]), usable

    values, ends = cluster_intervals(statistic, n, draws=draws, seed=seed)
    found = [
        Difference(
            float(values[spot]),
            Interval(float(ends.low[spot]), float(ends.high[spot])),
            part.size,
            int((part > 0).sum()),
            int((part < 0).sum()),
            int((part == 0).sum()),
        )
        for spot, part in enumerate([gap, *(gap[place == code] for code in range(k))])
    ]
    weight = np.ones(n) if rule.pooled else n / (k * np.bincount(place.reshape(-1)))[place.reshape(-1)]
    return PairedDifference(
        found[0],
        dict(zip(columns.tolist(), found[1:], strict=True)),
        sign_flip_p(gap * weight, seed=seed),
        ends.kind,
        ends.clusters,
    )

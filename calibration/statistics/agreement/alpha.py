"""Krippendorff's alpha. PURE.

Input is one line per rating; units and labels are integer codes from 0 up unless said otherwise.
Intervals draw whole units, or whole clusters of units where `clusters` labels each rating with one.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.rating_tables import (
    check_codes,
    compact,
    count_table,
    level_codes,
    sum_by,
    task_clusters,
    with_two_raters,
)
from calibration.statistics.errors import NoDisagreementPossible
from calibration.statistics.resampling import (
    BoolArray,
    CountedStatistic,
    FloatArray,
    IntArray,
    IntervalKind,
    Labels,
    cluster_intervals,
)

MOST_SUMS = 2_000_000
"""Numbers held at once for the ordinal metric: 16 MB."""

Metric: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha over `n_units` units with at least two ratings, `n_values` ratings in all.

    1 is full agreement, 0 what chance gives, below 0 less than chance. Disagreements `observed` and
    `expected` are mean squared distances in the metric, so that value = 1 - observed/expected.
    """

    value: float
    low: float
    high: float
    interval_kind: IntervalKind
    n_units: int
    n_values: int
    metric: Metric
    observed: float
    expected: float
    clusters: int
    draws: int


def krippendorff_alpha(
    units: IntArray,
    values: FloatArray,
    *,
    metric: Metric,
    draws: int = 0,
    seed: int = 0,
    clusters: Labels | None = None,
) -> Alpha:
    """Krippendorff's alpha by his 2011 formulation on value counts ("Computing Krippendorff's alpha-reliability").

    Units may have any number of ratings; units with a single one are left out. The ordinal metric is the interval metric on
    the mid-ranks of all pairable values. Own computation. Raises TooFewRatings when no unit has two ratings,
    NoDisagreementPossible when only one value occurs; ValueError for a negative value in the ratio metric.
    """
    lines, _ = compact(check_codes("Units", units))
    columns, levels = level_codes(np.asarray(values, dtype=np.float64))
    if metric == "ratio" and levels[0] < 0:
        raise ValueError(f"The ratio metric needs values from 0 up, found {levels[0]:g}; use interval instead.")
    counts = count_table(lines, columns)
    kept = with_two_raters(counts)
    table = counts[kept].astype(np.float64)
    total = int(table.sum())
    if np.count_nonzero(table.sum(axis=0)) < 2:
        raise NoDisagreementPossible(float(levels[int(table.sum(axis=0).argmax())]), total)
    codes, k = task_clusters(lines, len(counts), clusters, kept)
    if metric == "ordinal":
        statistic = _ordinal_alpha(table, codes, k)
    else:
        statistic = _fixed_alpha(table, codes, k, _distances(levels, metric))
    value, ends = cluster_intervals(statistic, k, draws=draws, seed=seed)
    return Alpha(
        value=float(value[0]),
        low=float(ends.low[0]),
        high=float(ends.high[0]),
        interval_kind=ends.kind,
        n_units=len(table),
        n_values=total,
        metric=metric,
        observed=float(value[1]),
        expected=float(value[2]),
        clusters=k,
        draws=ends.draws,
    )


def _distances(levels: FloatArray, metric: Metric) -> FloatArray:
    """Squared distance between every two levels."""
    apart = levels[:, None] - levels[None, :]
    if metric == "nominal":
        return np.asarray(apart != 0, dtype=np.float64)
    if metric == "interval":
        return np.asarray(apart**2, dtype=np.float64)
    both = levels[:, None] + levels[None, :]
    return np.asarray((apart / np.where(both > 0, both, 1.0)) ** 2, dtype=np.float64)


def _alpha_values(observed: FloatArray, expected: FloatArray, ratings: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Alpha and both disagreements from the summed distances of pairs within units and of all pairs."""
    usable = expected > 1e-12 * np.max(expected, initial=0.0)
    within = observed / ratings
    overall = expected / (ratings * (ratings - 1))
    return np.column_stack([1 - within / np.where(usable, overall, 1.0), within, overall]), usable


def _fixed_alpha(table: FloatArray, codes: IntArray, k: int, distance: FloatArray) -> CountedStatistic:
    """Alpha in a metric whose distances do not depend on the sample."""
    within = ((table @ distance) * table).sum(axis=1) / (table.sum(axis=1) - 1)
    sums = sum_by(codes, k, np.column_stack([within, table]))

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = drawn @ sums
        totals = m[:, 1:]
        return _alpha_values(m[:, 0], ((totals @ distance) * totals).sum(axis=1), totals.sum(axis=1))

    return statistic


def _ordinal_alpha(table: FloatArray, codes: IntArray, k: int) -> CountedStatistic:
    """Alpha in the ordinal metric, whose distances are those between mid-ranks in each sample.

    The square of a unit's summed ranks r't is r'(tt')r, so that sums of tt' over each cluster's units stand for the
    units; where there are so many labels that those sums would be larger, units are processed for a few draws at a time.
    """
    raters = table.sum(axis=1)
    totals_by_cluster = sum_by(codes, k, table)
    squares_by_cluster = sum_by(codes, k, table * (raters / (raters - 1))[:, None])
    levels = table.shape[1]
    crossed_sums = _crossed_by_cluster(table, codes, k) if k * levels**2 <= MOST_SUMS else None

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        totals = drawn @ totals_by_cluster
        ratings = totals.sum(axis=1)
        ranks = totals.cumsum(axis=1) - totals / 2 - (ratings / 2)[:, None]
        if crossed_sums is None:
            crossed = _crossed_by_draw(table, codes, k, drawn, ranks)
        else:
            products = (drawn @ crossed_sums).reshape(-1, levels, levels)
            crossed = np.einsum("bi,bij,bj->b", ranks, products, ranks)
        within = 2 * ((drawn @ squares_by_cluster * ranks**2).sum(axis=1) - crossed)
        expected = 2 * (ratings * (totals * ranks**2).sum(axis=1) - (totals * ranks).sum(axis=1) ** 2)
        return _alpha_values(within, expected, ratings)

    return statistic


def _crossed_by_cluster(table: FloatArray, codes: IntArray, k: int) -> FloatArray:
    """Sum over each cluster's units of tt'/(raters - 1), flat: (k, levels * levels)."""
    scaled = table / (table.sum(axis=1) - 1)[:, None]
    columns = [sum_by(codes, k, scaled * table[:, [level]]) for level in range(table.shape[1])]
    return np.concatenate(columns, axis=1)


def _crossed_by_draw(table: FloatArray, codes: IntArray, k: int, drawn: FloatArray, ranks: FloatArray) -> FloatArray:
    """Sum over units of (summed ranks)^2/(raters - 1) in each draw (b,), a few draws at a time."""
    others = (table.sum(axis=1) - 1)[:, None]
    at_once = max(1, MOST_SUMS // len(table))
    found = np.empty(len(drawn))
    for start in range(0, len(drawn), at_once):
        part = slice(start, start + at_once)
        by_cluster = sum_by(codes, k, (table @ ranks[part].T) ** 2 / others)
        found[part] = (drawn[part] * by_cluster.T).sum(axis=1)
    return found

"""Krippendorff's alpha. PURE.

Input is one line per rating; units and labels are integer codes from 0 up unless said otherwise.
Intervals draw whole units, or whole clusters of units where `clusters` labels each rating with one.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.rating_tables import (
    TableSums,
    check_codes,
    compact,
    count_table,
    level_codes,
    sum_by,
    task_clusters,
    with_two_raters,
)
from calibration.statistics.errors import no_disagreement_possible
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
    Undefined (NoDisagreementPossible) when only one value occurs; ValueError for a negative value in the ratio metric.
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
        raise no_disagreement_possible(float(levels[int(table.sum(axis=0).argmax())]), total)
    codes, k = task_clusters(lines, len(counts), clusters, kept)
    if metric == "ordinal" and k * table.shape[1] ** 2 > MOST_SUMS:
        statistic = _ordinal_by_draw(table, codes, k)
    else:
        statistic = _drawn(alpha_sums(levels, metric), table, codes, k)
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


def alpha_sums(levels: FloatArray, metric: Metric) -> TableSums:
    """Alpha over these levels (ascending) as a function of sums over units."""
    return _ordinal_alpha(len(levels)) if metric == "ordinal" else _fixed_alpha(_distances(levels, metric))


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
    usable = (expected > 1e-12 * np.max(expected, initial=0.0)) & (ratings > 1.5)
    ratings = np.where(usable, ratings, 2.0)
    within = observed / ratings
    overall = expected / (ratings * (ratings - 1))
    return np.column_stack([1 - within / np.where(usable, overall, 1.0), within, overall]), usable


def _fixed_alpha(distance: FloatArray) -> TableSums:
    """Alpha in a metric whose distances (levels, levels) do not depend on the sample."""

    def adds(table: FloatArray) -> FloatArray:
        within = ((table @ distance) * table).sum(axis=1) / (table.sum(axis=1) - 1)
        return np.column_stack([within, table])

    def values(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        totals = sums[:, 1:]
        return _alpha_values(sums[:, 0], ((totals @ distance) * totals).sum(axis=1), totals.sum(axis=1))

    return TableSums(adds, values)


def _ordinal_alpha(levels: int) -> TableSums:
    """Alpha in the ordinal metric over so many levels, whose distances are those between mid-ranks in each sample.

    The square of a unit's summed ranks r't is r'(tt')r, so that sums of tt' stand for the units.
    """

    def adds(table: FloatArray) -> FloatArray:
        raters = table.sum(axis=1)
        scaled = table / (raters - 1)[:, None]
        crossed = (scaled[:, :, None] * table[:, None, :]).reshape(len(table), levels * levels)
        return np.column_stack([table, table * (raters / (raters - 1))[:, None], crossed])

    def values(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        totals, squares = sums[:, :levels], sums[:, levels : 2 * levels]
        ranks = _mid_ranks(totals)
        products = sums[:, 2 * levels :].reshape(-1, levels, levels)
        return _ordinal_values(totals, squares, ranks, np.einsum("bi,bij,bj->b", ranks, products, ranks))

    return TableSums(adds, values)


def _mid_ranks(totals: FloatArray) -> FloatArray:
    """Mid-rank of each level, from the middle of all ratings."""
    return np.asarray(totals.cumsum(axis=1) - totals / 2 - (totals.sum(axis=1) / 2)[:, None], dtype=np.float64)


def _ordinal_values(
    totals: FloatArray, squares: FloatArray, ranks: FloatArray, crossed: FloatArray
) -> tuple[FloatArray, BoolArray]:
    ratings = totals.sum(axis=1)
    within = 2 * ((squares * ranks**2).sum(axis=1) - crossed)
    expected = 2 * (ratings * (totals * ranks**2).sum(axis=1) - (totals * ranks).sum(axis=1) ** 2)
    return _alpha_values(within, expected, ratings)


def _drawn(sums: TableSums, table: FloatArray, codes: IntArray, k: int) -> CountedStatistic:
    by_cluster = sum_by(codes, k, sums.adds(table))
    return lambda drawn: sums.values(drawn @ by_cluster)


def _ordinal_by_draw(table: FloatArray, codes: IntArray, k: int) -> CountedStatistic:
    """Ordinal alpha with so many levels that sums of tt' would be larger than the units: a few draws at a time."""
    raters = table.sum(axis=1)
    totals_by_cluster = sum_by(codes, k, table)
    squares_by_cluster = sum_by(codes, k, table * (raters / (raters - 1))[:, None])

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        totals = drawn @ totals_by_cluster
        ranks = _mid_ranks(totals)
        crossed = _crossed_by_draw(table, codes, k, drawn, ranks)
        return _ordinal_values(totals, drawn @ squares_by_cluster, ranks, crossed)

    return statistic


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

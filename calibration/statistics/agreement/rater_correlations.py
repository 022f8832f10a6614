"""Correlations between raters: intraclass correlations and the rater-by-rater matrix. PURE.

Every function takes one line per rating; units and labels are integer codes from 0 up unless said otherwise.
Intervals draw whole units, or whole clusters of units where `clusters` labels each rating with one.
"""

from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.rating_tables import check_codes, count_table, level_codes, sum_by, task_clusters
from calibration.statistics.errors import TooFewRatings, missing_cells, no_disagreement_possible, repeated_cell
from calibration.statistics.resampling import (
    BoolArray,
    CountedStatistic,
    FloatArray,
    IntArray,
    IntervalKind,
    Labels,
    cluster_codes,
    cluster_intervals,
)
from calibration.statistics.ties import mean_ranks, settle_ties

LEAST_IN_COMMON = 3
"""Common items from which the correlation of two raters is stated."""


@dataclass(frozen=True)
class Icc:
    """Intraclass correlations of a complete table of `n_units` units by `n_raters` raters.

    `icc1`: raters differ from unit to unit, one rating; `icc21`: the same raters, a random sample of raters, one
    rating, absolute agreement; `icc2k`: the same for the mean of all `n_raters` ratings.
    """

    icc1: float
    icc1_low: float
    icc1_high: float
    icc21: float
    icc21_low: float
    icc21_high: float
    icc2k: float
    icc2k_low: float
    icc2k_high: float
    interval_kind: IntervalKind
    n_units: int
    n_raters: int
    clusters: int
    draws: int


@dataclass(frozen=True)
class RaterMatrix:
    """Correlation of every two raters over the items both rated; lines and columns follow `raters`.

    `n` counts the common items. Where `defined` is False (fewer than three common items, or one of the two never
    varies on them) there is no correlation and the cell holds 0, to be shown as empty.
    """

    raters: tuple[object, ...]
    pearson: FloatArray
    spearman: FloatArray
    n: IntArray
    defined: BoolArray


def icc(
    units: IntArray,
    raters: IntArray,
    values: FloatArray,
    *,
    draws: int = 0,
    seed: int = 0,
    clusters: Labels | None = None,
) -> Icc:
    """ICC(1), ICC(2,1) and ICC(2,k) by analysis of variance (Shrout and Fleiss 1979), own computation.

    Every rater must have rated every unit once. Raises Undefined (MissingCells, RepeatedCell, or NoDisagreementPossible
    when every value is the same), and TooFewRatings under two units or two raters.
    """
    lines, height = cluster_codes(check_codes("Units", units))
    columns, width = cluster_codes(check_codes("Raters", raters))
    scores = np.asarray(values, dtype=np.float64)
    level_codes(scores)
    filled = count_table(lines, columns)
    if filled.max() > 1:
        line, column = np.argwhere(filled > 1)[0]
        raise repeated_cell(int(units[lines == line][0]), int(raters[columns == column][0]))
    if height < 2 or width < 2:
        raise TooFewRatings(min(height, width), 2, "units" if height < 2 else "raters")
    if (filled == 0).any():
        raise missing_cells(int((filled == 0).sum()), filled.size)
    if np.ptp(scores) == 0:
        raise no_disagreement_possible(float(scores[0]), scores.size)
    table = np.empty((height, width))
    table[lines, columns] = scores - scores.mean()
    codes, k = task_clusters(lines, height, clusters, np.arange(height))
    value, ends = cluster_intervals(_icc_statistic(table, codes, k), k, draws=draws, seed=seed)
    return Icc(
        icc1=float(value[0]),
        icc1_low=float(ends.low[0]),
        icc1_high=float(ends.high[0]),
        icc21=float(value[1]),
        icc21_low=float(ends.low[1]),
        icc21_high=float(ends.high[1]),
        icc2k=float(value[2]),
        icc2k_low=float(ends.low[2]),
        icc2k_high=float(ends.high[2]),
        interval_kind=ends.kind,
        n_units=height,
        n_raters=width,
        clusters=k,
        draws=ends.draws,
    )


def rater_matrix(items: Labels, raters: Labels, values: FloatArray) -> RaterMatrix:
    """Pearson and Spearman correlation of every two raters over their common items (HelloBench, table 18).

    items, raters (n,) are any labels, values (n,) numbers. With empty cells Spearman re-ranks each pair's common
    items, some 20 microseconds per pair. Raises Undefined (RepeatedCell), TooFewRatings under two raters.
    """
    lines, height = cluster_codes(items)
    columns, width = cluster_codes(raters)
    scores = np.asarray(values, dtype=np.float64)
    level_codes(scores)
    if width < 2:
        raise TooFewRatings(width, 2, "raters")
    cells, first = np.unique(lines * width + columns, return_index=True)
    if cells.size < lines.size:
        again = np.setdiff1d(np.arange(lines.size), first)[0]
        raise repeated_cell(items[again], raters[again])
    present = np.zeros((height, width), dtype=np.bool_)
    table = np.zeros((height, width))
    present[lines, columns] = True
    table[lines, columns] = scores
    common = present.T.astype(np.int64) @ present.astype(np.int64)
    pearson, spearman = np.zeros((width, width)), np.zeros((width, width))
    defined = np.zeros((width, width), dtype=np.bool_)
    for a in range(width):
        for b in range(a, width):
            if common[a, b] < LEAST_IN_COMMON:
                continue
            both = present[:, a] & present[:, b]
            x, y = settle_ties(table[both, a]), settle_ties(table[both, b])
            if np.ptp(x) == 0 or np.ptp(y) == 0:
                continue
            defined[a, b] = defined[b, a] = True
            pearson[a, b] = pearson[b, a] = 1.0 if a == b else product_moment(x, y)
            spearman[a, b] = spearman[b, a] = 1.0 if a == b else product_moment(mean_ranks(x), mean_ranks(y))
    first_of = np.unique(columns, return_index=True)[1]
    names = tuple(raters[index] for index in first_of)
    return RaterMatrix(names, pearson, spearman, common, defined)


def product_moment(x: FloatArray, y: FloatArray) -> float:
    """Pearson's correlation of two arrays that both vary."""
    dx, dy = x - x.mean(), y - y.mean()
    return float(np.clip((dx @ dy) / np.sqrt((dx @ dx) * (dy @ dy)), -1.0, 1.0))


def _icc_statistic(table: FloatArray, codes: IntArray, k: int) -> CountedStatistic:
    """The three intraclass correlations from sums over units (Shrout and Fleiss's mean squares)."""
    width = table.shape[1]
    means = table.mean(axis=1)
    sums = sum_by(codes, k, np.column_stack([np.ones(len(table)), means, means**2, (table**2).sum(axis=1), table]))

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = drawn @ sums
        n = m[:, 0]
        grand = m[:, 1] / n
        between_units = width * (m[:, 2] - n * grand**2)
        between_raters = ((m[:, 4:] / n[:, None]) ** 2).sum(axis=1) * n - n * width * grand**2
        within_units = m[:, 3] - width * m[:, 2]
        freedom = np.maximum(n - 1, 1.0)
        units = between_units / freedom
        raters = between_raters / (width - 1)
        rest = (within_units - between_raters) / (freedom * (width - 1))
        one_way = within_units / (n * (width - 1))
        bases = np.column_stack(
            [
                units + (width - 1) * one_way,
                units + (width - 1) * rest + width * (raters - rest) / n,
                units + (raters - rest) / n,
            ]
        )
        usable = (n > 1) & (np.abs(bases) > 1e-12 * (table**2).mean()).all(axis=1)
        tops = np.column_stack([units - one_way, units - rest, units - rest])
        return tops / np.where(usable[:, None], bases, 1.0), usable

    return statistic

"""Kappa coefficients of labels without a distance (or with one, for two raters). PURE.

Every function takes one line per rating; units and labels are integer codes from 0 up unless said otherwise.
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
    sum_by,
    task_clusters,
    with_two_raters,
)
from calibration.statistics.errors import TooFewRatings, no_disagreement_possible
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

Chance: TypeAlias = Literal["fleiss", "gwet"]
PairWeights: TypeAlias = Literal["linear", "quadratic"] | None


@dataclass(frozen=True)
class Kappa:
    """A kappa coefficient: (observed - expected)/(1 - expected) agreement over `n_units` units, `n_values` ratings."""

    value: float
    low: float
    high: float
    interval_kind: IntervalKind
    n_units: int
    n_values: int
    observed: float
    expected: float
    clusters: int
    draws: int


def fleiss_kappa(
    units: IntArray, labels: IntArray, *, draws: int = 0, seed: int = 0, clusters: Labels | None = None
) -> Kappa:
    """Fleiss' kappa with any number of raters per unit, as Gwet (2014, chapter 2) extends Fleiss (1971).

    Observed: the mean over units with at least two raters of the share of agreeing pairs. Expected: the sum of
    squares of the labels' mean shares over all units. Own computation. Raises TooFewRatings when no unit has two
    raters, Undefined (NoDisagreementPossible) when only one label occurs.
    """
    return _of_tables(units, labels, "fleiss", draws, seed, clusters)


def gwet_ac1(
    units: IntArray, labels: IntArray, *, draws: int = 0, seed: int = 0, clusters: Labels | None = None
) -> Kappa:
    """Gwet's AC1 (British Journal of Mathematical and Statistical Psychology 61, 2008) with any number of raters per unit.

    Observed as in fleiss_kappa; expected: the sum of p(1 - p)/(q - 1) over the q labels that occur, p their mean shares
    over all units. Where one label is much more frequent, kappas are low although raters agree; AC1 is not. Own
    computation. Raises as fleiss_kappa.
    """
    return _of_tables(units, labels, "gwet", draws, seed, clusters)


def kappa_sums(levels: int, chance: Chance) -> TableSums:
    """Fleiss' kappa or Gwet's AC1 over so many labels as a function of sums over units, single ratings included."""

    def adds(table: FloatArray) -> FloatArray:
        raters = table.sum(axis=1)
        paired = raters >= 2
        pairs = np.where(paired, raters * (raters - 1), 1.0)
        agreeing = np.where(paired, (table * (table - 1)).sum(axis=1) / pairs, 0.0)
        return np.column_stack([agreeing, paired, np.ones(len(table)), table / raters[:, None]])

    def values(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        some = sums[:, 1] > 0.5
        shares = sums[:, 3:] / np.where(some, sums[:, 2], 1.0)[:, None]
        if chance == "fleiss":
            expected = (shares**2).sum(axis=1)
        else:
            expected = (shares * (1 - shares)).sum(axis=1) / max(levels - 1, 1)
        usable = some & (expected < 1 - 1e-12)
        observed = sums[:, 0] / np.where(some, sums[:, 1], 1.0)
        value = (observed - expected) / np.where(usable, 1 - expected, 1.0)
        return np.column_stack([value, observed, expected]), usable

    return TableSums(adds, values)


def _of_tables(
    units: IntArray, labels: IntArray, chance: Chance, draws: int, seed: int, clusters: Labels | None
) -> Kappa:
    lines, _ = compact(check_codes("Units", units))
    given, columns = np.unique(check_codes("Labels", labels), return_inverse=True)
    counts = count_table(lines, columns.reshape(-1).astype(np.int64))
    rated = np.flatnonzero(counts.sum(axis=1))
    with_two_raters(counts)
    table = counts[rated].astype(np.float64)
    raters = table.sum(axis=1)
    if given.size < 2:
        raise no_disagreement_possible(int(given[0]), int(raters.sum()))
    codes, k = task_clusters(lines, len(counts), clusters, rated)
    found = kappa_sums(given.size, chance)
    sums = sum_by(codes, k, found.adds(table))
    value, ends = cluster_intervals(lambda drawn: found.values(drawn @ sums), k, draws=draws, seed=seed)
    paired = raters >= 2
    return Kappa(
        value=float(value[0]),
        low=float(ends.low[0]),
        high=float(ends.high[0]),
        interval_kind=ends.kind,
        n_units=int(paired.sum()),
        n_values=int(raters[paired].sum()),
        observed=float(value[1]),
        expected=float(value[2]),
        clusters=k,
        draws=ends.draws,
    )


def cohen_kappa(
    first: IntArray,
    second: IntArray,
    *,
    weights: PairWeights = None,
    draws: int = 0,
    seed: int = 0,
    clusters: Labels | None = None,
) -> Kappa:
    """Cohen's kappa of two raters' label codes (n,) of the same n units (Cohen 1960; weighted, Cohen 1968).

    With weights, disagreements count by the (squared) distance between the places of the labels among those that
    occur, in ascending order. Resampling recomputes it from tables of counts. Raises TooFewRatings under two
    units, Undefined (NoDisagreementPossible) when both raters gave only one and the same label.
    """
    one, two = check_codes("Labels", first), check_codes("Labels", second)
    if one.size != two.size:
        raise ValueError(f"{one.size} labels for {two.size}; give both raters' label of each unit.")
    if one.size < 2:
        raise TooFewRatings(one.size, 2, "units rated by both")
    levels, places = np.unique(np.concatenate([one, two]), return_inverse=True)
    if levels.size < 2:
        raise no_disagreement_possible(int(levels[0]), int(places.size))
    width = levels.size
    codes, k = cluster_codes(np.arange(one.size) if clusters is None else clusters)
    tables = cohen_of_tables(places[: one.size], places[one.size :], codes, width)
    statistic, cost = cohen_statistic(width, weights), _cost(width, weights)
    by_cluster = tables.reshape(k, width**2)
    _, ends = cluster_intervals(lambda drawn: statistic(drawn @ by_cluster), k, draws=draws, seed=seed)
    whole = tables.sum(axis=0)
    lines, columns = whole.sum(axis=1) / one.size, whole.sum(axis=0) / one.size
    value = float(statistic(whole.reshape(1, width**2))[0][0, 0])
    return Kappa(
        value=value,
        low=float(ends.low[0]) if ends.kind != "none" else value,
        high=float(ends.high[0]) if ends.kind != "none" else value,
        interval_kind=ends.kind,
        n_units=int(one.size),
        n_values=int(places.size),
        observed=1 - float((cost * whole).sum()) / one.size,
        expected=1 - float(lines @ cost @ columns),
        clusters=k,
        draws=ends.draws,
    )


def cohen_of_tables(first: IntArray, second: IntArray, clusters: IntArray, width: int) -> FloatArray:
    """How often two raters gave each pair of labels (codes below `width`) in each cluster: (clusters, width, width)."""
    k = int(clusters.max()) + 1
    cells = np.bincount(clusters * width**2 + first * width + second, minlength=k * width**2)
    return cells.reshape(k, width, width).astype(np.float64)


def cohen_statistic(width: int, weights: PairWeights) -> CountedStatistic:
    """Cohen's kappa from tables of counts: (n, width * width) -> (n, 1)."""
    cost = _cost(width, weights)

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = sums.reshape(-1, width, width)
        n = m.sum(axis=(1, 2))
        by_chance = np.einsum("bi,ij,bj->b", m.sum(axis=2), cost, m.sum(axis=1)) / np.maximum(n, 1.0)
        usable = by_chance > 1e-12 * n
        disagreement = (m * cost).sum(axis=(1, 2)) / np.where(usable, by_chance, 1.0)
        return np.asarray(1 - disagreement)[:, None], usable

    return statistic


def _cost(width: int, weights: PairWeights) -> FloatArray:
    apart = np.abs(np.arange(width)[:, None] - np.arange(width)[None, :]) / max(width - 1, 1)
    found = np.where(apart > 0, 1.0, 0.0) if weights is None else apart if weights == "linear" else apart**2
    return np.asarray(found, dtype=np.float64)

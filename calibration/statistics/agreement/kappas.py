"""Kappa coefficients of labels without a distance (or with one, for two raters). PURE.

Every function takes one line per rating; units and labels are integer codes from 0 up unless said otherwise.
Intervals draw whole units, or whole clusters of units where `clusters` labels each rating with one.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibration.statistics.agreement.rating_tables import (
    check_codes,
    compact,
    count_table,
    sum_by,
    task_clusters,
    with_two_raters,
)
from calibration.statistics.errors import NoDisagreementPossible, TooFewRatings
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
    raters, NoDisagreementPossible when only one label occurs.
    """
    lines, _ = compact(check_codes("Units", units))
    columns, given = compact(check_codes("Labels", labels))
    counts = count_table(lines, columns)
    rated = np.flatnonzero(counts.sum(axis=1))
    with_two_raters(counts)
    table = counts[rated].astype(np.float64)
    raters = table.sum(axis=1)
    if np.count_nonzero(table.sum(axis=0)) < 2:
        raise NoDisagreementPossible(int(given[int(table.sum(axis=0).argmax())]), int(raters.sum()))
    paired = raters >= 2
    pairs = np.where(paired, raters * (raters - 1), 1.0)
    agreeing = np.where(paired, (table * (table - 1)).sum(axis=1) / pairs, 0.0)
    codes, k = task_clusters(lines, len(counts), clusters, rated)
    parts = np.column_stack([agreeing, paired, np.ones(len(table)), table / raters[:, None]])
    sums = sum_by(codes, k, parts)

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = drawn @ sums
        expected = ((m[:, 3:] / m[:, 2:3]) ** 2).sum(axis=1)
        usable = (m[:, 1] > 0) & (expected < 1 - 1e-12)
        observed = m[:, 0] / np.where(m[:, 1] > 0, m[:, 1], 1.0)
        value = (observed - expected) / np.where(usable, 1 - expected, 1.0)
        return np.column_stack([value, observed, expected]), usable

    value, ends = cluster_intervals(statistic, k, draws=draws, seed=seed)
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
    weights: Literal["linear", "quadratic"] | None = None,
    draws: int = 0,
    seed: int = 0,
    clusters: Labels | None = None,
) -> Kappa:
    """Cohen's kappa of two raters' label codes (n,) of the same n units, by scikit-learn.

    With weights, disagreements count by the (squared) distance between the places of the labels among those that
    occur, in ascending order. Resampling recomputes it from tables of counts. Raises TooFewRatings under two
    units, NoDisagreementPossible when both raters gave only one and the same label.
    """
    from sklearn.metrics import cohen_kappa_score

    one, two = check_codes("Labels", first), check_codes("Labels", second)
    if one.size != two.size:
        raise ValueError(f"{one.size} labels for {two.size}; give both raters' label of each unit.")
    if one.size < 2:
        raise TooFewRatings(one.size, 2, "units rated by both")
    levels, places = np.unique(np.concatenate([one, two]), return_inverse=True)
    if levels.size < 2:
        raise NoDisagreementPossible(int(levels[0]), int(places.size))
    width = levels.size
    codes, k = cluster_codes(np.arange(one.size) if clusters is None else clusters)
    cells = np.bincount(codes * width**2 + places[: one.size] * width + places[one.size :], minlength=k * width**2)
    tables = cells.reshape(k, width, width).astype(np.float64)
    apart = np.abs(np.arange(width)[:, None] - np.arange(width)[None, :]) / (width - 1)
    cost = np.where(apart > 0, 1.0, 0.0) if weights is None else apart if weights == "linear" else apart**2
    _, ends = cluster_intervals(_cohen_statistic(tables, cost), k, draws=draws, seed=seed)
    whole = tables.sum(axis=0)
    lines, columns = whole.sum(axis=1) / one.size, whole.sum(axis=0) / one.size
    value = float(cohen_kappa_score(one, two, weights=weights))
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


def _cohen_statistic(tables: FloatArray, cost: FloatArray) -> CountedStatistic:
    """Cohen's kappa from per-cluster tables of counts (k, labels, labels)."""
    k, width, _ = tables.shape

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = (drawn @ tables.reshape(k, width**2)).reshape(-1, width, width)
        n = m.sum(axis=(1, 2))
        by_chance = np.einsum("bi,ij,bj->b", m.sum(axis=2), cost, m.sum(axis=1)) / n
        usable = by_chance > 1e-12 * n
        disagreement = (m * cost).sum(axis=(1, 2)) / np.where(usable, by_chance, 1.0)
        return np.asarray(1 - disagreement)[:, None], usable

    return statistic

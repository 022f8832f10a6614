"""Resampling of whole clusters: bootstrap intervals. PURE.

A statistic is resampled through the counts with which each cluster enters: a row of counts (2, 0, 1, ..) says
"cluster 0 twice, cluster 1 never". Whatever can be computed from per-cluster sums is then recomputed for a
thousand draws by one matrix product. Clusters (instructions, raters, models) are drawn whole because the rows
inside one of them are not independent; drawing rows would state intervals that are far too short.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.codes import numbered_by_appearance
from calibration.statistics.errors import NoStatistic

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = Sequence[Hashable] | NDArray[np.generic]
IntervalKind: TypeAlias = Literal["bootstrap95", "leave_one_out_range", "none"]
CountedStatistic: TypeAlias = Callable[[FloatArray], tuple[FloatArray, BoolArray]]
"""Counts (draws, clusters) -> values (draws, quantities) and whether each draw defines them (draws,)."""

MIN_CLUSTERS = 20
"""With fewer clusters, no 95 % interval is stated, because too few draws differ for its ends to be reliable."""

COUNTS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Intervals:
    """Ends of the intervals of several quantities, resampled together.

    `kind` is "bootstrap95" (expanded percentile bootstrap over `clusters` whole clusters, `draws`
    usable draws), "leave_one_out_range" (smallest and largest value when one cluster is left out; no
    probability is attached to it) or "none" (not asked for, or a single cluster: the ends repeat the value).
    """

    low: FloatArray
    high: FloatArray
    kind: IntervalKind
    clusters: int
    draws: int


def cluster_codes(labels: Labels) -> tuple[IntArray, int]:
    """Number any hashable labels 0..k-1 in order of first appearance; returns codes and k."""
    array = np.asarray(labels) if isinstance(labels, np.ndarray) else None
    if array is not None and array.dtype.kind in "iub":
        return numbered_by_appearance(array.astype(np.int64))
    known: dict[Hashable, int] = {}
    numbered = [known.setdefault(label, len(known)) for label in (labels if array is None else array.tolist())]
    return np.asarray(numbered, dtype=np.int64), len(known)


def bootstrap_counts(clusters: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """How often each of `clusters` clusters enters each draw with replacement: (draws, clusters), rows sum to k."""
    picked = rng.integers(0, clusters, size=(draws, clusters))
    picked += np.arange(draws)[:, None] * clusters
    flat = np.bincount(picked.reshape(-1), minlength=draws * clusters)
    return flat.reshape(draws, clusters).astype(np.float64)


def cluster_intervals(
    statistic: CountedStatistic, clusters: int, *, draws: int, seed: int, min_clusters: int = MIN_CLUSTERS
) -> tuple[FloatArray, Intervals]:
    """Value and interval of every quantity of `statistic` over whole clusters.

    With at least `min_clusters` clusters: the expanded percentile bootstrap (see percentile_ends). With fewer:
    the range over leaving one cluster out. Draws on which the statistic is undefined are dropped, and `draws`
    counts those kept; where fewer than half are kept the range is given instead. Raises NoStatistic when
    the statistic is undefined on the data themselves.
    """
    values, defined = statistic(np.ones((1, clusters)))
    if not defined[0]:
        raise NoStatistic("The quantity is undefined on these ratings: nothing in them varies as it needs.")
    point = values[0]
    if draws == 0 or clusters < 2:
        return point, Intervals(point, point, "none", clusters, 0)
    if clusters < min_clusters:
        return point, _leave_one_out_range(statistic, point, clusters)
    rng = np.random.default_rng(seed)
    kept = []
    at_once = max(1, COUNTS_AT_ONCE // clusters)
    for start in range(0, draws, at_once):
        drawn, usable = statistic(bootstrap_counts(clusters, min(at_once, draws - start), rng))
        kept.append(drawn[usable])
    sample = np.concatenate(kept)
    if len(sample) < draws / 2:
        return point, _leave_one_out_range(statistic, point, clusters)
    low, high = percentile_ends(sample, clusters)
    return point, Intervals(low, high, "bootstrap95", clusters, len(sample))


def percentile_ends(sample: FloatArray, clusters: int) -> tuple[FloatArray, FloatArray]:
    """Ends of the 95 % interval of each column of `sample` (draws, quantities), a bootstrap over k clusters.

    The expanded percentile interval (Hesterberg 2015, arXiv 1411.5279): quantiles not at -1.96 and 1.96 standard normal
    scores but at those of t(k - 1) times sqrt(k/(k - 1)), because a bootstrap spreads too little by that factor.
    """
    from scipy.special import ndtr, stdtrit

    reach = float(stdtrit(clusters - 1, 0.975)) * np.sqrt(clusters / (clusters - 1))
    low, high = np.quantile(sample, [ndtr(-reach), ndtr(reach)], axis=0)
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def _leave_one_out_range(statistic: CountedStatistic, point: FloatArray, clusters: int) -> Intervals:
    values, defined = statistic(1.0 - np.eye(clusters))
    if not defined.any():
        return Intervals(point, point, "none", clusters, 0)
    left = values[defined]
    return Intervals(left.min(axis=0), left.max(axis=0), "leave_one_out_range", clusters, 0)

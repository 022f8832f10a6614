"""Ratings as tables: how often each label was given to each task, and which cluster each task lies in. PURE."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.codes import numbered
from calibration.statistics.errors import NoStatistic, TooFewRatings
from calibration.statistics.resampling import CountedStatistic, FloatArray, IntArray, Labels, cluster_codes
from calibration.statistics.ties import settle_ties

DENSE_SLACK = 4096
MANY = 50_000
"""Numbers from which a product with a sparse matrix sums faster than one count for each column."""


@dataclass(frozen=True)
class TableSums:
    """A coefficient of agreement as a function of sums over units.

    adds(table (m, levels)) -> (m, k) what units add; values(sums (n, k)) -> the coefficient, the observed and the expected
    (dis)agreement (n, 3), and whether they are defined (n,).
    """

    adds: Callable[[FloatArray], FloatArray]
    values: CountedStatistic


def check_codes(what: str, codes: NDArray[np.integer] | Sequence[int]) -> IntArray:
    """Codes as a flat integer array. Raises TooFewRatings when empty, ValueError for a negative or fractional code."""
    array = np.asarray(codes)
    if array.size == 0:
        raise TooFewRatings(0, 1, "answers")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be a flat array of integer codes, found {array.dtype} {array.shape}.")
    if int(array.min()) < 0:
        raise ValueError(f"{what} must be codes from 0 up, found {int(array.min())}; drop missing ones first.")
    return array.astype(np.int64, copy=False)


def compact(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Codes renumbered without gaps where the gaps would make a table far larger than its ratings.

    Returns the codes to index a table with and, for each of its lines, the code given.
    """
    highest = int(codes.max())
    if highest < 4 * codes.size + DENSE_SLACK:
        return codes, np.arange(highest + 1)
    return numbered(codes)


def count_table(lines: IntArray, columns: IntArray) -> IntArray:
    """How often each pair of codes occurs: (highest line + 1, highest column + 1)."""
    if lines.shape != columns.shape:
        raise ValueError(f"{lines.size} tasks for {columns.size} labels; give one task for each label.")
    width = int(columns.max()) + 1
    height = int(lines.max()) + 1
    flat = np.bincount(lines * width + columns, minlength=height * width)
    return flat.reshape(height, width).astype(np.int64, copy=False)


def level_codes(values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Each value's place among the distinct values, and those values in ascending order; rounding tells none apart.

    Raises NoStatistic where a value is not finite.
    """
    if not np.isfinite(values).all():
        raise NoStatistic("Ratings must be finite numbers; leave out the ones that are missing.")
    whole = values.astype(np.int64) if np.abs(values).max(initial=0.0) < DENSE_SLACK else None
    if whole is not None and bool((whole == values).all()):
        # Counting is several times faster than sorting, and most scales are whole numbers.
        low = int(whole.min())
        used = np.flatnonzero(np.bincount(whole - low))
        place = np.zeros(int(used[-1]) + 1, dtype=np.int64)
        place[used] = np.arange(used.size)
        return place[whole - low], (used + low).astype(np.float64)
    levels, places = np.unique(settle_ties(values), return_inverse=True)
    return places.reshape(-1).astype(np.int64), levels


def task_clusters(lines: IntArray, height: int, clusters: Labels | None, kept: IntArray) -> tuple[IntArray, int]:
    """Cluster code of each kept task, and how many clusters those are.

    `clusters` labels each rating, like `lines`; without it every task is its own cluster. Raises ValueError for
    a task whose ratings lie in different clusters.
    """
    if clusters is None:
        return np.arange(kept.size), int(kept.size)
    if len(clusters) != lines.size:
        raise ValueError(f"{len(clusters)} cluster labels for {lines.size} ratings; give one for each.")
    by_rating, _ = cluster_codes(clusters)
    by_task = np.zeros(height, dtype=np.int64)
    by_task[lines] = by_rating
    if (by_task[lines] != by_rating).any():
        raise ValueError("Ratings of one task carry different clusters; a task belongs to one.")
    return cluster_codes(by_task[kept])


def sum_by(codes: IntArray, groups: int, values: FloatArray) -> FloatArray:
    """Sums of `values` (n,) or (n, q) over the lines of each code: (groups,) or (groups, q)."""
    if values.ndim == 1:
        return np.bincount(codes, weights=values, minlength=groups).astype(np.float64, copy=False)
    if values.shape[1] > 1 and values.size > MANY:
        from scipy.sparse import csr_array

        members = csr_array((np.ones(codes.size), codes, np.arange(codes.size + 1)), shape=(codes.size, groups))
        return np.asarray(members.T @ values, dtype=np.float64)
    return np.column_stack([np.bincount(codes, weights=column, minlength=groups) for column in values.T])


def with_two_raters(counts: IntArray) -> IntArray:
    """Lines of a count table that hold at least two ratings. Raises TooFewRatings when there is none."""
    raters = counts.sum(axis=1)
    kept = np.flatnonzero(raters >= 2)
    if not kept.size:
        raise TooFewRatings(int(raters.max(initial=0)), 2, "ratings of the same task")
    return kept

"""A proportion of answers with an interval that is also valid at 0 and 1. PURE."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.codes import numbered
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, Labels, cluster_codes

ProportionInterval: TypeAlias = Literal["wilson95", "leave_one_out_range", "none"]

FEW_EVENTS = 5.0

REACH = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""


@dataclass(frozen=True)
class Proportion:
    """`hits` of `n` in `clusters` clusters, value = hits/n in 0..1.

    `interval_kind` "wilson95" is Wilson's 95 % interval: of n where every cluster holds one entry, otherwise of
    `effective_n`, the number of independent entries that would be as uncertain. "leave_one_out_range" is the range
    over leaving one cluster out, given under 20 clusters of several entries; "none": a single cluster of several
    entries, the ends repeat the value.
    """

    value: float
    low: float
    high: float
    interval_kind: ProportionInterval
    hits: int
    n: int
    clusters: int
    effective_n: float


def wilson_ends(value: float, n: float) -> tuple[float, float]:
    """Wilson's (1927) 95 % interval of a proportion of n > 0 independent entries; n need not be whole."""
    low, high = _wilson(np.float64(value), np.float64(n))
    return float(low), float(high)


def _wilson(value: FloatArray | np.float64, n: FloatArray | np.float64) -> tuple[FloatArray, FloatArray]:
    squared = REACH**2
    centre = (value + squared / (2 * n)) / (1 + squared / n)
    half = REACH / (1 + squared / n) * np.sqrt(value * (1 - value) / n + squared / (4 * n * n))
    return np.minimum(value, np.maximum(0.0, centre - half)), np.maximum(value, np.minimum(1.0, centre + half))


def plain_proportion(hits: int, n: int) -> Proportion:
    """The proportion of n independent entries. Raises TooFewRatings when n is 0."""
    if n < 1:
        raise TooFewRatings(n, 1, "answers")
    value = hits / n
    low, high = wilson_ends(value, n)
    return Proportion(value, low, high, "wilson95", int(hits), int(n), int(n), float(n))


def clustered_proportions(hit: BoolArray, groups: Labels, clusters: Labels) -> dict[Hashable, Proportion]:
    """The proportion of each group of entries, in order of first appearance; hit, groups and clusters are (n,).

    With several entries in a cluster the variance of the ratio hits/n over whole clusters gives the effective
    number of entries (never above n); at a proportion of 0 or 1, where that variance says nothing, it is the number
    of clusters. Student's t with clusters - 1 degrees of freedom takes the place of the normal.
    """
    right = np.asarray(hit, dtype=np.float64)
    if not len(groups) == len(clusters) == right.size:
        raise ValueError(
            f"{right.size} answers, {len(groups)} groups, {len(clusters)} clusters; give one for each answer."
        )
    if not right.size:
        raise TooFewRatings(0, 1, "answers")
    owner, count = cluster_codes(groups)
    cluster, width = cluster_codes(clusters)
    cell_of, cells = numbered(owner * width + cluster)
    cell_hits = sum_by(cell_of, len(cells), right)
    cell_n = sum_by(cell_of, len(cells), np.ones_like(right))
    starts = np.searchsorted(cells // width, np.arange(count))
    found = _clustered(cell_hits, cell_n, starts)
    return {name: found[code] for name, code in first_labels(groups, owner, count)}


def first_labels(labels: Labels, codes: IntArray, count: int) -> list[tuple[Hashable, int]]:
    """Each label with its code, as cluster_codes numbered them."""
    first = np.full(count, len(codes), dtype=np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    plain = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return [(plain[int(place)], code) for code, place in enumerate(first)]


def wilson_ends_of_clusters(hits: FloatArray, entries: FloatArray) -> tuple[float, float]:
    """Ends as in clustered_proportions, of `hits` of `entries` in each of 20 clusters or more, both (k,)."""
    if len(entries) < MIN_CLUSTERS:
        raise TooFewRatings(len(entries), MIN_CLUSTERS, "clusters")
    (found,) = _clustered(hits, entries, np.zeros(1, dtype=np.int64))
    return found.low, found.high


def p_against(found: Proportion, share: float) -> float | None:
    """Two-sided p of a true share (0 < share < 1), which inverts the Wilson interval; None where none is stated."""
    from scipy.special import ndtr, stdtr

    if found.interval_kind != "wilson95":
        return None
    apart = abs(found.value - share) / float(np.sqrt(share * (1 - share) / found.effective_n))
    if found.clusters == found.n:
        return float(2 * ndtr(-apart))
    return float(2 * stdtr(found.clusters - 1, -apart))


def share_ends_of_clusters(sums: FloatArray, entries: FloatArray) -> tuple[float, float]:
    """Ends of a mean of numbers between 0 and 1, given their sums and their number in each of 20 clusters or more (k,).

    Wilson's interval of as many independent answers as would be as uncertain; of k where nothing varies.
    """
    from scipy.special import stdtrit

    k, n = len(entries), float(entries.sum())
    if k < MIN_CLUSTERS:
        raise TooFewRatings(k, MIN_CLUSTERS, "clusters")
    value = min(1.0, max(0.0, float(sums.sum()) / n))
    variance = k / (k - 1) * float(((sums - value * entries) ** 2).sum()) / n**2
    effective = effective_answers(value, variance, float(k), n)
    return wilson_ends(value, effective * (REACH / float(stdtrit(k - 1, 0.975))) ** 2)


def effective_answers(share: float, variance: float, clusters: float, entries: float) -> float:
    """How many independent answers would be as uncertain as a share with this variance over clusters.

    As many as there are clusters where nothing varies. Where fewer than FEW_EVENTS entries tell the share from 0 or 1, its
    variance is too uncertain to count for more answers than there are entries.
    """
    spread = share * (1 - share)
    if variance <= 1e-15 or spread <= 1e-15:
        return max(1.0, clusters)
    found = spread / variance
    return max(1.0, min(found, entries) if entries * spread < FEW_EVENTS else found)


def _clustered(hits: FloatArray, entries: FloatArray, starts: IntArray) -> list[Proportion]:
    """The proportion of each group of clusters with `hits` of `entries` each, both (k,), which begin at `starts` (g,)."""
    from scipy.special import stdtrit

    k = np.diff(np.append(starts, len(entries)))
    group = np.repeat(np.arange(len(starts)), k)
    n, right = np.add.reduceat(entries, starts), np.add.reduceat(hits, starts)
    value = right / n
    variance = np.add.reduceat((hits - value[group] * entries) ** 2, starts) * k / np.maximum(k - 1, 1) / n**2
    varies = (right > 0) & (right < n)
    independent = np.divide(value * (1 - value), variance, out=n.copy(), where=variance > 0)
    effective = np.where(varies, np.maximum(1.0, np.minimum(n, independent)), k)
    reach = np.asarray(stdtrit(np.maximum(k - 1, 1), 0.975), dtype=np.float64)
    low, high = _wilson(value, np.where(k == n, n, effective * (REACH / reach) ** 2))
    few = (k < MIN_CLUSTERS) & (k > 1)
    left = np.divide(right[group] - hits, n[group] - entries, out=value[group], where=few[group])
    low, high = (
        np.where(few, np.minimum.reduceat(left, starts), low),
        np.where(few, np.maximum.reduceat(left, starts), high),
    )
    found = []
    for clusters, answers, correct, own, least, most, alike in zip(
        k.tolist(),
        n.tolist(),
        right.tolist(),
        value.tolist(),
        low.tolist(),
        high.tolist(),
        effective.tolist(),
        strict=True,
    ):
        if clusters == answers:
            found.append(plain_proportion(int(correct), int(answers)))
        elif clusters == 1:
            found.append(Proportion(own, own, own, "none", int(correct), int(answers), 1, 1.0))
        else:
            kind: ProportionInterval = "leave_one_out_range" if clusters < MIN_CLUSTERS else "wilson95"
            found.append(Proportion(own, least, most, kind, int(correct), int(answers), clusters, alike))
    return found

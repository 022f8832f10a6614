"""Means and shares with intervals over whole clusters. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import ProportionInterval, wilson_ends_of_clusters
from calibration.statistics.resampling import (
    BoolArray,
    FloatArray,
    IntervalKind,
    Labels,
    cluster_codes,
    cluster_intervals,
)

ShareInterval: TypeAlias = IntervalKind | ProportionInterval


@dataclass(frozen=True)
class Share:
    """A share, a mean or a difference of shares, with its ends over whole clusters.

    Where a share of entries that hold or do not has ends of 95 %, they are Wilson's ("wilson95", see proportions.py): a
    bootstrap of few entries that do not hold covers far less, 80 % at 2 in 60.
    """

    value: float
    low: float
    high: float
    interval_kind: ShareInterval
    clusters: int
    draws: int


def mean_shares(
    parts: Sequence[BoolArray | FloatArray], clusters: Labels | None, *, draws: int, seed: int
) -> tuple[Share, ...]:
    """Compute the mean of each array (n,), all resampled together; without clusters every entry is its own cluster.

    The mean of a boolean array is a share of true entries.
    """
    n = parts[0].size
    if clusters is not None and len(clusters) != n:
        raise ValueError(f"{len(clusters)} cluster labels for {n} entries; give one for each.")
    codes, k = (np.arange(n), n) if clusters is None else cluster_codes(clusters)
    columns = [*parts, np.ones(n)]
    sums: FloatArray = np.column_stack([np.bincount(codes, weights=column, minlength=k) for column in columns]).astype(
        np.float64
    )

    def statistic(counts: FloatArray) -> tuple[FloatArray, BoolArray]:
        drawn = counts @ sums
        return drawn[:, :-1] / drawn[:, -1:], np.ones(len(drawn), dtype=np.bool_)

    values, ends = cluster_intervals(statistic, k, draws=draws, seed=seed)
    found = []
    for place, part in enumerate(parts):
        value, low, high = float(values[place]), float(ends.low[place]), float(ends.high[place])
        if part.dtype == np.bool_ and ends.kind == "bootstrap95":
            low, high = wilson_ends_of_clusters(sums[:, place], sums[:, -1])
            found.append(Share(value, low, high, "wilson95", ends.clusters, 0))
        else:
            found.append(Share(value, low, high, ends.kind, ends.clusters, ends.draws))
    return tuple(found)


def chosen(clusters: Labels | None, mask: BoolArray) -> Labels | None:
    """Return the cluster labels where `mask` is true."""
    if clusters is None:
        return None
    if len(clusters) != mask.size:
        raise ValueError(f"{len(clusters)} cluster labels for {mask.size} entries; give one for each.")
    codes, _ = cluster_codes(clusters)
    return codes[mask]

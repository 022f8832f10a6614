"""Means and shares with intervals over whole clusters. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.resampling import (
    BoolArray,
    FloatArray,
    IntervalKind,
    Labels,
    cluster_codes,
    cluster_intervals,
)


@dataclass(frozen=True)
class Share:
    """A share, a mean or a difference of shares, with its ends over whole clusters."""

    value: float
    low: float
    high: float
    interval_kind: IntervalKind
    clusters: int
    draws: int


def mean_shares(
    parts: Sequence[BoolArray | FloatArray], clusters: Labels | None, *, draws: int, seed: int
) -> tuple[Share, ...]:
    """The mean of each array (n,), all resampled together; without clusters every entry is its own."""
    n = parts[0].size
    if clusters is not None and len(clusters) != n:
        raise ValueError(f"{len(clusters)} cluster labels for {n} entries; give one for each.")
    codes, k = (np.arange(n), n) if clusters is None else cluster_codes(clusters)
    columns = [*parts, np.ones(n)]
    sums = np.column_stack([np.bincount(codes, weights=column, minlength=k) for column in columns])

    def statistic(counts: FloatArray) -> tuple[FloatArray, BoolArray]:
        drawn = counts @ sums
        return drawn[:, :-1] / drawn[:, -1:], np.ones(len(drawn), dtype=np.bool_)

    values, ends = cluster_intervals(statistic, k, draws=draws, seed=seed)
    return tuple(
        Share(float(value), float(low), float(high), ends.kind, ends.clusters, ends.draws)
        for value, low, high in zip(values, ends.low, ends.high, strict=True)
    )


def chosen(clusters: Labels | None, mask: BoolArray) -> Labels | None:
    """The cluster labels where `mask` holds."""
    if clusters is None:
        return None
    if len(clusters) != mask.size:
        raise ValueError(f"{len(clusters)} cluster labels for {mask.size} entries; give one for each.")
    codes, _ = cluster_codes(clusters)
    return codes[mask]

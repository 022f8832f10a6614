"""Ranks, and the ranks that resampling leaves possible for each model. PURE.

Marginal confidence sets of Mogstad, Romano, Shaikh and Wilhelm (2024): models count as ahead or behind where their
difference leaves 0 outside an interval that is simultaneous over all rivals of the model.
"""

import numpy as np

from calibration.resampling import FloatArray, IntArray, IntervalKind


def ranks(strength: FloatArray) -> IntArray:
    """1 + the number of larger entries along the last axis; equal entries share the better rank."""
    return np.asarray(1 + (strength[..., None, :] > strength[..., :, None]).sum(axis=-1), dtype=np.int64)


def rank_ends(
    point: FloatArray, sample: FloatArray, kind: IntervalKind, clusters: int
) -> tuple[IntArray, IntArray]:
    """Smallest and largest rank (k,) of each model that the sample (draws, k) around point (k,) leaves possible."""
    k = len(point)
    if kind == "leave_one_out_range":
        drawn = ranks(sample)
        return drawn.min(axis=0), drawn.max(axis=0)
    if kind == "none":
        return ranks(point), ranks(point)
    difference = point[:, None] - point[None, :]
    low = np.ones(k, dtype=np.int64)
    high = np.full(k, k, dtype=np.int64)
    for model in range(k):
        around = sample[:, model, None] - sample - difference[model]
        spread = np.sqrt((around**2).mean(axis=0) * clusters / (clusters - 1))
        rivals = np.flatnonzero(spread > 0)
        reach = (
            np.quantile(np.abs(around[:, rivals] / spread[rivals]).max(axis=1), 0.95) if rivals.size else 0.0
        )
        low[model] += int((difference[model] < -reach * spread).sum())
        high[model] -= int((difference[model] > reach * spread).sum())
    return low, high


def ahead_chances(sample: FloatArray) -> FloatArray:
    """Share (k, k) of the draws (draws, k) in which the line's model is above the column's, 0.5 on the diagonal.

    (hits + 1/2)/(draws + 1), so never quite 0 or 1.
    """
    hits = (sample[:, :, None] > sample[:, None, :]).sum(axis=0)
    level = (sample[:, :, None] == sample[:, None, :]).sum(axis=0)
    return np.asarray((hits + level / 2 + 0.5) / (len(sample) + 1), dtype=np.float64)

"""Ranks, and the ranks that resampling leaves possible for each model. PURE.

Marginal confidence sets of Mogstad, Romano, Shaikh and Wilhelm (2024): models count as ahead or behind where their
difference leaves 0 outside an interval that is simultaneous over all rivals of the model.
"""

import numpy as np

from calibration.statistics.resampling import BoolArray, FloatArray, IntArray, IntervalKind
from calibration.statistics.ties import margin


def ranks(strength: FloatArray) -> IntArray:
    """1 + the number of larger entries along the last axis; entries equal but for rounding share the better rank."""
    reached = strength + margin(strength)
    return np.asarray(1 + (strength[..., None, :] > reached[..., :, None]).sum(axis=-1), dtype=np.int64)


def ranks_among(strength: FloatArray, ranked: BoolArray) -> IntArray:
    """The same among the models that are ranked, a mask (k,) over the last axis; 0 for the others."""
    found = np.zeros(strength.shape, dtype=np.int64)
    found[..., ranked] = ranks(strength[..., ranked])
    return found


def rank_ends(point: FloatArray, sample: FloatArray, kind: IntervalKind, clusters: int) -> tuple[IntArray, IntArray]:
    """Smallest and largest rank (k,) of each model that the sample (draws, k) around point (k,) leaves possible.

    Without a sample (kind "none") nothing is known of any rank, so each may be any from 1 to k.
    """
    k = len(point)
    if kind == "leave_one_out_range":
        drawn = ranks(sample)
        return drawn.min(axis=0), drawn.max(axis=0)
    if kind == "none":
        return ends_of(np.zeros((k, k), dtype=np.int64))
    return ends_of(clear_by_draws(point, sample, np.full(k, clusters)))


def ends_of(clear: IntArray) -> tuple[IntArray, IntArray]:
    """Smallest and largest rank (k,) where clear (k, k) is 1 if the line's model is clearly ahead of the column's,
    -1 if clearly behind, and 0 if neither can be told."""
    low = 1 + (clear < 0).sum(axis=1)
    high = len(clear) - (clear > 0).sum(axis=1)
    return low.astype(np.int64), high.astype(np.int64)


def clear_by_draws(point: FloatArray, sample: FloatArray, clusters: IntArray) -> IntArray:
    """Who is clearly ahead (1) or behind (-1) of whom, (k, k), by a bootstrap (draws, k) over each model's clusters (k,).

    The intervals of a line's differences hold all at once with 95 %.
    """
    k = len(point)
    difference = point[:, None] - point[None, :]
    fewer = np.minimum(clusters[:, None], clusters[None, :])
    clear = np.zeros((k, k), dtype=np.int64)
    rounding = float(margin(point)[0])
    for model in range(k):
        around = sample[:, model, None] - sample - difference[model]
        spread = np.sqrt((around**2).mean(axis=0) * fewer[model] / (fewer[model] - 1))
        rivals = np.flatnonzero(spread > rounding)
        reach = np.quantile(np.abs(around[:, rivals] / spread[rivals]).max(axis=1), 0.95) if rivals.size else 0.0
        least = reach * spread + rounding
        ahead, behind = difference[model] > least, difference[model] < -least
        clear[model] = ahead.astype(np.int64) - behind
    return clear


def clear_by_leaving_out(point: FloatArray, sample: FloatArray) -> IntArray:
    """The same where the difference keeps its sign whichever cluster is left out: sample (clusters, k), no probability."""
    rounding = margin(point)[0]
    difference = _signs(point[:, None] - point[None, :], rounding)
    for model in range(len(point)):
        left = _signs(sample[:, model, None] - sample, rounding)
        difference[model] *= (left == difference[model]).all(axis=0)
    return difference


def _signs(differences: FloatArray, rounding: float) -> IntArray:
    """-1, 0 or 1; a difference within `rounding` is none."""
    return np.where(np.abs(differences) <= rounding, 0, np.sign(differences)).astype(np.int64)

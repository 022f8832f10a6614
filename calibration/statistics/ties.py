"""Equality of numbers: means of the same answers differ in their last digits by the order in which they are added.

PURE. 8.6 and 8.600000000000001 are the same score. All code that ranks, counts matches or names a best value decides ties
here, so that neither the order of rows nor the rounding of a sum changes a rank.
"""

import numpy as np

from calibration.statistics.resampling import FloatArray, IntArray

OWN, LARGEST = 1e-9, 1e-11
"""Two numbers are equal if they differ by at most 1e-9 of the larger one, or by 1e-11 of the largest of all (or of 1)."""


def settle_ties(values: FloatArray) -> FloatArray:
    """Replace finite values (n,) that are equal except for rounding by the smallest of them."""
    array = np.asarray(values, dtype=np.float64)
    if array.size < 2:
        return array
    levels, place = np.unique(array, return_inverse=True)
    size = np.abs(levels)
    reach = OWN * np.maximum(size[1:], size[:-1]) + LARGEST * max(1.0, float(size.max()))
    fresh = np.concatenate([[True], np.diff(levels) > reach])
    if fresh.all():
        return array
    group = np.cumsum(fresh) - 1
    return np.asarray(levels[fresh][group][place.reshape(-1)], dtype=np.float64)


def level_places(values: FloatArray) -> IntArray:
    """Each value's place (n,) among the distinct ones in ascending order."""
    return np.unique(settle_ties(values), return_inverse=True)[1].reshape(-1).astype(np.int64)


def mean_ranks(values: FloatArray) -> FloatArray:
    """Ranks (n,) from 1, the smallest first; values that are exactly equal share the mean of theirs."""
    _, place, times = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(times) - (times - 1) / 2)[place.reshape(-1)], dtype=np.float64)


def descending(values: FloatArray) -> IntArray:
    """Places (n,) of the values, the largest first; equal ones keep their order."""
    return np.argsort(-settle_ties(values), kind="stable").astype(np.int64)


def margin(values: FloatArray) -> FloatArray:
    """By how much one number must lie above another of its line to be larger: (..., 1) for values (..., n)."""
    largest = np.abs(values).max(axis=-1, keepdims=True, initial=LARGEST / OWN)
    return np.asarray(OWN * largest, dtype=np.float64)

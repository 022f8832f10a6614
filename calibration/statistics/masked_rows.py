"""Correlations and slopes of many subsets of the same scores at once, a subset a row. PURE.

x, y and `mask` are (b, n), or x (n,) where all rows share it; a row uses the scores that its mask marks. A result is nan
where a row's scores do not vary as it needs.
"""

import numpy as np

from calibration.statistics.resampling import BoolArray, FloatArray, IntArray

LEAST_FOR_SLOPE = 3
SMALL = 1e-12
MOST_FOR_SIGNS = 256
"""Up to this many scores, the signs of all their differences are quicker than scipy's sorting."""


def product(x: FloatArray, y: FloatArray, mask: BoolArray) -> FloatArray:
    """Pearson's r (b,)."""
    a, b = _centred(x, mask), _centred(y, mask)
    return _cosine(a, b, _varies(x, mask) & _varies(y, mask))


def product_within(x: FloatArray, y: FloatArray, mask: BoolArray, groups: IntArray) -> FloatArray:
    """Pearson's r (b,) of what is left without the means of the groups (n,), codes from 0 up; nan with a single group."""
    present = _in_groups(mask.astype(np.float64), groups)[0] > 0
    a, b = centred_within(x, mask, groups), centred_within(y, mask, groups)
    least = np.minimum((a * a).sum(axis=1), (b * b).sum(axis=1))
    squares = [(np.where(mask, values, 0.0) ** 2).sum(axis=1) for values in (x, y)]
    most = np.maximum(np.maximum(*squares), 1.0)
    return _cosine(a, b, (present.sum(axis=1) > 1) & (least > SMALL * most))


def slope(x: FloatArray, y: FloatArray, mask: BoolArray, groups: IntArray | None = None) -> FloatArray:
    """The least-squares slope (b,) of y on x, within groups (n,) if there are any."""
    a = _centred(x, mask) if groups is None else centred_within(x, mask, groups)
    n, spread = mask.sum(axis=1), (a * a).sum(axis=1)
    defined = (n >= LEAST_FOR_SLOPE) & (spread > SMALL * n)
    along = (a * np.where(mask, y, 0.0)).sum(axis=1)
    return _quotient(along, spread, defined)


def mean_difference(x: FloatArray, y: FloatArray, mask: BoolArray) -> FloatArray:
    """The mean (b,) of x - y."""
    n = mask.sum(axis=1)
    return _quotient(np.where(mask, x - y, 0.0).sum(axis=1), n, n > 0)


def ranks(values: FloatArray, mask: BoolArray) -> FloatArray:
    """Mid-ranks (b, n) among the marked values; tied values share the mean of their ranks, unmarked ones have any number."""
    known = np.where(mask, values, np.inf)
    order = np.argsort(known, axis=1, kind="stable")
    in_order = np.take_along_axis(known, order, axis=1)
    n = known.shape[1]
    place = np.broadcast_to(np.arange(n), known.shape)
    starts = np.ones(known.shape, dtype=np.bool_)
    # inf equals inf, so that the unmarked ones at the end make one group, which no result reads.
    starts[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    ends = np.ones(known.shape, dtype=np.bool_)
    ends[:, :-1] = starts[:, 1:]
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, place, n - 1)[:, ::-1], axis=1)[:, ::-1]
    found = np.empty(known.shape)
    np.put_along_axis(found, order, (first + last) / 2 + 1, axis=1)
    return found


def tau(x: FloatArray, y: FloatArray, mask: BoolArray) -> FloatArray:
    """Kendall's tau-b (b,) of x (n,) with y (b, n)."""
    defined = _varies(x, mask) & _varies(y, mask)
    found = np.full(len(mask), np.nan)
    if x.size > MOST_FOR_SIGNS:
        from scipy.stats import kendalltau

        for row in np.flatnonzero(defined):
            found[row] = float(kendalltau(x[mask[row]], y[row, mask[row]]).statistic)
        return found
    signs = np.sign(x[:, None] - x[None, :]).astype(np.float32)
    for row in np.flatnonzero(defined):
        kept = mask[row]
        whole = bool(kept.all())
        ours = signs if whole else signs[np.ix_(kept, kept)]
        own = y[row] if whole else y[row, kept]
        theirs = np.sign(own[:, None] - own[None, :]).astype(np.float32)
        # Sums of up to 65,536 numbers of -1, 0 and 1, which single precision holds exactly.
        both = float(np.vdot(ours, theirs))
        found[row] = both / np.sqrt(float(np.vdot(ours, ours)) * float(np.vdot(theirs, theirs)))
    return found


def centred_within(values: FloatArray, mask: BoolArray, groups: IntArray) -> FloatArray:
    """The values (b, n) less the mean of their group, 0 where unmarked."""
    counts, places = _in_groups(mask.astype(np.float64), groups)
    sums, _ = _in_groups(np.where(mask, values, 0.0), groups)
    means = sums / np.maximum(counts, 1.0)
    return np.where(mask, values - means[:, places], 0.0)


def _in_groups(values: FloatArray, groups: IntArray) -> tuple[FloatArray, IntArray]:
    """Sums (b, g) of values (b, n) by group, and each column's group (n,) among those that occur."""
    codes, places = np.unique(groups, return_inverse=True)
    order = np.argsort(places.reshape(-1), kind="stable")
    starts = np.searchsorted(places.reshape(-1)[order], np.arange(codes.size))
    return np.add.reduceat(values[:, order], starts, axis=1), places.reshape(-1).astype(np.int64)


def _varies(values: FloatArray, mask: BoolArray) -> BoolArray:
    least = np.where(mask, values, np.inf).min(axis=1)
    return np.asarray(np.where(mask, values, -np.inf).max(axis=1) > least, dtype=np.bool_)


def _centred(values: FloatArray, mask: BoolArray) -> FloatArray:
    n = np.maximum(mask.sum(axis=1), 1)
    means = np.where(mask, values, 0.0).sum(axis=1) / n
    return np.where(mask, values - means[:, None], 0.0)


def _cosine(a: FloatArray, b: FloatArray, defined: BoolArray) -> FloatArray:
    along, norm = (a * b).sum(axis=1), np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return np.asarray(np.clip(_quotient(along, norm, defined & (norm > 0)), -1.0, 1.0), dtype=np.float64)


def _quotient(top: FloatArray, bottom: FloatArray | IntArray, defined: BoolArray) -> FloatArray:
    found = np.full(len(top), np.nan)
    np.divide(top, bottom, out=found, where=defined)
    return found

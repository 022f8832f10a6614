"""Confidence sequences for the mean of a bounded quantity over a finite set drawn in random order. PURE.

An interval that holds at every moment at once: whoever looks after each value and stops when they like is still wrong in at
most `error` of studies. By betting (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting",
JRSS B 86, sections 4 and 5, arXiv 2010.09686): a gambler who bets against a mean m that is true gains nothing on average, so
the capital is a non-negative martingale and exceeds 1/error with probability at most error (Ville's inequality).
"""

from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import out_of_range
from calibration.statistics.resampling import FloatArray

LARGEST_BET = 0.75
"""The share of the capital that may be lost at once, the paper's c."""
HORIZON = 1 / 3
"""Bets are sized for a decision after this share of the values: smaller bets decide later, larger ones risk more."""
ROUNDING = 1e-9
CELLS = 400


@dataclass(frozen=True)
class ConfidenceSequence:
    """The ends (t,) of the interval after each of the t values; they hold at all of these moments together."""

    low: FloatArray
    high: FloatArray


def log_capital(
    values: FloatArray, means: FloatArray, *, size: int, error: float, horizon: float | None = None
) -> FloatArray:
    """Logarithm of the capital after each value of who bets that the mean over all `size` values is above each of `means`.

    values (t, b) or (t, 1) in 0..1 in the order in which they were drawn without replacement from `size` values; means (b,).
    Returns (t, b). If the mean is at most m, the capital reaches 1/error at any time with probability at most error. inf
    where the values alone exclude m. The bets are the predictable plug-ins sqrt(2 log(2/a)/(v n)) with the variance v so
    far and n = `horizon`, a third of `size` unless stated, cut at 3/4 of the largest that cannot lose everything; the mean
    under m of what is still to be drawn is (size m - sum so far)/(number left). Raises Undefined (OutOfRange) for a
    value off 0..1.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.size and not (float(x.min()) >= -ROUNDING and float(x.max()) <= 1 + ROUNDING):
        raise out_of_range("The values", 0, 1, float(x.min() if x.min() < 0 else x.max()))
    x = np.clip(x, 0.0, 1.0)
    m = np.asarray(means, dtype=np.float64)
    t, width = len(x), max(x.shape[1], len(m))
    found = np.empty((t, width))
    log_k, total = np.zeros(width), np.zeros(x.shape[1])
    squares, reach = np.full(x.shape[1], 0.25), 2 * np.log(2 / error) / max(1.0, horizon or size * HORIZON)
    for place in range(t):
        left = size - place
        rest = (size * m - total) / left
        inside = np.clip(rest, ROUNDING, 1.0)
        bet = np.minimum(np.sqrt(reach * (place + 1) / squares), LARGEST_BET / inside)
        # A mean above 1 of what is left is impossible on the other side: nobody bets against it here.
        gain = np.where(rest > 1, 0.0, np.log1p(bet * (x[place] - inside)))
        log_k = log_k + gain
        total = total + x[place]
        mean = (0.5 + total) / (place + 2)
        squares = squares + (x[place] - mean) ** 2
        log_k = np.where(size * m < total - ROUNDING * (place + 1), np.inf, log_k)
        found[place] = log_k
    return found


def first_above(values: FloatArray, means: FloatArray, *, size: int, error: float) -> FloatArray:
    """After how many values (b,) the mean is claimed to be above each of `means`; inf where it is not. As log_capital."""
    if not len(values):
        return np.full(max(values.shape[1], len(means)), np.inf)
    reached = log_capital(values, means, size=size, error=error) >= np.log(1 / error)
    return np.where(reached.any(axis=0), reached.argmax(axis=0) + 1.0, np.inf)


def confidence_sequence(
    lowest: FloatArray, highest: FloatArray, *, size: int, error: float = 0.05
) -> ConfidenceSequence:
    """The interval of the mean over all `size` values after each of those drawn, at most `error` wrong at any time.

    lowest, highest (t,) in 0..1: the values, and where a value is missing the worst that it could be for either end. Half of
    the error is spent on each end, as by the hedged capital of the paper with theta 1/2. Ends are on a grid of 400 cells,
    outwards, and only ever come closer to each other.
    """
    low = _lower(np.asarray(lowest, dtype=np.float64), size, error / 2)
    high = 1 - _lower(1 - np.asarray(highest, dtype=np.float64), size, error / 2)
    return ConfidenceSequence(low, high)


def _lower(values: FloatArray, size: int, error: float) -> FloatArray:
    grid = np.linspace(0.0, 1.0, CELLS + 1)
    excluded = log_capital(values[:, None], grid, size=size, error=error) >= np.log(1 / error)
    excluded = np.logical_or.accumulate(excluded, axis=0)
    first_kept = np.argmin(np.column_stack([excluded, np.zeros(len(values), dtype=np.bool_)]), axis=1)
    on_grid = grid[np.maximum(first_kept - 1, 0)]
    # What was drawn bounds the mean by itself, and at the end is the mean.
    return np.maximum.accumulate(np.maximum(on_grid, np.cumsum(values) / size))

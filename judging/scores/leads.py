"""How far the first model of a board is ahead of each other one, on the instructions that both have. PURE.

Each instruction counts with the difference of the two models, so that its difficulty cancels out. The variance is a
jackknife over whole instructions, by category where the score is a mean of categories and every instruction is of one; the
interval has Student's t with Satterthwaite's degrees of freedom, and p inverts it. p is corrected for the number of models
compared with the first (Holm 1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.statistics.crossed import holm
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray, IntArray
from judging.scores.points import HELLOBENCH, PointsRule

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Lead:
    """The first model's score minus another's on their `n` common instructions, with 95 % ends of this one difference.

    `p`, two-sided, is corrected for all `compared` differences of the board's first model.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    compared: int

    @property
    def shown(self) -> bool:
        """Whether the first model is shown to be ahead."""
        return self.value > 0 and self.p < SIGNIFICANT


def leads_of(
    *,
    model: IntArray,
    category: IntArray,
    instruction: IntArray,
    points: FloatArray,
    leader: int,
    others: Sequence[int],
    under: FloatArray | None = None,
    rule: PointsRule = HELLOBENCH,
) -> dict[int, Lead]:
    """Return the leads over those of `others` with which the leader has 20 instructions or more in common.

    There is none either where a category has fewer than two of them and the score is a mean of categories. The correction
    is for all of `others`. Arrays have shape (n,).
    """
    categories, c = np.unique(category, return_inverse=True)
    instructions, i = np.unique(instruction, return_inverse=True)
    shape = len(instructions), len(categories)
    cell = i.reshape(-1) * shape[1] + c.reshape(-1)

    def tables(pk: int) -> tuple[FloatArray, FloatArray]:
        own = model == pk
        below = np.ones(len(points)) if under is None else under
        size = shape[0] * shape[1]
        tops, unders = (
            np.bincount(cell[own], weights=part[own], minlength=size).astype(np.float64) for part in (points, below)
        )
        return tops.reshape(shape), unders.reshape(shape)

    first = tables(leader)
    found = {
        pk: lead
        for pk in others
        if (lead := _lead(first, tables(pk), rule, categories.tolist(), len(others))) is not None
    }
    # A difference that is not stated counts as one that is not shown.
    raw = np.array([found[pk].p if pk in found else 1.0 for pk in others])
    return {pk: replace(found[pk], p=float(p)) for pk, p in zip(others, holm(raw), strict=True) if pk in found}


def _lead(
    first: tuple[FloatArray, FloatArray],
    other: tuple[FloatArray, FloatArray],
    rule: PointsRule,
    categories: Sequence[int],
    compared: int,
) -> Lead | None:
    from scipy.special import stdtr, stdtrit

    both = (first[1] > 0) & (other[1] > 0)
    there = both.any(axis=1)
    n = int(there.sum())
    if n < MIN_CLUSTERS:
        return None
    parts = [np.where(both, one, 0.0)[there] for one in (*first, *other)]
    totals = [part.sum(axis=0) for part in parts]
    if not rule.pooled and (both.sum(axis=0) < 2).any():
        return None

    def difference(sums: Sequence[FloatArray]) -> FloatArray:
        """From sums (..., categories) of points and what divides them, of the first model and of the other."""
        if rule.pooled:
            one, two = (top.sum(axis=-1) / below.sum(axis=-1) for top, below in (sums[:2], sums[2:]))
        else:
            shares = rule.shares(categories)
            one, two = (sums[0] / sums[1]) @ shares, (sums[2] / sums[3]) @ shares
        return np.asarray((one - two) * rule.stretch, dtype=np.float64)

    value = float(difference(totals))
    without = difference([total - part for total, part in zip(totals, parts, strict=True)])
    own = both[there]
    single = not rule.pooled and bool((own.sum(axis=1) == 1).all())
    stratum = own.argmax(axis=1) if single else np.zeros(n, dtype=np.int64)
    size = np.bincount(stratum)
    mean = np.bincount(stratum, weights=without) / size
    squares = np.bincount(stratum, weights=(without - mean[stratum]) ** 2)
    by_stratum = (size - 1) / size * squares
    variance = float(by_stratum.sum())
    if variance <= 1e-18 * max(1.0, value**2):
        # Every instruction gives the same difference: the sign test of as many.
        return Lead(value, value, value, min(1.0, 2 * 0.5**n) if value else 1.0, n, compared)
    freedom = variance**2 / float((by_stratum**2 / np.maximum(size - 1, 1)).sum())
    half = float(stdtrit(freedom, 0.975)) * variance**0.5
    p = float(2 * stdtr(freedom, -abs(value) / variance**0.5))
    return Lead(value, value - half, value + half, p, n, compared)

"""How far each model of a board is ahead of each other one, on the instructions that both have, and the ranks left. PURE.

Each instruction counts with the difference of the two models, so that its difficulty cancels out. The variance is a
jackknife over whole instructions, by category where the score is a mean of categories and every instruction is of one; the
interval has Student's t with Satterthwaite's degrees of freedom, and p inverts it. p is corrected for all pairs of ranked
models (Holm 1979), so that who leads and which ranks are left possible follow from the same comparisons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from calibration.statistics.crossed import holm
from calibration.statistics.ranking.rank_intervals import ends_of
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray, IntArray
from judging.scores.points import HELLOBENCH, PointsRule

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Lead:
    """One model's score minus another's on their `n` common instructions, with 95 % ends of this one difference.

    `p`, two-sided, is corrected for all `compared` pairs of ranked models.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    compared: int

    @property
    def shown(self) -> bool:
        """Whether the first of both models is shown to be ahead."""
        return self.value > 0 and self.p < SIGNIFICANT

    @property
    def side(self) -> int:
        """1 where the first of both is shown to be ahead, -1 where it is shown to be behind, 0 where neither is shown."""
        return 0 if self.p >= SIGNIFICANT else int(np.sign(self.value))


def comparisons_of(
    *,
    model: IntArray,
    category: IntArray,
    instruction: IntArray,
    points: FloatArray,
    models: Sequence[int],
    under: FloatArray | None = None,
    rule: PointsRule = HELLOBENCH,
) -> dict[tuple[int, int], Lead]:
    """Return how far each of `models` is ahead of each later one, where both have 20 instructions or more in common.

    There is none either where a category has fewer than two of them and the score is a mean of categories. The correction
    is for every pair of `models`. Arrays have shape (n,).
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

    known = {pk: tables(pk) for pk in models}
    pairs = list(combinations(models, 2))
    column = np.zeros(shape, dtype=np.bool_)
    column[i.reshape(-1), c.reshape(-1)] = True
    single = bool((column.sum(axis=1) == 1).all())
    if single:
        # Every instruction is of one category: a line an instruction says all, and a pair of models costs a tenth.
        known = {pk: (top.sum(axis=1), below.sum(axis=1)) for pk, (top, below) in known.items()}
    stratum = column.argmax(axis=1)
    found = {}
    for one, other in pairs:
        given = known[one], known[other], rule, categories.tolist(), len(pairs)
        lead = _lead_by_line(*given, stratum) if single else _lead(*given)
        if lead is not None:
            found[one, other] = lead
    # A difference that is not stated counts as one that is not shown.
    raw = np.array([found[pair].p if pair in found else 1.0 for pair in pairs])
    return {pair: replace(found[pair], p=float(p)) for pair, p in zip(pairs, holm(raw), strict=True) if pair in found}


def ranks_left(models: Sequence[int], comparisons: Mapping[tuple[int, int], Lead]) -> dict[int, tuple[int, int]]:
    """Return the smallest and the largest rank of each of `models`, all true at once with 95 %.

    A model's rank is 1 and the number of models that are better; those shown to be above and below it bound that.
    """
    place = {pk: at for at, pk in enumerate(models)}
    clear = np.zeros((len(models), len(models)), dtype=np.int64)
    for (one, other), lead in comparisons.items():
        clear[place[one], place[other]] = lead.side
        clear[place[other], place[one]] = -lead.side
    low, high = ends_of(clear)
    return dict(zip(models, zip(low.tolist(), high.tolist(), strict=True), strict=True))


def _lead(
    first: tuple[FloatArray, FloatArray],
    other: tuple[FloatArray, FloatArray],
    rule: PointsRule,
    categories: Sequence[int],
    compared: int,
) -> Lead | None:
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
    return _tested(value, by_stratum, size, n, compared)


def _lead_by_line(
    first: tuple[FloatArray, FloatArray],
    other: tuple[FloatArray, FloatArray],
    rule: PointsRule,
    categories: Sequence[int],
    compared: int,
    stratum: IntArray,
) -> Lead | None:
    """The same as _lead from one line an instruction: points and what divides them (n,), and its category (n,)."""
    there = np.flatnonzero((first[1] > 0) & (other[1] > 0))
    n = there.size
    if n < MIN_CLUSTERS:
        return None
    shares = np.ones(1) if rule.pooled else rule.shares(categories)
    group = np.zeros(n, dtype=np.int64) if rule.pooled else stratum[there]
    size = np.bincount(group, minlength=len(shares))
    if not rule.pooled and (size < 2).any():
        return None
    value, without = 0.0, np.zeros(n)
    for sign, (tops, belows) in ((1.0, first), (-1.0, other)):
        top, below = tops[there], belows[there]
        above, under = (np.bincount(group, weights=part, minlength=len(shares)) for part in (top, below))
        value += sign * rule.stretch * float((above / under) @ shares)
        without += sign * rule.stretch * shares[group] * (above[group] - top) / (under[group] - below)
    mean = np.bincount(group, weights=without) / size
    squares = np.bincount(group, weights=(without - mean[group]) ** 2)
    return _tested(value, (size - 1) / size * squares, size, n, compared)


def _tested(value: float, by_stratum: FloatArray, size: IntArray, n: int, compared: int) -> Lead:
    """The interval and p of a difference from the variances by stratum and the strata's numbers of instructions."""
    from scipy.special import stdtr, stdtrit

    variance = float(by_stratum.sum())
    if variance <= 1e-18 * max(1.0, value**2):
        # Every instruction gives the same difference: the sign test of as many.
        return Lead(value, value, value, min(1.0, 2 * 0.5**n) if value else 1.0, n, compared)
    freedom = variance**2 / float((by_stratum**2 / np.maximum(size - 1, 1)).sum())
    half = float(stdtrit(freedom, 0.975)) * variance**0.5
    p = float(2 * stdtr(freedom, -abs(value) / variance**0.5))
    return Lead(value, value - half, value + half, p, n, compared)

"""Models' means and their differences, for such raters and for these raters, and the ranks that are left possible. PURE.

Two models are compared on the instructions that both have: with n_i and n_j scores of an instruction, its difference of
means has the weight n_i n_j / (n_i + n_j), so that neither harder instructions nor more raters of one of them count for
a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.codes import numbered
from calibration.statistics.crossed import CellSums, Crossed, WhyNot, crossed_ratios, holm
from calibration.statistics.populations import NUMBERS_AT_ONCE
from calibration.statistics.ranking.comparisons import pair_indices
from calibration.statistics.ranking.rank_intervals import ends_of
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray, bootstrap_counts

SIGNIFICANT = 0.05
SKEWED_UNDER = 60
"""With fewer clusters, the ends of a mean follow the skew of its scores by a bootstrap of t."""
DRAWS = 1000


@dataclass(frozen=True)
class Difference:
    """How far one model is ahead of another (places `first` and `second`), on the `n` instructions that both have.

    Ends are None where they are not stated, for such raters because of `not_stated`. `p` inverts the first interval that is
    stated; `p_family` is corrected for all pairs of ranked models (Holm), and `shown` says that it is below .05. `needed`
    instructions would show a difference of this size with 80 % power, None where no number of them would.
    """

    first: int
    second: int
    value: float
    such_low: float | None
    such_high: float | None
    these_low: float | None
    these_high: float | None
    p: float | None
    p_family: float | None
    shown: bool
    n: int
    n_raters: int
    needed: int | None
    not_stated: WhyNot


@dataclass(frozen=True)
class ModelDifference:
    """How far `first` is ahead of `second`, the names of two models; the rest as in Difference."""

    first: str
    second: str
    value: float
    such_low: float | None
    such_high: float | None
    these_low: float | None
    these_high: float | None
    p: float | None
    p_family: float | None
    shown: bool
    n: int
    n_raters: int
    needed: int | None
    not_stated: WhyNot

    @property
    def low(self) -> float | None:
        """The lower end of the interval that decides."""
        return self.these_low if self.such_low is None else self.such_low


def crossed_means(
    scores: FloatArray, models: IntArray, instructions: IntArray, raters: IntArray | None
) -> tuple[Crossed, Crossed]:
    """The means of k models, and the differences of every two of them in the order of pair_indices.

    All (n,): scores, and codes from 0 up. A pair without a common instruction has the value nan. `raters` None: the data
    name no raters.
    """
    k, i = int(models.max()) + 1, int(instructions.max()) + 1
    r = 1 if raters is None else int(raters.max()) + 1
    persons = np.zeros_like(instructions) if raters is None else raters
    place, cell = numbered(instructions * r + persons)
    instruction, rater = cell // r, cell % r
    sums, sizes = (
        sum_by(place * k + models, len(cell) * k, values).reshape(-1, k) for values in (scores, np.ones_like(scores))
    )
    whole, count = sum_by(instruction, i, sums), sum_by(instruction, i, sizes)
    means = crossed_ratios(CellSums(whole, count, sums, sizes, instruction, rater))
    first, second = pair_indices(k)
    at_once = max(1, NUMBERS_AT_ONCE // max(1, len(cell)))
    left, left_count = whole[instruction] - sums, np.rint(count[instruction] - sizes)
    parts = []
    for start in range(0, len(first), at_once):
        pair = first[start : start + at_once], second[start : start + at_once]
        num, den = _contrasts(whole, np.rint(count), *pair)
        without_num, without_den = _contrasts(left, left_count, *pair)
        taken = num[instruction] - without_num, den[instruction] - without_den
        parts.append(crossed_ratios(CellSums(num, den, *taken, instruction, rater)))
    return means, Crossed.joined(parts)


def differences_shown(
    found: Crossed, ranked: BoolArray, *, positions: bool, exact: Mapping[int, float | None] | None = None
) -> list[Difference]:
    """Every pair of ranked models (a mask (k,)), with p corrected for their number; `found` is in the order of pair_indices.

    `positions`: the data number positions, not persons. `exact` gives the p of pairs without a finite estimate, by place;
    they have no ends.
    """
    first, second = pair_indices(len(ranked))
    kept = np.flatnonzero(ranked[first] & ranked[second])
    such = np.array([why is None for why in found.not_stated], dtype=np.bool_)
    enough = np.array([why != "few_instructions" for why in found.not_stated], dtype=np.bool_) & ~np.isnan(found.these)
    p = np.where(such, found.p_values(such=True), np.where(enough, found.p_values(such=False), np.nan))
    for pair, value in (exact or {}).items():
        p[pair] = np.nan if value is None else value
        such[pair] = enough[pair] = False
    family = np.full(len(p), np.nan)
    family[kept] = holm(p[kept])
    ends = found.ends(such=True), found.ends(such=False)

    def stated(values: FloatArray, known: BoolArray, place: int) -> float | None:
        return float(values[place]) if known[place] else None

    rows = []
    for place in kept.tolist():
        why: WhyNot = found.not_stated[place] or ""
        rows.append(
            Difference(
                first=int(first[place]),
                second=int(second[place]),
                value=float(found.value[place]) if found.n_instructions[place] else 0.0,
                such_low=stated(ends[0][0], such, place),
                such_high=stated(ends[0][1], such, place),
                these_low=stated(ends[1][0], enough, place),
                these_high=stated(ends[1][1], enough, place),
                p=None if np.isnan(p[place]) else float(p[place]),
                p_family=None if np.isnan(family[place]) else float(family[place]),
                shown=bool(family[place] < SIGNIFICANT),
                n=int(found.n_instructions[place]),
                n_raters=int(found.n_raters[place]),
                needed=found.needed(place) if enough[place] else None,
                not_stated="positions" if positions and why not in ("", "few_instructions") else why,
            )
        )
    return rows


def ranks_left(differences: Sequence[Difference], ranked: BoolArray) -> tuple[IntArray, IntArray]:
    """Smallest and largest rank (k,) of each ranked model, all true at once with 95 %; 0 for the others.

    A model is above or below another where their difference is shown after Holm's step-down correction for all pairs.
    """
    k = len(ranked)
    clear = np.zeros((k, k), dtype=np.int64)
    for row in differences:
        if row.shown:
            clear[row.first, row.second] = 1 if row.value > 0 else -1
            clear[row.second, row.first] = -clear[row.first, row.second]
    low, high = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    low[ranked], high[ranked] = ends_of(clear[np.ix_(ranked, ranked)])
    return low, high


def oriented(row: Difference, first: int) -> Difference:
    """The same difference with the model `first` before the other."""
    if row.first == first:
        return row

    def turned(value: float | None) -> float | None:
        return None if value is None else -value

    return Difference(
        first=row.second,
        second=row.first,
        value=-row.value,
        such_low=turned(row.such_high),
        such_high=turned(row.such_low),
        these_low=turned(row.these_high),
        these_high=turned(row.these_low),
        p=row.p,
        p_family=row.p_family,
        shown=row.shown,
        n=row.n,
        n_raters=row.n_raters,
        needed=row.needed,
        not_stated=row.not_stated,
    )


def skewed_reach(
    scores: FloatArray, models: IntArray, instructions: IntArray, *, draws: int = DRAWS, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Standard errors (k,) below and above each mean that a 95 % interval reaches, from the bootstrap of t (Efron 1981).

    Whole instructions are drawn again, and (mean* - mean)/error* taken in each draw; a mean of right-skewed scores reaches
    further up than down, and never less than Student's t. nan for a model with fewer than two instructions or without
    variation.
    """
    from scipy.special import stdtrit

    k, i = int(models.max()) + 1, int(instructions.max()) + 1
    cell = instructions * k + models
    sums, sizes = (sum_by(cell, i * k, values).reshape(i, k) for values in (scores, np.ones_like(scores)))
    counts = bootstrap_counts(i, draws, np.random.default_rng(seed))
    columns = np.column_stack([sums, sizes, sums**2, sums * sizes, sizes**2])
    drawn = (counts @ columns).reshape(draws, 5, k)
    mean = sums.sum(axis=0) / sizes.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        again = drawn[:, 0] / drawn[:, 1]
        squares = drawn[:, 2] - 2 * again * drawn[:, 3] + again**2 * drawn[:, 4]
        t = (again - mean) / (np.sqrt(np.maximum(squares, 0.0)) / drawn[:, 1])
    below, above = np.full(k, np.nan), np.full(k, np.nan)
    for model in range(k):
        known = t[np.isfinite(t[:, model]), model]
        own = int((sizes[:, model] > 0).sum())
        if own > 1 and len(known) >= draws / 2:
            least = float(stdtrit(own - 1, 0.975))
            below[model] = max(least, float(np.quantile(known, 0.975)))
            above[model] = max(least, -float(np.quantile(known, 0.025)))
    return below, above


def _contrasts(sums: FloatArray, sizes: FloatArray, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
    """Weighted differences of means and their weights, (lines, pairs), of sums and sizes (lines, k)."""
    n_i, n_j = sizes[:, first], sizes[:, second]
    both = (n_i > 0) & (n_j > 0)
    weight = np.where(both, n_i * n_j / np.maximum(n_i + n_j, 1.0), 0.0)
    difference = sums[:, first] / np.maximum(n_i, 1.0) - sums[:, second] / np.maximum(n_j, 1.0)
    return weight * difference, weight


def named_differences(
    rows: Sequence[Difference], names: Sequence[str], order: IntArray, *, scale: float = 1.0
) -> list[ModelDifference]:
    """The pairs in the order of the page, the first of each pair before the other; values and ends times `scale`."""
    place = {int(model): at for at, model in enumerate(order)}
    turned = [oriented(row, row.first if place[row.first] < place[row.second] else row.second) for row in rows]
    turned.sort(key=lambda row: (place[row.first], place[row.second]))
    return [_named(row, names, scale) for row in turned]


def _named(row: Difference, names: Sequence[str], scale: float) -> ModelDifference:
    ends = (row.such_low, row.such_high, row.these_low, row.these_high)
    such_low, such_high, these_low, these_high = (None if end is None else scale * end for end in ends)
    return ModelDifference(
        first=names[row.first],
        second=names[row.second],
        value=scale * row.value,
        such_low=such_low,
        such_high=such_high,
        these_low=these_low,
        these_high=these_high,
        p=row.p,
        p_family=row.p_family,
        shown=row.shown,
        n=row.n,
        n_raters=row.n_raters,
        needed=row.needed,
        not_stated=row.not_stated,
    )

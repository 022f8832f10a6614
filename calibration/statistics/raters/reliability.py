"""How close each rater's scores are to those of all raters: LLMEval's accuracy within one sigma. PURE.

Repeat consistency is in repeats.py, pace and behaviour in behaviour.py, severity in severity.py, the split of variance in
variance.py, consensus labels in consensus.py.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import (
    Proportion,
    clustered_proportions,
    first_labels,
    p_against,
    wilson_ends,
)
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.codes import numbered
from calibration.statistics.crossed import holm
from calibration.statistics.errors import NoStatistic, TooFewRatings, Undefined, not_converged
from calibration.statistics.resampling import (
    BoolArray,
    CountedStatistic,
    FloatArray,
    IntArray,
    IntervalKind,
    Labels,
    cluster_codes,
    cluster_intervals,
)

Spread: TypeAlias = Literal["pooled", "item"]

LEAST_RATERS = 3

MIN_ANSWERS = 5
"""Raters with fewer answered items get no rate of their own (LLMEval, finding 4)."""

EQUAL_SCORES = 1e-9
"""Differences from a mean below this share of the scores' size are rounding and count as 0."""

MOST_ALIKE = 1e5
"""From this concentration on, raters differ by less than can be seen: they are taken as alike."""


@dataclass(frozen=True)
class Accuracy:
    """Proportion of each rater's scores that lie within one sigma of their item's mean.

    `raters` maps each rater with at least `min_answers` answered items to the share, clustered; `too_few` maps the
    others to the number of items they answered. `overall` is over the scores of the raters listed. `sigma` maps
    each criterion to the standard deviation of scores around their item means, pooled (ddof 0), whichever `spread`
    decided. `no_mean` scores belong to items on which no score counts towards a mean and are left out; `alone`
    scores are the only one of their item, so that they cannot be wrong. Raters in `nobody` share no item with another whose
    score counts towards a mean: there is nobody to compare them with. `correct` (n,) marks scores within one sigma, `kept`
    (n,) those of the raters listed.
    """

    raters: Mapping[Hashable, Proportion]
    too_few: Mapping[Hashable, int]
    overall: Proportion
    sigma: Mapping[Hashable, float]
    spread: Spread
    min_answers: int
    no_mean: int
    alone: int
    nobody: tuple[Hashable, ...]
    correct: BoolArray
    kept: BoolArray


@dataclass(frozen=True)
class ShrunkShare:
    """A rater's share drawn toward its group's mean, with the middle 95 % of its posterior."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Shrinkage:
    """Empirical Bayes: raters' true shares are Beta(mean * concentration, (1 - mean) * concentration).

    `concentration` is the weight of the group's mean, as a number of answers; it is infinite where the raters differ no
    more than by chance, and then every rater has the group's mean with its Wilson interval.
    """

    mean: float
    concentration: float
    raters: Mapping[Hashable, ShrunkShare]


@dataclass(frozen=True)
class GroupSummary:
    """The rates of one kind or cohort of raters: `rates` ascending, `lowest` the rater with the minimum.

    `lowest_shown` says that this rater's rate is below that of the others together, after Holm's correction for the number
    of raters.

    low and high are the ends for the mean when whole raters are drawn: "bootstrap95" from 20 raters on, and
    the "leave_one_out_range" with fewer. `too_few` raters of the group were left out for having too few answers. `shrunk`
    is empty with fewer than three raters, because they do not show the spread among raters.
    """

    group: Hashable
    n: int
    too_few: int
    mean: float
    low: float
    high: float
    interval_kind: IntervalKind
    minimum: float
    lowest: Hashable
    lowest_shown: bool
    median: float
    rates: tuple[float, ...]
    shrunk: Mapping[Hashable, ShrunkShare]


def accuracy_within_sigma(
    scores: FloatArray,
    *,
    items: Labels,
    raters: Labels,
    criteria: Labels | None = None,
    clusters: Labels | None = None,
    in_mean: BoolArray | None = None,
    spread: Spread = "pooled",
    min_answers: int = MIN_ANSWERS,
) -> Accuracy:
    """Accuracy of each rater (LLMEval, arXiv 2312.07398, Eq. 5): a score is correct if |score - mean| < sigma.

    One line per score: scores (n,) on any scale, items the thing rated, criteria its criterion (default: one for all),
    clusters groups of items that belong together (an instruction; default: the item). The mean is that of an item's scores
    under one criterion, the judged rater's own included, over the lines of `in_mean` (n,) (all lines unless given:
    judges are left out of it here); sigma is that of the same lines, pooled over the items of a criterion or of the
    item alone. A difference of 0 is always correct. Raters with too few items still count in means and sigma.
    Raises TooFewRatings where no rater has enough, Undefined (NobodyToCompare) where none shares an item with another.
    """
    values = _finite(scores)
    item, _ = cluster_codes(items)
    aspect, width = cluster_codes(np.zeros(values.size, dtype=np.int64) if criteria is None else criteria)
    rater, people = cluster_codes(raters)
    counted = np.ones(values.size, dtype=np.bool_) if in_mean is None else np.asarray(in_mean, dtype=np.bool_)
    if not item.size == aspect.size == rater.size == counted.size == values.size:
        raise ValueError(f"{values.size} scores need as many items, raters and criteria; give one of each a score.")
    cell, _ = numbered(item * width + aspect)
    means, squares, support = _cell_moments(values, cell, counted)
    sigma = _pooled_sigma(squares, support, cell, aspect, width)
    limit = np.sqrt(squares / np.maximum(support, 1.0))[cell] if spread == "item" else sigma[aspect]
    apart = np.abs(values - means[cell])
    rounding = EQUAL_SCORES * max(1.0, float(np.abs(values).max()))
    correct = (apart <= rounding) | (apart < limit - rounding)
    known = support[cell] > 0
    answered = _distinct_items(rater[known], item[known], people)
    names = [name for name, _ in first_labels(raters, rater, people)]
    others = support[cell] - counted
    compared = np.bincount(rater, weights=others > 0, minlength=people) > 0
    if not compared.any():
        raise Undefined("NobodyToCompare", "No rater shares an item with another, so there is nobody to compare with.")
    kept = known & (answered[rater] >= min_answers) & compared[rater]
    if not kept.any():
        raise TooFewRatings(int(answered.max(initial=0)), min_answers, "answers of any one rater")
    cluster, _ = cluster_codes(items if clusters is None else clusters)
    shares = clustered_proportions(correct[kept], rater[kept], cluster[kept])
    whole = clustered_proportions(correct[kept], np.zeros(int(kept.sum()), dtype=np.int64), cluster[kept])
    given = np.bincount(cell, minlength=len(support))
    return Accuracy(
        raters={names[int(str(code))]: share for code, share in shares.items()},
        too_few={names[code]: int(answered[code]) for code in np.flatnonzero(answered < min_answers)},
        overall=whole[0],
        sigma={
            name: float(sigma[code])
            for name, code in ([("all", 0)] if criteria is None else first_labels(criteria, aspect, width))
        },
        spread=spread,
        min_answers=min_answers,
        no_mean=int((~known).sum()),
        alone=int((given[cell] == 1).sum()),
        nobody=tuple(names[code] for code in np.flatnonzero(~compared)),
        correct=correct,
        kept=kept,
    )


def summarise_groups(
    rates: Mapping[Hashable, Proportion],
    groups: Mapping[Hashable, Hashable],
    *,
    too_few: Mapping[Hashable, int] | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> dict[Hashable, GroupSummary]:
    """Each group's distribution of raters' rates, with its minimum and mean (LLMEval, figure 3), and shrunk rates.

    `groups` maps every rater to its kind or cohort; groups without a rate are left out. Raises KeyError for a rater
    that has no group.
    """
    members: dict[Hashable, list[Hashable]] = {}
    for rater in rates:
        members.setdefault(groups[rater], []).append(rater)
    missing = [groups[rater] for rater in (too_few or {})]
    found = {}
    for group, own in members.items():
        values = np.array([rates[rater].value for rater in own])
        mean, ends = cluster_intervals(_mean_of(values), len(own), draws=draws, seed=seed)
        shrunk = shrink_shares({rater: rates[rater] for rater in own}).raters if len(own) >= 3 else {}
        found[group] = GroupSummary(
            group=group,
            n=len(own),
            too_few=missing.count(group),
            mean=float(mean[0]),
            low=float(ends.low[0]),
            high=float(ends.high[0]),
            interval_kind=ends.kind,
            minimum=float(values.min()),
            lowest=own[int(values.argmin())],
            lowest_shown=_below_the_others([rates[rater] for rater in own]),
            median=float(np.median(values)),
            rates=tuple(float(value) for value in np.sort(values)),
            shrunk=shrunk,
        )
    return found


def _below_the_others(rates: Sequence[Proportion]) -> bool:
    """Whether the lowest rate is below that of the other raters together: all raters are tested, with Holm's correction."""
    if len(rates) < LEAST_RATERS:
        return False
    n = np.array([rate.effective_n for rate in rates])
    hits = np.array([rate.value for rate in rates]) * n
    found = []
    for place, rate in enumerate(rates):
        others = float((hits.sum() - hits[place]) / (n.sum() - n[place]))
        p = p_against(rate, min(max(others, 1e-9), 1 - 1e-9))
        found.append(1.0 if p is None else p)
    lowest = int(np.argmin([rate.value for rate in rates]))
    return bool(holm(np.array(found))[lowest] < 0.05)


def shrink_shares(rates: Mapping[Hashable, Proportion]) -> Shrinkage:
    """Raters' shares shrunk toward their mean by a beta-binomial distribution, fitted by maximum marginal likelihood.

    Each rater enters with its effective number of answers. Raises TooFewRatings under three raters, Undefined
    (NotConverged).
    """
    from scipy.special import betaincinv

    if len(rates) < 3:
        raise TooFewRatings(len(rates), 3, "raters")
    n = np.array([rate.effective_n for rate in rates.values()])
    hits = np.array([rate.value for rate in rates.values()]) * n
    mean, concentration = _beta_binomial(hits, n)
    if concentration >= MOST_ALIKE:
        pooled = float(hits.sum() / n.sum())
        alike = ShrunkShare(pooled, *wilson_ends(pooled, float(n.sum())))
        return Shrinkage(pooled, float("inf"), dict.fromkeys(rates, alike))
    a, b = hits + mean * concentration, n - hits + (1 - mean) * concentration
    low, high = betaincinv(a, b, 0.025), betaincinv(a, b, 0.975)
    return Shrinkage(
        mean,
        concentration,
        {
            rater: ShrunkShare(float(a[i] / (a[i] + b[i])), float(low[i]), float(high[i]))
            for i, rater in enumerate(rates)
        },
    )


def _beta_binomial(hits: FloatArray, n: FloatArray) -> tuple[float, float]:
    """Mean and concentration of maximum marginal likelihood; concentration MOST_ALIKE at its upper bound."""
    from scipy.optimize import minimize
    from scipy.special import betaln, expit, logit, psi

    total = float(hits.sum() / n.sum())
    if total in (0.0, 1.0):
        return total, MOST_ALIKE

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        m, s = float(expit(point[0])), float(np.exp(point[1]))
        a, b = m * s, (1 - m) * s
        value = float((betaln(hits + a, n - hits + b) - betaln(a, b)).sum())
        common = psi(s) - psi(n + s)
        by_a = float((psi(hits + a) - psi(a) + common).sum())
        by_b = float((psi(n - hits + b) - psi(b) + common).sum())
        slope = np.array([(by_a - by_b) * s * m * (1 - m), (by_a * m + by_b * (1 - m)) * s])
        return -value, -slope

    start = np.array([float(logit(np.clip(total, 0.01, 0.99))), np.log(10.0)])
    bounds = [(-12.0, 12.0), (np.log(1e-2), np.log(MOST_ALIKE))]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    if not found.success:
        raise not_converged("The law of the raters' shares", float(np.abs(found.jac).max()), 1e-5)
    # Above this the likelihood is flat to the last digit and where the search stops is chance.
    alike = float(found.fun) > loss(np.array([found.x[0], np.log(MOST_ALIKE)]))[0] - 1e-6
    return float(expit(found.x[0])), MOST_ALIKE if alike else float(np.exp(found.x[1]))


def _finite(scores: FloatArray) -> FloatArray:
    values = np.asarray(scores, dtype=np.float64)
    if not values.size:
        raise TooFewRatings(0, 1, "scores")
    if values.ndim != 1 or not np.isfinite(values).all():
        raise NoStatistic("Scores must be a flat list of finite numbers; leave out the ones that are missing.")
    return values


def _cell_moments(values: FloatArray, cell: IntArray, counted: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Per cell, over the counted lines: mean (0 where there is none), sum of squares around it, number."""
    cells = int(cell.max()) + 1
    own, given = cell[counted], values[counted]
    n = sum_by(own, cells, np.ones_like(given))
    mean = sum_by(own, cells, given) / np.maximum(n, 1.0)
    return mean, sum_by(own, cells, (given - mean[own]) ** 2), n


def _pooled_sigma(squares: FloatArray, support: FloatArray, cell: IntArray, aspect: IntArray, width: int) -> FloatArray:
    """Standard deviation of scores around their item means for each criterion, ddof 0."""
    owner = np.zeros(len(squares), dtype=np.int64)
    owner[cell] = aspect
    n = sum_by(owner, width, support)
    return np.asarray(np.sqrt(sum_by(owner, width, squares) / np.maximum(n, 1.0)), dtype=np.float64)


def _distinct_items(rater: IntArray, item: IntArray, people: int) -> IntArray:
    width = int(item.max(initial=0)) + 1
    # Sorting is several times faster than numpy's hashed unique on codes like these.
    cells = np.sort(rater * width + item)
    first = np.diff(cells, prepend=-1) > 0
    return np.bincount(cells[first] // width, minlength=people).astype(np.int64)


def _mean_of(values: FloatArray) -> CountedStatistic:
    def statistic(counts: FloatArray) -> tuple[FloatArray, BoolArray]:
        return (counts @ values / counts.sum(axis=1))[:, None], np.ones(len(counts), dtype=np.bool_)

    return statistic

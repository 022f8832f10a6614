"""The alternative annotator test of Calderon, Reichart and Dror: can a judge replace a rater? PURE.

arXiv 2501.10970. Each rater in turn is left out, and on every item it rated, rater and judge are compared by how well
each agrees with the remaining raters of the item: the mean of [same label] for categories, minus the root mean squared
difference for numbers. With W_judge = [judge's score >= rater's] and W_rater = [rater's score >= judge's] (a tie
wins for both), the advantage probabilities are their means over the rater's items. For each rater the hypothesis
"advantage of the judge <= advantage of the rater - epsilon" is tested one-sided by a paired t test of
W_rater - W_judge against epsilon; the judge wins against the raters whose hypothesis falls at a false discovery rate
of q by Benjamini and Yekutieli (2001). The winning rate omega is the share of raters won against; the judge passes at
omega >= 0.5, and rho, the mean over raters of the judge's advantage probability, compares judges with each other. Where
items come in clusters the t test is of the ratio of sums over whole clusters (clusters - 1 degrees of freedom), which
with one item a cluster is the paired t test.

Checked against the procedure that its authors publish beside the paper (their repository's account of it): who is
left out and what stays (an item needs another rater, a rater 30 items, the test three raters, as the authors
recommend), both alignment scores, ties winning for both, the direction of the hypothesis (it falls where W_rater -
W_judge lies below epsilon), the correction and its step-up, the pass at one half, rho over the raters tested, and
epsilon 0.2, 0.15 and 0.1 for experts, skilled raters and a crowd. Ours are the clusters, and that a rater with
fewer items is left out and counted, where the authors turn to a signed-rank test.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import first_labels
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import NoStatistic, OutOfRange, TooFewRatings
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
from calibration.statistics.ties import settle_ties

Kind: TypeAlias = Literal["categorical", "numeric"]

EXPERTS, SKILLED, CROWD = 0.2, 0.15, 0.1
"""Epsilon as the paper suggests it: how much a judge's lower price is worth against each kind of rater."""

MIN_ITEMS = 30
MIN_RATERS = 3
PASS = 0.5


@dataclass(frozen=True)
class RaterContest:
    """A judge compared with one rater on the `n` items that this and at least one other rater rated.

    `judge_advantage` and `rater_advantage` are the shares of items on which each agrees with the others at least as
    well as its rival (ties count for both). `p` is one-sided against "the judge is worse by epsilon or more"; `won`
    after the correction for several raters.
    """

    judge_advantage: float
    rater_advantage: float
    p: float
    won: bool
    n: int
    clusters: int


@dataclass(frozen=True)
class ReplacementTest:
    """`winning_rate` omega (0..1) over the raters tested; `passed` if at least 0.5.

    `advantage` is the mean of judge_advantage over raters, the probability that the judge is as good as a rater drawn at
    random, with ends from drawing whole clusters of items. `alone` ratings are their item's only one and `unjudged`
    ratings are of items without a verdict.
    """

    winning_rate: float
    passed: bool
    advantage: float
    low: float
    high: float
    interval_kind: IntervalKind
    alone: int
    unjudged: int
    epsilon: float
    q: float


@dataclass(frozen=True)
class AlternativeAnnotator(ReplacementTest):
    """The test with the contest of each rater; `left_out` maps raters with too few items to their number."""

    raters: Mapping[Hashable, RaterContest]
    left_out: Mapping[Hashable, int]


def alternative_annotator_test(
    items: Labels,
    labels: FloatArray | IntArray,
    raters: Labels,
    judge: Mapping[Hashable, float],
    *,
    kind: Kind,
    epsilon: float,
    q: float = 0.05,
    clusters: Labels | None = None,
    min_items: int = MIN_ITEMS,
    min_raters: int = MIN_RATERS,
    draws: int = 1000,
    seed: int = 0,
) -> AlternativeAnnotator:
    """The test, with one line per human rating: items (n,), labels (n,) numbers or category codes, raters (n,).

    `judge` maps items to its labels; items it lacks are left out. A rater enters with at least `min_items` items that
    another rater rated too. Raises TooFewRatings with fewer than `min_raters` such raters, NoStatistic where a rater
    rated an item twice, OutOfRange for an epsilon off 0..1.
    """
    values = np.asarray(labels, dtype=np.float64)
    item, m = cluster_codes(items)
    rater, people = cluster_codes(raters)
    cluster, _ = cluster_codes(items if clusters is None else clusters)
    if not values.size:
        raise TooFewRatings(0, 1)
    if not item.size == rater.size == cluster.size == values.size:
        raise ValueError(f"{values.size} labels need as many items, raters and clusters; give one of each.")
    if not 0 <= epsilon <= 1:
        raise OutOfRange("Epsilon", 0, 1, epsilon)
    if np.unique(item * max(people, 1) + rater).size < item.size:
        raise NoStatistic("A rater rated an item more than once; keep one rating of each rater and item.")
    names = [name for name, _ in first_labels(items, item, m)]
    known = np.array([name in judge for name in names], dtype=np.bool_)
    verdicts = np.array([float(judge.get(name, 0.0)) for name in names])
    both = settle_ties(np.concatenate([values, verdicts]))
    values, verdicts = both[: values.size], both[values.size :]
    others = np.bincount(item, minlength=m)[item] - 1
    usable = (others > 0) & known[item]
    by_judge, by_rater = _alignments(values, verdicts, item, m, kind)
    nearly = 1e-9 * max(1.0, float(np.abs(values).max(initial=0.0))) ** 2
    judge_wins = (by_judge >= by_rater - nearly)[usable].astype(np.float64)
    rater_wins = (by_rater >= by_judge - nearly)[usable].astype(np.float64)
    given = np.bincount(rater[usable], minlength=people)
    entered = np.flatnonzero(given >= min_items)
    if entered.size < min_raters:
        raise TooFewRatings(int(entered.size), min_raters, f"raters with {min_items} shared items")
    who = [name for name, _ in first_labels(raters, rater, people)]
    contests = [
        _contest(judge_wins[own], rater_wins[own], cluster[usable][own], epsilon)
        for own in (rater[usable] == code for code in entered)
    ]
    won = benjamini_yekutieli(np.array([one.p for one in contests]), q)
    inside = given[rater[usable]] >= min_items
    value, ends = cluster_intervals(
        *_advantage(judge_wins[inside], rater[usable][inside], cluster[usable][inside]), draws=draws, seed=seed
    )
    return AlternativeAnnotator(
        winning_rate=float(won.mean()),
        passed=bool(won.mean() >= PASS),
        advantage=float(value[0]),
        low=float(ends.low[0]),
        high=float(ends.high[0]),
        interval_kind=ends.kind,
        raters={
            who[code]: RaterContest(one.judge_advantage, one.rater_advantage, one.p, bool(win), one.n, one.clusters)
            for code, one, win in zip(entered, contests, won, strict=True)
        },
        left_out={who[code]: int(given[code]) for code in np.flatnonzero(given < min_items)},
        alone=int((others == 0).sum()),
        unjudged=int((~known[item]).sum()),
        epsilon=epsilon,
        q=q,
    )


def benjamini_yekutieli(p: FloatArray, q: float) -> BoolArray:
    """Which hypotheses with p values (m,) are rejected at a false discovery rate of q under any dependence."""
    m = p.size
    order = np.argsort(p, kind="stable")
    harmonic = float((1 / np.arange(1, m + 1)).sum())
    below = np.flatnonzero(p[order] <= np.arange(1, m + 1) * q / (m * harmonic))
    fallen = np.zeros(m, dtype=np.bool_)
    if below.size:
        fallen[order[: int(below[-1]) + 1]] = True
    return fallen


def _alignments(
    values: FloatArray, verdicts: FloatArray, item: IntArray, m: int, kind: Kind
) -> tuple[FloatArray, FloatArray]:
    """How well the judge and the rater of each line agree with the other raters of the item (greater is better)."""
    others = np.maximum(np.bincount(item, minlength=m)[item] - 1, 1).astype(np.float64)
    judged = verdicts[item]
    if kind == "categorical":
        width, place = np.unique(values, return_inverse=True)
        same = sum_by(item * width.size + place.reshape(-1), m * width.size, np.ones_like(values))
        by_rater = (same[item * width.size + place.reshape(-1)] - 1) / others
        agree = (judged == values).astype(np.float64)
        by_judge = (sum_by(item, m, agree)[item] - agree) / others
        return np.asarray(by_judge, dtype=np.float64), np.asarray(by_rater, dtype=np.float64)
    centre = (sum_by(item, m, values) / np.maximum(np.bincount(item, minlength=m), 1))[item]
    near, target = values - centre, judged - centre
    total, squares = sum_by(item, m, near)[item] - near, sum_by(item, m, near**2)[item] - near**2

    # Squares order as their roots do, and keep the digits that decide a tie.
    by_judge = (2 * target * total - squares) / others - target**2
    by_rater = (2 * near * total - squares) / others - near**2
    return np.asarray(by_judge, dtype=np.float64), np.asarray(by_rater, dtype=np.float64)


def _contest(judge_wins: FloatArray, rater_wins: FloatArray, cluster: IntArray, epsilon: float) -> RaterContest:
    from scipy.stats import t as student

    codes, k = cluster_codes(cluster)
    apart = rater_wins - judge_wins
    n = apart.size
    sums, size = sum_by(codes, k, apart), sum_by(codes, k, np.ones(n))
    mean = float(apart.mean())
    if k < 2:
        raise TooFewRatings(k, 2, "clusters of items of one rater")
    variance = k / (k - 1) * float(((sums - mean * size) ** 2).sum()) / n**2
    if variance <= 1e-18:
        # The same difference on every item: no randomness is left in it.
        p = 0.0 if mean < epsilon else 1.0
    else:
        p = float(student.cdf((mean - epsilon) / np.sqrt(variance), k - 1))
    return RaterContest(float(judge_wins.mean()), float(rater_wins.mean()), p, False, n, k)


def _advantage(wins: FloatArray, rater: IntArray, cluster: IntArray) -> tuple[CountedStatistic, int]:
    """The mean over raters of each one's mean, from sums per cluster, and the number of clusters."""
    codes, k = cluster_codes(cluster)
    who, people = cluster_codes(rater)
    cell = codes * people + who
    sums = sum_by(cell, k * people, wins).reshape(k, people)
    sizes = sum_by(cell, k * people, np.ones_like(wins)).reshape(k, people)

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        given = drawn @ sizes
        usable = np.asarray((given > 0).all(axis=1), dtype=np.bool_)
        value = ((drawn @ sums) / np.where(given > 0, given, 1.0)).mean(axis=1)[:, None]
        return np.asarray(value, dtype=np.float64), usable

    return statistic, k

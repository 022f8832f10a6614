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

The paper calls everything below omega = 0.5 a failure, a judge with too few items included. Here the opposite is tested as
well, "the judge is worse by epsilon or less": only where that falls for more than half of the raters is the judge shown not
to replace them; otherwise nothing is shown, and the items that would show it are counted. Where the difference is the same
in every cluster, so that there is no t, the p value is the largest chance that a distribution on -1..1 whose mean is epsilon
has of doing so. rho has an interval for such raters beside that for these raters (populations.py): a rater left out is
missing among the others as well.

Checked against the procedure that its authors publish beside the paper (their repository's account of it): who is
left out and what stays (an item needs another rater, a rater 30 items, the test three raters, as the authors
recommend), both alignment scores, ties winning for both, the direction of the hypothesis (it falls where W_rater -
W_judge lies below epsilon), the correction and its step-up, the pass at one half, rho over the raters tested, and
epsilon 0.2, 0.15 and 0.1 for experts, skilled raters and a crowd. Ours are the clusters, the opposite test, and that a
rater with fewer items is left out and counted, where the authors turn to a signed-rank test.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import first_labels
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.design.needed import needed_for
from calibration.statistics.errors import NoStatistic, TooFewRatings, out_of_range
from calibration.statistics.judges.estimates import PeopleEstimate, estimates_of
from calibration.statistics.populations import TaskSums
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray, Labels, cluster_codes
from calibration.statistics.ties import settle_ties

Kind: TypeAlias = Literal["categorical", "numeric"]
Shown: TypeAlias = Literal["replaces", "does_not", "not_shown"]

EXPERTS, SKILLED, CROWD = 0.2, 0.15, 0.1
"""Epsilon as the paper suggests it: how much a judge's lower price is worth against each kind of rater."""

MIN_ITEMS = 30
MIN_RATERS = 3
PASS = 0.5


@dataclass(frozen=True)
class RaterContest:
    """A judge compared with one rater on the `n` items that this and at least one other rater rated.

    `judge_advantage` and `rater_advantage` are the shares of items on which each agrees with the others at least as
    well as its rival (ties count for both). `p` is one-sided against "the judge is worse by epsilon or more", `p_worse`
    against "the judge is worse by epsilon or less"; `won` and `lost` after the correction for several raters.
    """

    judge_advantage: float
    rater_advantage: float
    p: float
    p_worse: float
    won: bool
    lost: bool
    n: int
    clusters: int


@dataclass(frozen=True)
class ReplacementTest:
    """`winning_rate` omega (0..1) over the raters tested; `passed` if at least 0.5.

    `shown`: "replaces" where the judge passed, "does_not" where it lost against more than half of the raters, else
    "not_shown"; `needed` is then the number of items of each rater at which the judge would win against half of them with
    80 % power each, if it is as good as it was here, None where it is not good enough for that. `advantage` is the mean of
    judge_advantage over raters, the probability that the judge is as good as a rater drawn at random. `alone` ratings are
    their item's only one and `unjudged` ratings are of items without a verdict.
    """

    winning_rate: float
    passed: bool
    shown: Shown
    needed: int | None
    advantage: PeopleEstimate
    alone: int
    unjudged: int
    epsilon: float
    q: float


@dataclass(frozen=True)
class AlternativeAnnotator(ReplacementTest):
    """The test with the contest of each rater; `left_out` maps raters with too few items to their number."""

    raters: Mapping[Hashable, RaterContest]
    left_out: Mapping[Hashable, int]


@dataclass(frozen=True)
class AgainstRaters:
    """A judge beside raters on shared items, ready to be tested at any epsilon; `contests` are by rater."""

    contests: Mapping[Hashable, "Wins"]
    advantage: PeopleEstimate
    left_out: Mapping[Hashable, int]
    alone: int
    unjudged: int

    def test(self, epsilon: float, q: float = 0.05) -> AlternativeAnnotator:
        """The test at a loss of `epsilon` and a false discovery rate of `q`. Raises Undefined for an epsilon off 0..1."""
        _check_epsilon(epsilon)
        found = [_contest(wins, epsilon) for wins in self.contests.values()]
        won = benjamini_yekutieli(np.array([one.p for one in found]), q)
        lost = benjamini_yekutieli(np.array([one.p_worse for one in found]), q)
        passed = bool(won.mean() >= PASS)
        shown: Shown = "replaces" if passed else "does_not" if lost.mean() > 1 - PASS else "not_shown"
        contests = {
            who: replace(one, won=bool(win), lost=bool(loss))
            for who, one, win, loss in zip(self.contests, found, won, lost, strict=True)
        }
        return AlternativeAnnotator(
            winning_rate=float(won.mean()),
            passed=passed,
            shown=shown,
            needed=items_needed(list(self.contests.values()), epsilon, q) if shown == "not_shown" else None,
            advantage=self.advantage,
            raters=contests,
            left_out=self.left_out,
            alone=self.alone,
            unjudged=self.unjudged,
            epsilon=epsilon,
            q=q,
        )


@dataclass(frozen=True)
class Wins:
    """What a contest needs: by cluster (k,) the sums of W_rater - W_judge and the items; the advantages of both."""

    apart: FloatArray
    size: FloatArray
    judge: float
    rater: float

    @property
    def mean(self) -> float:
        return float(self.apart.sum() / self.size.sum())

    @property
    def variance(self) -> float:
        """Of the mean, over whole clusters."""
        k = len(self.size)
        return k / (k - 1) * float(((self.apart - self.mean * self.size) ** 2).sum()) / float(self.size.sum()) ** 2


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
    positions: bool = False,
    seed: int = 0,
) -> AlternativeAnnotator:
    """The test at one epsilon; see against_raters and AgainstRaters.test."""
    _check_epsilon(epsilon)
    found = against_raters(
        items,
        labels,
        raters,
        judge,
        kind=kind,
        clusters=clusters,
        min_items=min_items,
        min_raters=min_raters,
        positions=positions,
        seed=seed,
    )
    return found.test(epsilon, q)


def against_raters(
    items: Labels,
    labels: FloatArray | IntArray,
    raters: Labels,
    judge: Mapping[Hashable, float],
    *,
    kind: Kind,
    clusters: Labels | None = None,
    min_items: int = MIN_ITEMS,
    min_raters: int = MIN_RATERS,
    positions: bool = False,
    seed: int = 0,
) -> AgainstRaters:
    """A judge beside raters, one line per human rating: items (n,), labels (n,) numbers or category codes, raters (n,).

    `judge` maps items to its labels; items it lacks are left out. A rater enters with at least `min_items` items that
    another rater rated too; `positions`: the raters are positions of a data set and not persons. Raises TooFewRatings with
    fewer than `min_raters` such raters, NoStatistic where a rater rated an item twice.
    """
    values = np.asarray(labels, dtype=np.float64)
    item, m = cluster_codes(items)
    rater, people = cluster_codes(raters)
    cluster, _ = cluster_codes(items if clusters is None else clusters)
    if not values.size:
        raise TooFewRatings(0, 1)
    if not item.size == rater.size == cluster.size == values.size:
        raise ValueError(f"{values.size} labels need as many items, raters and clusters; give one of each.")
    if np.unique(item * max(people, 1) + rater).size < item.size:
        raise NoStatistic("A rater rated an item more than once; keep one rating of each rater and item.")
    names = [name for name, _ in first_labels(items, item, m)]
    known = np.array([name in judge for name in names], dtype=np.bool_)
    verdicts = np.array([float(judge.get(name, 0.0)) for name in names])
    both = settle_ties(np.concatenate([values, verdicts]))
    values, verdicts = both[: values.size], both[values.size :]
    others = np.bincount(item, minlength=m)[item] - 1
    usable = np.flatnonzero((others > 0) & known[item])
    given = np.bincount(rater[usable], minlength=people)
    entered = np.flatnonzero(given >= min_items)
    if entered.size < min_raters:
        raise TooFewRatings(int(entered.size), min_raters, f"raters with {min_items} shared items")
    order = usable[np.argsort(item[usable], kind="stable")]
    item_of, place = np.unique(item[order], return_inverse=True)
    lines = _JudgedItems(
        values=values[order],
        item=place.reshape(-1).astype(np.int64),
        rater=rater[order],
        cluster=cluster[order],
        verdicts=verdicts[item_of],
        kind=kind,
    )
    judge_wins, rater_wins = lines.wins()
    who = [name for name, _ in first_labels(raters, rater, people)]
    contests = {}
    for code in entered.tolist():
        own = lines.rater == code
        codes, k = cluster_codes(lines.cluster[own])
        if k < 2:
            raise TooFewRatings(k, 2, "clusters of items of one rater")
        apart = rater_wins[own] - judge_wins[own]
        contests[who[code]] = Wins(
            sum_by(codes, k, apart),
            sum_by(codes, k, np.ones_like(apart)),
            float(judge_wins[own].mean()),
            float(rater_wins[own].mean()),
        )
    return AgainstRaters(
        contests=contests,
        advantage=_advantage(lines, judge_wins, entered, positions=positions, seed=seed),
        left_out={who[code]: int(given[code]) for code in np.flatnonzero(given < min_items)},
        alone=int((others == 0).sum()),
        unjudged=int((~known[item]).sum()),
    )


def _check_epsilon(epsilon: float) -> None:
    if not 0 <= epsilon <= 1:
        raise out_of_range("Epsilon", 0, 1, epsilon)


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


def _contest(wins: Wins, epsilon: float) -> RaterContest:
    from scipy.special import stdtr

    k, mean, variance = len(wins.size), wins.mean, wins.variance
    if variance > 1e-18:
        t = (mean - epsilon) / variance**0.5
        p, worse = float(stdtr(k - 1, t)), float(stdtr(k - 1, -t))
    else:
        p, worse = _p_of_equals(mean, epsilon, k), _p_of_equals(-mean, -epsilon, k)
    return RaterContest(wins.judge, wins.rater, p, worse, False, False, int(wins.size.sum()), k)


def _p_of_equals(mean: float, epsilon: float, k: int) -> float:
    """Of k clusters that are all `mean`, against a true mean of epsilon or more: each comes with at most this chance."""
    return ((1 - epsilon) / (1 - mean)) ** k if mean < epsilon else 1.0


def items_needed(contests: list[Wins], epsilon: float, q: float) -> int | None:
    """Items of each rater at which half of the raters would fall, each with 80 % power at the correction's threshold."""
    m = len(contests)
    half = ceil(m * PASS)
    threshold = half * q / (m * float((1 / np.arange(1, m + 1)).sum()))
    items = []
    for wins in contests:
        ahead = epsilon - wins.mean
        k = len(wins.size)
        # Where no cluster differs, the variance is that of one that does in k.
        variance = wins.variance if wins.variance > 1e-18 else 1 / k**2
        clusters = needed_for(ahead, variance, k, two_sided=2 * threshold) if ahead > 0 else None
        if clusters is not None:
            items.append(ceil(clusters * float(wins.size.sum()) / k))
    return sorted(items)[half - 1] if len(items) >= half else None


@dataclass(frozen=True)
class _JudgedItems:
    """Ratings (n,) of items with a verdict that two raters or more rated, in the order of the items, from 0 up."""

    values: FloatArray
    item: IntArray
    rater: IntArray
    cluster: IntArray
    verdicts: FloatArray
    kind: Kind

    @property
    def nearly(self) -> float:
        return 1e-9 * max(1.0, float(np.abs(self.values).max(initial=0.0))) ** 2

    def wins(self) -> tuple[FloatArray, FloatArray]:
        """W_judge and W_rater of each line."""
        by_judge, by_rater = _alignments(self.values, self.verdicts, self.item, len(self.verdicts), self.kind)
        return (
            np.asarray(by_judge >= by_rater - self.nearly, dtype=np.float64),
            np.asarray(by_rater >= by_judge - self.nearly, dtype=np.float64),
        )


def _advantage(
    lines: _JudgedItems, wins: FloatArray, entered: IntArray, *, positions: bool, seed: int
) -> PeopleEstimate:
    """The mean over the raters entered of each one's share of items on which the judge does at least as well."""
    column = np.full(int(lines.rater.max()) + 1, -1, dtype=np.int64)
    column[entered] = np.arange(entered.size)
    own = column[lines.rater]
    first = np.searchsorted(lines.item, np.arange(len(lines.verdicts) + 1))
    width = 2 * entered.size

    def added(group: IntArray, size: int, who: IntArray, won: FloatArray) -> FloatArray:
        counts = who >= 0
        cell = group[counts] * entered.size + who[counts]
        given = [sum_by(cell, size * entered.size, part) for part in (won[counts], np.ones(int(counts.sum())))]
        return np.column_stack([part.reshape(size, -1) for part in given])

    def whole(start: int, end: int) -> FloatArray:
        part = slice(int(first[start]), int(first[end]))
        return added(lines.item[part] - start, end - start, own[part], wins[part])

    def without(start: int, end: int) -> FloatArray:
        sizes = np.diff(first)[lines.item[start:end]]
        left_out = np.repeat(np.arange(end - start), sizes)
        at = (
            np.arange(left_out.size)
            - np.repeat(np.cumsum(sizes) - sizes, sizes)
            + first[lines.item[start:end]][left_out]
        )
        kept = (at != left_out + start) & (sizes[left_out] > 2)
        left_out, at = left_out[kept], at[kept]
        if not at.size:
            return np.zeros((end - start, width))
        verdicts = lines.verdicts[lines.item[start:end]]
        by_judge, by_rater = _alignments(lines.values[at], verdicts, left_out, end - start, lines.kind)
        won = np.asarray(by_judge >= by_rater - lines.nearly, dtype=np.float64)
        return added(left_out, end - start, own[at], won)

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        won, given = sums[:, : entered.size], np.rint(sums[:, entered.size :])
        counted = given > 0
        shares = np.where(counted, won / np.where(counted, given, 1.0), 0.0)
        n = counted.sum(axis=1)
        return (shares.sum(axis=1) / np.maximum(n, 1))[:, None], np.asarray(n > 0, dtype=np.bool_)

    instruction = np.zeros(len(lines.verdicts), dtype=np.int64)
    instruction[lines.item] = np.unique(lines.cluster, return_inverse=True)[1].reshape(-1)
    rater = np.unique(lines.rater, return_inverse=True)[1].reshape(-1).astype(np.int64)
    sums = TaskSums(instruction, rater, first, width, whole, without)
    (found,) = estimates_of(sums, statistic, ["share"], positions=positions, seed=seed)
    return found

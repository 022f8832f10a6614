"""A judge compared with people: correlations, accuracy against their majority, confusions. PURE."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.leave_one_out import Unusable
from calibration.statistics.agreement.rating_tables import check_codes, count_table, sum_by, task_clusters
from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.resampling import (
    COUNTS_AT_ONCE,
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

Ties: TypeAlias = Literal["exclude", "share"]

PAIRWISE_LIMIT = 3000
"""Up to this many pairs Kendall's tau is resampled from one table of all comparisons, beyond it draw by draw."""


@dataclass(frozen=True)
class Coefficient:
    """A correlation with its interval. `p` is two-sided against no association, for independent pairs.

    Where pairs come in clusters `p` is too small; the interval, which draws whole clusters, is the one to trust.
    """

    value: float
    p: float
    low: float
    high: float


@dataclass(frozen=True)
class Correlation:
    """Spearman's rho, Kendall's tau-b and Pearson's r of `n` pairs, resampled together over `clusters` clusters.

    `interval_kind` "bootstrap95" (from `draws` usable draws), "leave_one_out_range" under 20 clusters, or "none" with
    ends equal to the value.
    """

    spearman: Coefficient
    kendall: Coefficient
    pearson: Coefficient
    n: int
    interval_kind: IntervalKind
    clusters: int
    draws: int


@dataclass(frozen=True)
class MajorityAccuracy:
    """Share of the `n_tasks` tasks on which a judge gives the label that more raters gave than any other.

    `n_tied` tasks have no single most frequent label: left out, or counted 1/(number of modes) for one of the modes if
    `ties` is "share". `n_unusable` of the remaining tasks have no usable verdict: left out as well, or counted wrong if
    `unusable` is "wrong".
    """

    rate: float
    n_tasks: int
    n_tied: int
    n_unusable: int
    unusable: Unusable
    ties: Ties
    low: float
    high: float
    interval_kind: IntervalKind
    clusters: int
    draws: int


@dataclass(frozen=True)
class Confusion:
    """How often the judge said column where people said line: `counts` (labels, labels) over `n` tasks.

    Left out: `n_unusable` tasks with a majority and no usable verdict, `n_without_majority` tasks.
    """

    counts: IntArray
    n: int
    n_unusable: int
    n_without_majority: int


def correlate(
    x: FloatArray, y: FloatArray, *, clusters: Labels | None = None, draws: int = 1000, seed: int = 0
) -> Correlation:
    """Three correlations of x (n,) with y (n,) by scipy; clusters (n,) labels the pairs that belong together.

    Scores that differ only by the rounding of a mean are tied.

    Raises TooFewRatings under three pairs, ConstantScores where x or y never varies. With more than 3,000 pairs
    Kendall's tau is resampled draw by draw, some 5 ms for 20,000 pairs.
    """
    from scipy.stats import kendalltau, pearsonr, spearmanr

    a, b = _varying("scores compared", x), _varying("scores compared against", y)
    if a.size != b.size:
        raise ValueError(f"{a.size} scores against {b.size}; give both of each pair.")
    if a.size < 3:
        raise TooFewRatings(int(a.size), 3, "pairs")
    codes, k = cluster_codes(np.arange(a.size) if clusters is None else clusters)
    if codes.size != a.size:
        raise ValueError(f"{codes.size} cluster labels for {a.size} pairs; give one for each.")
    _, ends = cluster_intervals(_correlations(a, b, codes, k), k, draws=draws, seed=seed)
    found = [spearmanr(a, b), kendalltau(a, b), pearsonr(a, b)]
    coefficients = []
    for place, result in enumerate(found):
        value = float(result.statistic)
        stated = ends.kind != "none"
        low, high = (float(ends.low[place]), float(ends.high[place])) if stated else (value, value)
        coefficients.append(Coefficient(value, float(result.pvalue), low, high))
    return Correlation(
        spearman=coefficients[0],
        kendall=coefficients[1],
        pearson=coefficients[2],
        n=int(a.size),
        interval_kind=ends.kind,
        clusters=k,
        draws=ends.draws,
    )


def accuracy_against_majority(
    judge: IntArray,
    tasks: IntArray,
    labels: IntArray,
    unusable: Unusable = "exclude",
    *,
    ties: Ties = "exclude",
    draws: int = 0,
    seed: int = 0,
    clusters: Labels | None = None,
) -> MajorityAccuracy:
    """Accuracy of a judge against the single most frequent label of each task.

    judge (m,) holds its label of each task code, -1 where the verdict is unusable; tasks and labels (n,) hold one
    line per human rating, clusters (n,) the cluster of each. Raises TooFewRatings when no task is left.
    """
    lines, columns = check_codes("Tasks", tasks), check_codes("Labels", labels)
    verdicts = _verdicts(judge, int(lines.max()))
    counts = count_table(lines, columns)
    modes = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    width = modes.sum(axis=1)
    decided = np.flatnonzero(width == 1 if ties == "exclude" else width >= 1)
    usable = verdicts[decided] >= 0
    kept = decided[usable] if unusable == "exclude" else decided
    if not kept.size:
        raise TooFewRatings(0, 1, "tasks with a single most frequent label and a usable verdict")
    codes, k = task_clusters(lines, len(counts), clusters, kept)
    judged = verdicts[kept]
    known = (judged >= 0) & (judged < modes.shape[1])
    right = modes[kept, np.where(known, judged, 0)] * known / width[kept]
    sums = sum_by(codes, k, np.column_stack([right, np.ones(kept.size)]))

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = drawn @ sums
        return m[:, :1] / m[:, 1:], np.ones(len(m), dtype=np.bool_)

    value, ends = cluster_intervals(statistic, k, draws=draws, seed=seed)
    return MajorityAccuracy(
        rate=float(value[0]),
        n_tasks=int(kept.size),
        n_tied=int((width > 1).sum()),
        n_unusable=int((~usable).sum()),
        unusable=unusable,
        ties=ties,
        low=float(ends.low[0]),
        high=float(ends.high[0]),
        interval_kind=ends.kind,
        clusters=k,
        draws=ends.draws,
    )


def majority_labels(tasks: IntArray, labels: IntArray) -> IntArray:
    """The single most frequent label of each task code (highest code + 1,), -1 where labels tie or there are none."""
    counts = count_table(check_codes("Tasks", tasks), check_codes("Labels", labels))
    top = counts.max(axis=1)
    single = ((counts == top[:, None]).sum(axis=1) == 1) & (top > 0)
    return np.where(single, counts.argmax(axis=1), -1)


def confusion(judge: IntArray, majority: IntArray) -> Confusion:
    """Table of the judge's labels (m,) against the people's (m,), task by task; -1 marks a missing one.

    Raises TooFewRatings when no task has both.
    """
    said, meant = np.asarray(judge, dtype=np.int64), np.asarray(majority, dtype=np.int64)
    if said.shape != meant.shape:
        raise ValueError(f"{said.size} verdicts for {meant.size} majorities; give both for each task.")
    decided = meant >= 0
    both = decided & (said >= 0)
    if not both.any():
        raise TooFewRatings(0, 1, "tasks with a majority and a usable verdict")
    width = int(max(said[both].max(), meant[both].max())) + 1
    flat = np.bincount(meant[both] * width + said[both], minlength=width**2)
    return Confusion(
        counts=flat.reshape(width, width).astype(np.int64),
        n=int(both.sum()),
        n_unusable=int((decided & (said < 0)).sum()),
        n_without_majority=int((~decided).sum()),
    )


def _verdicts(judge: IntArray, highest: int) -> IntArray:
    verdicts = np.asarray(judge, dtype=np.int64)
    if highest >= verdicts.size:
        raise ValueError(f"Task {highest} has no entry among {verdicts.size} judge labels; -1 is unusable.")
    return verdicts


def _varying(what: str, values: FloatArray) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise NoStatistic(f"The {what} must be finite numbers; leave out the pairs with a missing one.")
    settled = settle_ties(array)
    if settled.size and np.ptp(settled) == 0:
        raise ConstantScores(what, float(array[0]))
    return settled


def _correlations(x: FloatArray, y: FloatArray, codes: IntArray, k: int) -> CountedStatistic:
    """Spearman, Kendall and Pearson of draws of whole clusters, without expanding the draws."""
    _, by_x = np.unique(x, return_inverse=True)
    _, by_y = np.unique(y, return_inverse=True)
    levels_x, levels_y = (count_table(codes, by_x).astype(np.float64), count_table(codes, by_y).astype(np.float64))
    dx, dy = (x - x.mean()) / np.ptp(x), (y - y.mean()) / np.ptp(y)
    moments = sum_by(codes, k, np.column_stack([np.ones_like(dx), dx, dy, dx * dx, dy * dy, dx * dy]))
    pairs = _pair_signs(by_x, by_y, codes, k) if x.size <= PAIRWISE_LIMIT else None

    def one_chunk(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        ties_x, ties_y = drawn @ levels_x, drawn @ levels_y
        pearson, usable = _moment_correlation(drawn @ moments)
        weights = drawn[:, codes]
        spearman = _rank_correlation(ties_x, ties_y, by_x, by_y, weights, usable)
        if pairs is None:
            kendall = _kendall_by_draw(by_x, by_y, weights, usable)
        else:
            kendall = _kendall_from_pairs(drawn, pairs, ties_x, ties_y, usable)
        return np.column_stack([spearman, kendall, pearson]), usable

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        at_once = max(1, COUNTS_AT_ONCE // x.size)
        parts = [one_chunk(drawn[start : start + at_once]) for start in range(0, len(drawn), at_once)]
        return np.concatenate([values for values, _ in parts]), np.concatenate([usable for _, usable in parts])

    return statistic


def _moment_correlation(m: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Correlation from sums (b, 6) of 1, x, y, x^2, y^2, xy, and whether both vary."""
    m = m / m[:, :1]
    spread_x, spread_y = m[:, 3] - m[:, 1] ** 2, m[:, 4] - m[:, 2] ** 2
    usable = (spread_x > 1e-12 * m[:, 3]) & (spread_y > 1e-12 * m[:, 4])
    scale = np.sqrt(np.where(usable, spread_x * spread_y, 1.0))
    return np.clip((m[:, 5] - m[:, 1] * m[:, 2]) / scale, -1.0, 1.0), usable


def _rank_correlation(
    ties_x: FloatArray, ties_y: FloatArray, x: IntArray, y: IntArray, weights: FloatArray, usable: BoolArray
) -> FloatArray:
    """Spearman's rho from how often each level occurs (b, levels) and how often each pair does (b, n)."""
    rank_x, rank_y = (
        # Mid-ranks minus their mean, which is half of one more than the number of pairs.
        ties.cumsum(axis=1) - ties / 2 - ties.sum(axis=1, keepdims=True) / 2
        for ties in (ties_x, ties_y)
    )
    crossed = (weights * rank_x[:, x] * rank_y[:, y]).sum(axis=1)
    spread = (ties_x * rank_x**2).sum(axis=1) * (ties_y * rank_y**2).sum(axis=1)
    return np.asarray(crossed / np.sqrt(np.where(usable, spread, 1.0)), dtype=np.float64)


def _pair_signs(x: IntArray, y: IntArray, codes: IntArray, k: int) -> FloatArray:
    """Concordant minus discordant pairs between every two clusters (k, k)."""
    order = np.argsort(codes, kind="stable")
    x, y, codes = x[order], y[order], codes[order]
    starts = np.searchsorted(codes, np.arange(k))
    signs = np.zeros((k, k))
    at_once = max(1, COUNTS_AT_ONCE // x.size)
    for start in range(0, x.size, at_once):
        part = slice(start, start + at_once)
        block = np.sign(x[part, None] - x[None, :]) * np.sign(y[part, None] - y[None, :])
        np.add.at(signs, codes[part], np.add.reduceat(block, starts, axis=1))
    return signs


def _kendall_from_pairs(
    drawn: FloatArray, pairs: FloatArray, ties_x: FloatArray, ties_y: FloatArray, usable: BoolArray
) -> FloatArray:
    net = ((drawn @ pairs) * drawn).sum(axis=1)
    n = ties_x.sum(axis=1)
    untied = (n**2 - (ties_x**2).sum(axis=1)) * (n**2 - (ties_y**2).sum(axis=1))
    return np.asarray(net / np.sqrt(np.where(usable, untied, 1.0)), dtype=np.float64)


def _kendall_by_draw(x: IntArray, y: IntArray, weights: FloatArray, usable: BoolArray) -> FloatArray:
    from scipy.stats import kendalltau

    values = np.zeros(len(weights))
    for row in np.flatnonzero(usable):
        repeats = weights[row].astype(np.int64)
        values[row] = kendalltau(np.repeat(x, repeats), np.repeat(y, repeats)).statistic
    return values

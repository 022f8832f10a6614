"""Leave-one-out agreement of raters with each other, and of a judge with them. PURE.

Every function takes one line per rating; tasks (units, items) and labels are integer codes from 0 up unless said
otherwise. Every interval is over whole tasks, or whole clusters of tasks where `clusters` labels each rating with one:
"wilson95" (see share_ends_of_clusters); under 20 clusters only the "leave_one_out_range"; "none", with ends equal to the
value, when `draws` is 0."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import share_ends_of_clusters
from calibration.statistics.agreement.rating_tables import (
    check_codes,
    compact,
    count_table,
    sum_by,
    task_clusters,
    with_two_raters,
)
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import (
    MIN_CLUSTERS,
    BoolArray,
    CountedStatistic,
    FloatArray,
    IntArray,
    Labels,
    cluster_intervals,
)
from calibration.statistics.shares import ShareInterval

Unusable: TypeAlias = Literal["exclude", "wrong"]


@dataclass(frozen=True)
class LeaveOneOut:
    """Inner leave-one-out agreement: how often a rater's label is the most frequent label of the others.

    `rate` is the unweighted mean over the `n_tasks` tasks with at least two raters, which hold `n_labels`
    ratings; `n_tasks_left_out` have one rater. `chance` is the rate that labels dealt to raters without regard to
    the task, from all labels given, would reach against the same modes. The ends are over `clusters`; `draws` is 0,
    because none is a bootstrap's.
    """

    rate: float
    n_tasks: int
    n_labels: int
    n_tasks_left_out: int
    low: float
    high: float
    interval_kind: ShareInterval
    chance: float
    clusters: int
    draws: int


@dataclass(frozen=True)
class OuterLeaveOneOut:
    """How often a judge's label is the most frequent label of all raters but one, over every rater left out.

    `n_tasks` tasks entered the rate, with `n_labels` ratings; `n_unusable` of the tasks with at least two raters
    had no usable verdict and were left out, or counted wrong if `unusable` is "wrong". `chance` is the rate of the
    judge's own labels dealt to the tasks at random.
    """

    rate: float
    n_tasks: int
    n_labels: int
    n_tasks_left_out: int
    n_unusable: int
    unusable: Unusable
    low: float
    high: float
    interval_kind: ShareInterval
    chance: float
    clusters: int
    draws: int


@dataclass(frozen=True)
class _Ends:
    low: float
    high: float
    kind: ShareInterval


def leave_one_out(
    tasks: IntArray, labels: IntArray, *, draws: int = 0, seed: int = 0, clusters: Labels | None = None
) -> LeaveOneOut:
    """Inner leave-one-out agreement (HREF, arXiv 2412.15524, algorithm 1), own computation.

    Tied modes count by their expectation: 1/(number of modes) where the own label is among them, which is what the
    algorithm's random choice gives on average. Raises TooFewRatings when no task has two raters.
    """
    lines, _ = compact(check_codes("Tasks", tasks))
    columns, _ = compact(check_codes("Labels", labels))
    counts = count_table(lines, columns)
    kept = with_two_raters(counts)
    table = counts[kept]
    matches, shares = left_out_modes(table)
    codes, k = task_clusters(lines, len(counts), clusters, kept)
    rates = sum_by(codes, k, np.column_stack([matches, np.ones(len(table))]))
    value, ends = _mean_with_ends(rates, draws, seed)
    pooled = table.sum(axis=0) / table.sum()
    return LeaveOneOut(
        rate=value,
        n_tasks=len(table),
        n_labels=int(table.sum()),
        n_tasks_left_out=int((counts.sum(axis=1) == 1).sum()),
        low=ends.low,
        high=ends.high,
        interval_kind=ends.kind,
        chance=float((shares @ pooled).mean()),
        clusters=k,
        draws=0,
    )


def outer_leave_one_out(
    tasks: IntArray,
    labels: IntArray,
    judge_labels: IntArray,
    *,
    unusable: Unusable = "exclude",
    draws: int = 0,
    seed: int = 0,
    clusters: Labels | None = None,
) -> OuterLeaveOneOut:
    """A judge against people (HREF, arXiv 2412.15524, algorithm 1, outer), own computation.

    judge_labels (m,) holds the judge's label of each task code, -1 where its verdict is unusable. Ties as in
    leave_one_out. Raises TooFewRatings when no task has two raters and, unless counted wrong, a usable verdict.
    """
    lines = check_codes("Tasks", tasks)
    columns = check_codes("Labels", labels)
    verdicts = np.asarray(judge_labels, dtype=np.int64)
    if int(lines.max()) >= verdicts.size:
        raise ValueError(f"Task {int(lines.max())} has no entry among {verdicts.size} judge labels; -1 is unusable.")
    counts = count_table(lines, columns)
    two = with_two_raters(counts)
    usable = verdicts[two] >= 0
    kept = two[usable] if unusable == "exclude" else two
    if not kept.size:
        raise TooFewRatings(0, 1, "tasks with a usable verdict")
    table = counts[kept]
    judged = verdicts[kept]
    _, shares = left_out_modes(table)
    # A label no rater ever gave is never a mode; one empty last column stands for it and for "unusable".
    padded = np.column_stack([shares, np.zeros(len(shares))])
    place = np.where((judged >= 0) & (judged < shares.shape[1]), judged, shares.shape[1])
    matches = padded[np.arange(len(padded)), place]
    codes, k = task_clusters(lines, len(counts), clusters, kept)
    rates = sum_by(codes, k, np.column_stack([matches, np.ones(len(table))]))
    value, ends = _mean_with_ends(rates, draws, seed)
    dealt = np.bincount(place, minlength=padded.shape[1]) / len(place)
    return OuterLeaveOneOut(
        rate=value,
        n_tasks=len(table),
        n_labels=int(table.sum()),
        n_tasks_left_out=int((counts.sum(axis=1) == 1).sum()),
        n_unusable=int((~usable).sum()),
        unusable=unusable,
        low=ends.low,
        high=ends.high,
        interval_kind=ends.kind,
        chance=float((padded @ dealt).mean()),
        clusters=k,
        draws=0,
    )


def matches_by_task(tasks: IntArray, labels: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Leave-one-out agreement task by task: (kept (m,), inner (m,), outer (m, highest label + 1)).

    `kept` are the task codes with at least two raters, `inner` the raters' match in each, and outer[t, l] what a judge
    that says l reaches in it. Their means over tasks are the rates of leave_one_out and outer_leave_one_out.
    """
    lines, given = compact(check_codes("Tasks", tasks))
    counts = count_table(lines, check_codes("Labels", labels))
    kept = with_two_raters(counts)
    matches, shares = left_out_modes(counts[kept])
    return given[kept].astype(np.int64), matches, shares


def left_out_modes(counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """For tasks (m, labels) counted with at least two raters each: what leaving out one rater after another gives.

    Returns matches (m,), the mean over raters of [own label is the others' mode], and shares (m, labels), the mean
    over raters of each label's part in the others' modes (1/number of modes if it is one, rows sum to 1).
    """
    raters = counts.sum(axis=1)
    matches = np.zeros(len(counts))
    shares = np.zeros(counts.shape)
    for label in range(counts.shape[1]):
        given = np.flatnonzero(counts[:, label])
        others = counts[given]
        others[:, label] -= 1
        modes = others == others.max(axis=1, keepdims=True)
        part = (counts[given, label] / raters[given] / modes.sum(axis=1))[:, None] * modes
        shares[given] += part
        matches[given] += part[:, label]
    return matches, shares


def _mean_with_ends(sums: FloatArray, draws: int, seed: int) -> tuple[float, _Ends]:
    """The mean over tasks from per-cluster sums (clusters, 2), with its ends."""
    k = len(sums)
    if draws and k >= MIN_CLUSTERS:
        low, high = share_ends_of_clusters(sums[:, 0], sums[:, 1])
        return float(sums[:, 0].sum() / sums[:, 1].sum()), _Ends(low, high, "wilson95")
    value, ends = cluster_intervals(_mean_statistic(sums), k, draws=draws, seed=seed)
    return float(value[0]), _Ends(float(ends.low[0]), float(ends.high[0]), ends.kind)


def _mean_statistic(sums: FloatArray) -> CountedStatistic:
    """The ratio of two per-cluster sums (clusters, 2): a mean over tasks."""

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = drawn @ sums
        return m[:, :1] / m[:, 1:2], np.ones(len(m), dtype=np.bool_)

    return statistic

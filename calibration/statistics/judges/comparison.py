"""A judge compared with people: accuracy against their majority, confusions. PURE."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.leave_one_out import Unusable
from calibration.statistics.agreement.rating_tables import check_codes, count_table, sum_by, task_clusters
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray, IntervalKind, Labels, cluster_intervals

Ties: TypeAlias = Literal["exclude", "share"]


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

"""Whether a judge repeats one person: its answers follow what sets that person apart from the others. PURE.

An honest judge has only the quality of a response in common with a person r. With m the mean of the other people on a task,
cov(j, v_r) is then cov(j, m) cov(v_r, m) / G, where G, the mean covariance of two others, is the variance of quality; this
holds for raters who use the scale more or less widely. What is left over that, divided by the variance that r does not owe
to quality, is the share of r's own deviations in the judge's answers: 0 for an honest judge, 1 for a copy of r.
"""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import CrossedVariance, named_variance
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray
from judging.audit.measures import NOTHING, Lines

OTHERS = 2
"""Fewest other people on a task, so that quality can be told from their noise."""


@dataclass(frozen=True)
class CopiedShare:
    """The share of one person's deviations that a judge repeats; `person` is the place in the ratings' people."""

    person: int
    found: CrossedVariance


def copied_shares(lines: Lines, people: np.ndarray) -> list[CopiedShare]:
    """One share for each person with 20 instructions on which the judge and two others answered too.

    `people` (n,) numbers the person of each line. The variance is the jackknife's over instructions: a share is about one
    person, who is not drawn again. Persons for whom it is not defined are left out.
    """
    task, value = lines.task, lines.value
    tasks = len(lines.counts)
    totals = np.bincount(task, weights=value, minlength=tasks)
    squares = np.bincount(task, weights=value**2, minlength=tasks)
    order = np.argsort(people, kind="stable")
    bounds = np.flatnonzero(np.diff(people[order])) + 1
    found = []
    for own in np.split(order, bounds):
        at, v = task[own], value[own]
        others = lines.counts[at] - 1.0
        enough = others >= OTHERS
        at, v, others = at[enough], v[enough], others[enough]
        codes = np.unique(lines.instruction[at], return_inverse=True)[1].reshape(-1)
        if not codes.size or int(codes.max()) + 1 < MIN_CLUSTERS:
            continue
        total, square = totals[at] - v, squares[at] - v**2
        mean, product = total / others, (total**2 - square) / (others * (others - 1))
        judge = lines.judge[at]
        columns = np.column_stack([np.ones_like(v), v, judge, mean, v * judge, v * mean, judge * mean, product, v**2])
        sums: FloatArray = np.column_stack([np.bincount(codes, weights=column) for column in columns.T]).astype(
            np.float64
        )
        with suppress(NoStatistic):
            share = named_variance(sums, _statistic)
            if np.isfinite(share.these[0]):
                found.append(CopiedShare(int(people[own[0]]), share))
    return found


def _statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
    n = sums[:, :1]
    v, j, m, vj, vm, jm, product, vv = (sums[:, 1:] / n).T
    quality = product - m**2
    defined = quality > NOTHING
    slope = np.where(defined, (vm - v * m) / np.where(defined, quality, 1.0), 0.0)
    apart = vv - v**2 - slope * (vm - v * m)
    defined &= apart > NOTHING
    shared = vj - v * j - slope * (jm - j * m)
    return (shared / np.where(defined, apart, 1.0))[:, None], defined

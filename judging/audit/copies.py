"""Whether a judge repeats one person: its answers follow what sets that person apart from the others. PURE.

An honest judge has only the quality q of a response in common with a person r, however widely each uses the scale. The other
people are split into two halves; with their means a and b on a task, cov(v_r, a) = l_r l_a Q, cov(j, b) = l_j l_b Q and
cov(a, b) = l_a l_b Q, where Q is the variance of q and l how widely each uses the scale. So cov(j, v_r) is then
cov(v_r, a) cov(j, b) / cov(a, b). What is left over that, divided by var(v_r) - cov(v_r, a) cov(v_r, b) / cov(a, b), the
variance that r does not owe to quality, is the share of r's own deviations in the judge's answers: 0 for an honest judge, 1
for one that adds all that r adds.
"""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import CrossedVariance, named_variance
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray
from judging.audit.measures import NOTHING, Lines

OTHERS = 2
"""Fewest other people on a task: one in each half."""
LEAST_APART = 0.05
"""The share of a person's variance that must not be owed to quality; with less there is nothing that could be repeated."""


@dataclass(frozen=True)
class CopiedShare:
    """The share of one person's deviations that a judge repeats; `person` is the place in the ratings' people."""

    person: int
    found: CrossedVariance


def copied_shares(lines: Lines, people: IntArray) -> list[CopiedShare]:
    """One share for each person with 20 instructions on which the judge and others of both halves answered too.

    `people` (n,) numbers the person of each line. The variance is the jackknife's over instructions: a share is about one
    person, who is not drawn again. Persons for whom it is not defined are left out.
    """
    order = np.argsort(people, kind="stable")
    found = []
    for own in np.split(order, np.flatnonzero(np.diff(people[order])) + 1):
        sums = _sums(lines, people, own)
        if len(sums) < MIN_CLUSTERS:
            continue
        with suppress(NoStatistic):
            share = named_variance(sums, _statistic)
            if np.isfinite(share.these[0]):
                found.append(CopiedShare(int(people[own[0]]), share))
    return found


def _sums(lines: Lines, people: IntArray, own: IntArray) -> FloatArray:
    """Sums by instruction (instructions, 12) over the tasks of the lines `own`, which are one person's."""
    at, counts = lines.task[own], lines.counts[lines.task[own]]
    place = np.repeat(np.arange(len(at)), counts)
    others = np.repeat(lines.first[:-1][at] - np.cumsum(counts) + counts, counts) + np.arange(len(place))
    person = int(people[own[0]])
    other, value = people[others], lines.value[others]
    half = (other - (other > person)) % 2
    means = []
    for side in (0, 1):
        inside = (half == side) & (other != person)
        given = np.bincount(place[inside], minlength=len(at))
        total = np.bincount(place[inside], weights=value[inside], minlength=len(at))
        means.append(np.divide(total, given, out=np.full(len(at), np.nan), where=given > 0))
    kept = np.isfinite(means[0]) & np.isfinite(means[1])
    v, j, a, b = (given[kept] for given in (lines.value[own], lines.judge[at], *means))
    if not v.size:
        return np.zeros((0, 12))
    codes = np.unique(lines.instruction[at][kept], return_inverse=True)[1].reshape(-1)
    columns = (np.ones_like(v), v, j, a, b, v * j, v * a, v * b, j * a, j * b, a * b, v**2)
    return np.column_stack([np.bincount(codes, weights=column) for column in columns]).astype(np.float64)


def _statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
    n = sums[:, :1]
    v, j, a, b, vj, va, vb, ja, jb, ab, vv = (sums[:, 1:] / n).T
    quality = ab - a * b
    defined = quality > NOTHING
    safe = np.where(defined, quality, 1.0)
    va, vb, ja, jb, spread = va - v * a, vb - v * b, ja - j * a, jb - j * b, vv - v**2
    apart = spread - va * vb / safe
    defined &= apart > LEAST_APART * spread
    shared = vj - v * j - (va * jb + vb * ja) / 2 / safe
    return (shared / np.where(defined, apart, 1.0))[:, None], defined

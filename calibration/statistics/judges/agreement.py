"""Leave-one-out agreement of judges beside that of people, on the same tasks, and of judges with each other. PURE.

A judge's agreement is outer, people's inner leave-one-out agreement (HREF, see leave_one_out.py). A judge stands beside
people on the tasks it judged; judges are compared with each other on tasks that all of them judged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from calibration.statistics.agreement.leave_one_out import left_out_modes
from calibration.statistics.agreement.rating_tables import count_table
from calibration.statistics.codes import numbered
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.estimates import PeopleEstimate, best_of_pairs, estimates_of, holm
from calibration.statistics.populations import Scale, TaskSums
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray

LEAST_COMMON = 20
"""Tasks that all judges must share to be ranked; they must also be half of the smallest set of tasks."""


@dataclass(frozen=True)
class LabelledTasks:
    """People's labels, one line each (n,): task, label, rater and instruction are codes from 0 up.

    `positions`: the raters are positions of a data set and not persons.
    """

    task: IntArray
    label: IntArray
    rater: IntArray
    instruction: IntArray
    positions: bool = False


@dataclass(frozen=True)
class Beside:
    """A judge's agreement with people, people's among themselves, and the first minus the second, on `n` tasks."""

    judge: PeopleEstimate
    people: PeopleEstimate
    apart: PeopleEstimate
    n: int


@dataclass(frozen=True)
class BesideBaseline:
    """Agreement with people of a judge and of a baseline judge, and of people among themselves, on `n` common tasks.

    `gain` is the judge's minus the baseline's.
    """

    judge: PeopleEstimate
    baseline: PeopleEstimate
    people: PeopleEstimate
    gain: PeopleEstimate
    n: int


@dataclass(frozen=True)
class JudgePair:
    """Agreement of the judges at places `one` and `other` on their `n` common tasks, and the first minus the second.

    `p` is Holm's, corrected for all pairs of the table; None where the difference has no 95 % interval.
    """

    one: int
    other: int
    n: int
    difference: PeopleEstimate
    p: float | None


@dataclass(frozen=True)
class JudgesCompared:
    """Judges compared with each other. `n_common` tasks were judged by all, `n_smallest` by the judge with the fewest.

    `ranked`: these are enough for a ranking; `rates` and `people` are then those on the common tasks, and every pair is
    compared on them. Otherwise a pair is compared on its own common tasks, and `rates` are empty. `best` is the place of
    the judge that is better than every other after Holm's correction over all pairs, None where none is shown to be.
    """

    n_common: int
    n_smallest: int
    ranked: bool
    rates: list[PeopleEstimate]
    people: PeopleEstimate | None
    pairs: list[JudgePair]
    best: int | None


def beside_people(people: LabelledTasks, verdicts: IntArray, *, seed: int = 0) -> Beside:
    """A judge's verdicts (highest task + 1,), -1 for none, beside people. Raises TooFewRatings without a common task."""
    table = _Table.of(people, verdicts[None])
    judge, theirs, apart = table.estimates(
        ["share", "share", "plain"], lambda rates: [rates[:, 0], rates[:, 1], rates[:, 0] - rates[:, 1]], seed
    )
    return Beside(judge, theirs, apart, table.n)


def beside_baseline(
    people: LabelledTasks, verdicts: IntArray, *, confidence: float = 0.95, seed: int = 0
) -> BesideBaseline:
    """A judge beside a baseline, verdicts (2, highest task + 1), -1 for none, on the tasks that both judged.

    The interval of the gain has this `confidence`, those of the agreements 95 %. Raises TooFewRatings without a common task.
    """
    table = _Table.of(people, verdicts)
    judge, baseline, theirs = table.estimates(["share"] * 3, lambda rates: list(rates.T), seed)
    (gain,) = table.estimates(["plain"], lambda rates: [rates[:, 0] - rates[:, 1]], seed, confidence)
    return BesideBaseline(judge, baseline, theirs, gain, table.n)


def same_as_majority(people: LabelledTasks, verdicts: IntArray, *, seed: int = 0) -> PeopleEstimate:
    """The share of tasks on which a judge gives the label that more people gave than any other (see MajorityAccuracy).

    verdicts (highest task + 1,), -1 for none. A task without a single such label is left out, also where it has none once a
    rater is left out. Raises TooFewRatings where no task is left.
    """
    counts = count_table(people.task, people.label)
    kept = np.flatnonzero((counts.sum(axis=1) > 0) & (verdicts[: len(counts)] >= 0))
    place = np.full(len(counts), -1, dtype=np.int64)
    place[kept] = np.arange(kept.size)
    order = np.argsort(place[people.task], kind="stable")
    order = order[place[people.task][order] >= 0]
    task, column = place[people.task][order], people.label[order]
    table, said = counts[kept], verdicts[kept]
    width = counts.shape[1]

    def adds(rows: IntArray, at: IntArray) -> FloatArray:
        top = rows.max(axis=1)
        single = ((rows == top[:, None]).sum(axis=1) == 1) & (top > 0)
        own = np.where(said[at] < width, rows[np.arange(len(rows)), np.minimum(said[at], width - 1)], -1)
        return np.column_stack([single & (own == top), single]).astype(np.float64)

    def whole(start: int, end: int) -> FloatArray:
        return adds(table[start:end], np.arange(start, end))

    def without(start: int, end: int) -> FloatArray:
        left = table[task[start:end]]
        left[np.arange(end - start), column[start:end]] -= 1
        return adds(left, task[start:end])

    def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        return _ratios(sums)

    if not kept.size or not whole(0, kept.size)[:, 1].any():
        raise TooFewRatings(0, 1, "tasks with a single most frequent label and a usable verdict")
    instruction = np.zeros(kept.size, dtype=np.int64)
    instruction[task] = numbered(people.instruction[order])[0]
    first = np.searchsorted(task, np.arange(kept.size + 1))
    sums = TaskSums(instruction, numbered(people.rater[order])[0], first, 2, whole, without)
    (found,) = estimates_of(sums, statistic, ["share"], positions=people.positions, seed=seed)
    return found


def people_among_themselves(people: LabelledTasks, *, seed: int = 0) -> tuple[PeopleEstimate, int]:
    """People's inner leave-one-out agreement, and on how many tasks. Raises TooFewRatings."""
    table = _Table.of(people, np.zeros((0, int(people.task.max(initial=0)) + 1), dtype=np.int64))
    (found,) = table.estimates(["share"], lambda rates: [rates[:, 0]], seed)
    return found, table.n


def compare_judges(people: LabelledTasks, verdicts: IntArray, *, seed: int = 0) -> JudgesCompared:
    """Compare two or more judges; verdicts (judges, highest task + 1), -1 for none. Raises TooFewRatings under two."""
    if len(verdicts) < 2:
        raise TooFewRatings(len(verdicts), 2, "judges")
    rated = np.bincount(people.task, minlength=verdicts.shape[1]) > 1
    judged = (verdicts >= 0) & rated
    common, smallest = int(judged.all(axis=0).sum()), int(judged.sum(axis=1).min())
    ranked = common >= LEAST_COMMON and 2 * common >= smallest
    places = list(combinations(range(len(verdicts)), 2))
    rates: list[PeopleEstimate] = []
    theirs = None
    pairs: list[tuple[int, PeopleEstimate]] = []
    if ranked:
        table = _Table.of(people, verdicts)
        width = len(verdicts)
        share: list[Scale] = ["share"]
        plain: list[Scale] = ["plain"]
        found = table.estimates(
            share * (width + 1) + plain * len(places),
            lambda rate: [*rate.T, *(rate[:, one] - rate[:, other] for one, other in places)],
            seed,
        )
        rates, theirs = found[:width], found[width]
        pairs = [(table.n, one) for one in found[width + 1 :]]
    else:
        for one, other in places:
            pairs.append(_pair(people, verdicts[[one, other]], seed))
    known = [(place, n, found) for place, (n, found) in zip(places, pairs, strict=True) if n]
    corrected = holm([found.p for _place, _n, found in known])
    rows = [JudgePair(*place, n, found, p) for (place, n, found), p in zip(known, corrected, strict=True)]
    return JudgesCompared(
        common, smallest, ranked, rates, theirs, rows, best_of_pairs(rows, len(verdicts)) if ranked else None
    )


def _pair(people: LabelledTasks, verdicts: IntArray, seed: int) -> tuple[int, PeopleEstimate]:
    nothing = PeopleEstimate(0.0, 0.0, 0.0, "none", "these", None, None, None, "few_instructions", 0, 0)
    try:
        table = _Table.of(people, verdicts)
    except TooFewRatings:
        return 0, nothing
    (found,) = table.estimates(["plain"], lambda rate: [rate[:, 0] - rate[:, 1]], seed)
    return table.n, found


Combine: TypeAlias = Callable[[FloatArray], Sequence[FloatArray]]
"""Rates (n, judges + 1) of the judges, and of people in the last column -> quantities, each (n,)."""


@dataclass(frozen=True)
class _Table:
    """The tasks with two raters or more and a verdict of every judge: what each adds to the sums, and its ratings."""

    sums: TaskSums
    n: int
    positions: bool

    @classmethod
    def of(cls, people: LabelledTasks, verdicts: IntArray) -> "_Table":
        counts = count_table(people.task, people.label)
        several = counts.sum(axis=1) > 1
        judged = np.asarray(verdicts[:, : len(counts)] >= 0).all(axis=0)
        kept = np.flatnonzero(several & judged)
        if not kept.size:
            raise TooFewRatings(0, 1, "tasks with a usable verdict that two people answered")
        place = np.full(len(counts), -1, dtype=np.int64)
        place[kept] = np.arange(kept.size)
        order = np.argsort(place[people.task], kind="stable")
        order = order[place[people.task][order] >= 0]
        task, column = place[people.task][order], people.label[order]
        table, said = counts[kept], verdicts[:, kept]
        width = counts.shape[1]

        def adds(rows: IntArray, at: IntArray) -> FloatArray:
            matches, shares = left_out_modes(rows)
            # A label that no rater ever gave is never a mode.
            padded = np.column_stack([shares, np.zeros(len(shares))])
            label = np.minimum(said[:, at], width)
            return np.column_stack([*padded[np.arange(len(rows)), label], matches, np.ones(len(rows))])

        def whole(start: int, end: int) -> FloatArray:
            return adds(table[start:end], np.arange(start, end))

        def without(start: int, end: int) -> FloatArray:
            left = table[task[start:end]]
            left[np.arange(end - start), column[start:end]] -= 1
            found = np.zeros((end - start, len(said) + 2))
            enough = left.sum(axis=1) > 1
            if enough.any():
                found[enough] = adds(left[enough], task[start:end][enough])
            return found

        instruction = np.zeros(kept.size, dtype=np.int64)
        instruction[task] = numbered(people.instruction[order])[0]
        first = np.searchsorted(task, np.arange(kept.size + 1))
        rater = numbered(people.rater[order])[0]
        sums = TaskSums(instruction, rater, first, len(said) + 2, whole, without)
        return cls(sums, int(kept.size), people.positions)

    def estimates(
        self, scales: Sequence[Scale], combine: Combine, seed: int, confidence: float = 0.95
    ) -> list[PeopleEstimate]:
        def statistic(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
            rates, defined = _ratios(sums)
            return np.column_stack(combine(rates)), defined

        return estimates_of(self.sums, statistic, scales, positions=self.positions, seed=seed, confidence=confidence)


def _ratios(sums: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The sums but for the last, over the last."""
    n = sums[:, -1:]
    return sums[:, :-1] / np.maximum(n, 1.0), np.asarray(np.rint(n[:, 0]) > 0, dtype=np.bool_)

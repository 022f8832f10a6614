"""How raters work: pace, straight-lining, sides, failed attention checks. PURE.

One line per answer; `raters` labels it with the rater who gave it. These are signs that deserve a check, not
verdicts on a person.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.proportions import Proportion, clustered_proportions, first_labels, p_against
from calibration.statistics.codes import numbered
from calibration.statistics.crossed import holm
from calibration.statistics.errors import out_of_range
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray, Labels, cluster_codes

CLEAR = 0.01
"""The level at which a rater is said to prefer one side."""


@dataclass(frozen=True)
class Pace:
    """Seconds of a rater per 100 words shown: `total` is all seconds over all words, `median` the median of `n` answers."""

    total: float
    median: float
    n: int


@dataclass(frozen=True)
class SameAnswers:
    """Straight-lining: `most_common` is the share of a rater's most common answer among its `n` answers.

    `flat_tasks` of the `tasks` tasks with at least two answers have the same answer throughout.
    """

    most_common: float
    n: int
    flat_tasks: int
    tasks: int


@dataclass(frozen=True)
class SidePreference:
    """Proportion of a rater's decided comparisons (ties left out) won by the side shown first.

    `p` is the two-sided probability of a share as far from one half; it inverts the interval over clusters, and is None
    where that is not stated. `preferred` says that it is below .01 after Holm's correction for the number of raters.
    """

    first: Proportion
    p: float | None
    ties: int
    preferred: bool


def reading_pace(seconds: FloatArray, words: FloatArray, raters: Labels) -> dict[Hashable, Pace]:
    """Active seconds (n,) over the words shown (n,), for each rater.

    Raises Undefined (OutOfRange) for no words and for negative time.
    """
    time, shown = np.asarray(seconds, dtype=np.float64), np.asarray(words, dtype=np.float64)
    _same_length(time.size, shown.size, len(raters))
    if time.size and not (np.isfinite(time).all() and time.min() >= 0):
        raise out_of_range("Seconds", 0, float("inf"), float(time.min()))
    if shown.size and not (np.isfinite(shown).all() and shown.min() >= 1):
        raise out_of_range("Words shown", 1, float("inf"), float(shown.min()))
    return {
        name: Pace(
            total=float(100 * time[own].sum() / shown[own].sum()),
            median=float(np.median(100 * time[own] / shown[own])),
            n=int(own.size),
        )
        for name, own in _lines_of(raters)
    }


def same_answers(answers: Labels, *, tasks: Labels, raters: Labels) -> dict[Hashable, SameAnswers]:
    """Proportion of the most common answer and number of straight-lined tasks of each rater; answers (n,) are any labels."""
    answer, _ = cluster_codes(answers)
    task, _ = cluster_codes(tasks)
    _same_length(answer.size, task.size, len(raters))
    rater, people = cluster_codes(raters)
    if not rater.size:
        return {}
    n = np.bincount(rater, minlength=people)
    kinds, answers_of = numbered(rater * (int(answer.max()) + 1) + answer)
    most = np.zeros(people, dtype=np.int64)
    np.maximum.at(most, answers_of // (int(answer.max()) + 1), np.bincount(kinds))
    # A task has been given one answer alone where it has one kind of answers, and several answers.
    place, tasks_of = numbered(rater * (int(task.max()) + 1) + task)
    owner = tasks_of // (int(task.max()) + 1)
    several = np.bincount(place) >= 2
    _, differing = numbered(place * (int(answer.max()) + 1) + answer)
    alike = np.bincount(differing // (int(answer.max()) + 1)) == 1
    tasks_each = np.bincount(owner[several], minlength=people)
    flat = np.bincount(owner[several & alike], minlength=people)
    return {
        name: SameAnswers(
            most_common=float(most[code] / n[code]),
            n=int(n[code]),
            flat_tasks=int(flat[code]),
            tasks=int(tasks_each[code]),
        )
        for name, code in first_labels(raters, rater, people)
    }


def side_preference(
    preferred: IntArray, *, raters: Labels, clusters: Labels | None = None
) -> dict[Hashable, SidePreference]:
    """How often each rater prefers the side shown first; preferred (n,): 1 the first side, 2 the second, 0 a tie.

    Raters who only gave ties are left out. Raises Undefined (OutOfRange) for any other code.
    """
    side = np.asarray(preferred, dtype=np.int64)
    cluster, _ = cluster_codes(np.arange(side.size) if clusters is None else clusters)
    _same_length(side.size, cluster.size, len(raters))
    if not np.isin(side, (0, 1, 2)).all():
        raise out_of_range("Sides", 0, 2, float(side[~np.isin(side, (0, 1, 2))][0]))
    shares = {}
    for name, own in _lines_of(raters):
        decided = own[side[own] > 0]
        if decided.size:
            share = clustered_proportions(side[decided] == 1, np.zeros(decided.size, dtype=np.int64), cluster[decided])[
                0
            ]
            shares[name] = share, p_against(share, 0.5), int(own.size - decided.size)
    known = [name for name, (_, p, _) in shares.items() if p is not None]
    adjusted = holm(np.array([shares[name][1] for name in known], dtype=np.float64))
    clear = {name for name, p in zip(known, adjusted, strict=True) if p < CLEAR}
    return {name: SidePreference(*one, preferred=name in clear) for name, one in shares.items()}


def failed_controls(failed: BoolArray, raters: Labels, *, clusters: Labels | None = None) -> dict[Hashable, Proportion]:
    """Proportion of attention checks and gold items that each rater failed; failed (n,) has one line per check."""
    _same_length(len(failed), len(raters), len(raters))
    return clustered_proportions(failed, raters, np.arange(len(raters)) if clusters is None else clusters)


def _lines_of(raters: Labels) -> list[tuple[Hashable, IntArray]]:
    """Each rater with the places of its lines."""
    codes, count = cluster_codes(raters)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(count + 1))
    return [(name, order[ends[code] : ends[code + 1]]) for name, code in first_labels(raters, codes, count)]


def _same_length(first: int, second: int, raters: int) -> None:
    if not first == second == raters:
        raise ValueError(f"Lines of {first}, {second} and {raters} raters do not match; give one for each answer.")

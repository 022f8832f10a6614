"""How raters work: pace, straight-lining, sides, drift over the session, failed controls. PURE.

One line per answer; `raters` labels it with the rater who gave it. These are signs that deserve a check, not
verdicts on a person.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from calibration.statistics.agreement.proportions import Proportion, clustered_proportions, first_labels
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import ConstantScores, OutOfRange, TooFewRatings
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

    `p` is the exact two-sided binomial probability of a share as far from one half, for independent comparisons with
    sides drawn at random.
    """

    first: Proportion
    p: float
    ties: int


@dataclass(frozen=True)
class SessionDrift:
    """Change of a rater's scores, compared with others' on the same items, from its first to its last answer.

    `change` is in points of the scale, the slope over positions scaled to 0..1; the interval draws whole items.
    """

    change: float
    low: float
    high: float
    interval_kind: IntervalKind
    n: int
    clusters: int


def reading_pace(seconds: FloatArray, words: FloatArray, raters: Labels) -> dict[Hashable, Pace]:
    """Active seconds (n,) over the words shown (n,), for each rater. Raises OutOfRange for no words, negative time."""
    time, shown = np.asarray(seconds, dtype=np.float64), np.asarray(words, dtype=np.float64)
    _same_length(time.size, shown.size, len(raters))
    if time.size and not (np.isfinite(time).all() and time.min() >= 0):
        raise OutOfRange("Seconds", 0, float("inf"), float(time.min()))
    if shown.size and not (np.isfinite(shown).all() and shown.min() >= 1):
        raise OutOfRange("Words shown", 1, float("inf"), float(shown.min()))
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
    found = {}
    for name, own in _lines_of(raters):
        _, place = np.unique(task[own], return_inverse=True)
        low = np.full(int(place.max()) + 1, np.iinfo(np.int64).max)
        high = np.full(low.size, -1, dtype=np.int64)
        np.minimum.at(low, place.reshape(-1), answer[own])
        np.maximum.at(high, place.reshape(-1), answer[own])
        several = np.bincount(place.reshape(-1)) >= 2
        found[name] = SameAnswers(
            most_common=float(np.bincount(answer[own]).max() / own.size),
            n=int(own.size),
            flat_tasks=int((several & (low == high)).sum()),
            tasks=int(several.sum()),
        )
    return found


def side_preference(
    preferred: IntArray, *, raters: Labels, clusters: Labels | None = None
) -> dict[Hashable, SidePreference]:
    """How often each rater prefers the side shown first; preferred (n,): 1 the first side, 2 the second, 0 a tie.

    Raters who only gave ties are left out. Raises OutOfRange for any other code.
    """
    side = np.asarray(preferred, dtype=np.int64)
    cluster, _ = cluster_codes(np.arange(side.size) if clusters is None else clusters)
    _same_length(side.size, cluster.size, len(raters))
    if not np.isin(side, (0, 1, 2)).all():
        raise OutOfRange("Sides", 0, 2, float(side[~np.isin(side, (0, 1, 2))][0]))
    found = {}
    for name, own in _lines_of(raters):
        decided = own[side[own] > 0]
        if decided.size:
            share = clustered_proportions(side[decided] == 1, np.zeros(decided.size, dtype=np.int64), cluster[decided])[
                0
            ]
            fewer = min(share.hits, share.n - share.hits)
            p = min(1.0, 2 * float(bdtr(fewer, share.n, 0.5)))
            found[name] = SidePreference(share, p, int(own.size - decided.size))
    return found


def failed_controls(failed: BoolArray, raters: Labels, *, clusters: Labels | None = None) -> dict[Hashable, Proportion]:
    """Proportion of attention checks and gold items that each rater failed; failed (n,) has one line per check."""
    _same_length(len(failed), len(raters), len(raters))
    return clustered_proportions(failed, raters, np.arange(len(raters)) if clusters is None else clusters)


def session_drift(
    scores: FloatArray, positions: FloatArray, *, items: Labels, raters: Labels, draws: int = 1000, seed: int = 0
) -> dict[Hashable, SessionDrift]:
    """Least-squares slope of (score - mean of the others on that item) over the position in the session, per rater.

    positions (n,) are any numbers that grow through a rater's session. Items that nobody else scored are left out, and
    raters with fewer than three scores left or a single position are left out. Raises TooFewRatings where nobody is left,
    ConstantScores where every score is the same.
    """
    values, when = np.asarray(scores, dtype=np.float64), np.asarray(positions, dtype=np.float64)
    _same_length(values.size, when.size, len(raters))
    if values.size and np.ptp(values) == 0:
        raise ConstantScores("scores", float(values[0]))
    item, k = cluster_codes(items)
    owner, _ = cluster_codes(raters)
    total, given = sum_by(item, k, values), sum_by(item, k, np.ones_like(values))
    pair = np.unique(owner * max(k, 1) + item, return_inverse=True)[1].reshape(-1)
    cells = int(pair.max(initial=-1)) + 1
    own_total, own_n = sum_by(pair, cells, values)[pair], sum_by(pair, cells, np.ones_like(values))[pair]
    others = given[item] - own_n
    apart = values - (total[item] - own_total) / np.maximum(others, 1.0)
    found = {}
    for name, lines in _lines_of(raters):
        own = lines[others[lines] > 0]
        if own.size >= 3 and np.ptp(when[own]) > 0:
            place = (when[own] - when[own].min()) / np.ptp(when[own])
            found[name] = _drift(place, apart[own], item[own], draws, seed)
    if not found:
        raise TooFewRatings(0, 1, "raters with three scores on items that others scored")
    return found


def _drift(place: FloatArray, apart: FloatArray, item: IntArray, draws: int, seed: int) -> SessionDrift:
    cluster, k = cluster_codes(item)
    x, y = place - place.mean(), apart - apart.mean()
    sums = sum_by(cluster, k, np.column_stack([np.ones_like(x), x, y, x * x, x * y]))
    value, ends = cluster_intervals(_slope(sums), k, draws=draws, seed=seed)
    return SessionDrift(float(value[0]), float(ends.low[0]), float(ends.high[0]), ends.kind, int(x.size), k)


def _slope(sums: FloatArray) -> CountedStatistic:
    """Slope from per-cluster sums of 1, x, y, xx, xy."""

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        n, x, y, xx, xy = (drawn @ sums).T
        spread = n * xx - x * x
        usable = spread > 1e-9 * np.maximum(n * n, 1.0)
        return ((n * xy - x * y) / np.where(usable, spread, 1.0))[:, None], usable

    return statistic


def _lines_of(raters: Labels) -> list[tuple[Hashable, IntArray]]:
    """Each rater with the places of its lines."""
    codes, count = cluster_codes(raters)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(count + 1))
    return [(name, order[ends[code] : ends[code + 1]]) for name, code in first_labels(raters, codes, count)]


def _same_length(first: int, second: int, raters: int) -> None:
    if not first == second == raters:
        raise ValueError(f"Lines of {first}, {second} and {raters} raters do not match; give one for each answer.")

"""Does a rater give the same answer when the same task comes again? PURE."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.kappas import Kappa, cohen_kappa
from calibration.statistics.agreement.proportions import (
    Proportion,
    clustered_proportions,
    first_labels,
    wilson_ends_of_clusters,
)
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import NoStatistic, TooFewRatings
from calibration.statistics.resampling import (
    MIN_CLUSTERS,
    BoolArray,
    CountedStatistic,
    FloatArray,
    IntArray,
    Labels,
    cluster_codes,
    cluster_intervals,
)
from calibration.statistics.shares import ShareInterval

Sides: TypeAlias = Literal["same", "swapped"]


@dataclass(frozen=True)
class RepeatRate:
    """Consistency over `units` repeated units: value = `most_frequent` answers over the number of times `asked`.

    Never below 1/(times asked): with two askings of each unit it lies in 0.5..1. From 20 clusters of units on, the ends
    are Wilson's ("wilson95") of the share of second and later askings that gave the same answer, with the effective
    number of the clusters (see proportions.py); for a unit asked twice that is the first-repeat agreement. A bootstrap
    says "1 to 1" of a rater who never differed in 20 repeats, and covers the truth in 64 % for one who differs in 5 %.
    """

    value: float
    low: float
    high: float
    interval_kind: ShareInterval
    most_frequent: int
    asked: int
    units: int
    clusters: int
    draws: int


@dataclass(frozen=True)
class Consistency:
    """Per rater with at least one repeated unit, and for all of them together.

    `first_repeat` is the share of repeated units whose second answer equals the first. `asked_once` (rater, unit)
    pairs were never repeated and are left out.
    """

    raters: Mapping[Hashable, RepeatRate]
    overall: RepeatRate
    first_repeat: Mapping[Hashable, Proportion]
    first_repeat_overall: Proportion
    asked_once: int


@dataclass(frozen=True)
class AskedAgain:
    """Repeated (rater, unit) pairs in order of rater, each array (m,): who, cluster, times asked, most frequent
    answer's count, codes of the first and the second answer."""

    rater: IntArray
    cluster: IntArray
    times: IntArray
    most: IntArray
    first: IntArray
    second: IntArray
    once: int


def consistency(
    answers: Labels,
    *,
    units: Labels,
    raters: Labels,
    order: IntArray,
    clusters: Labels | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Consistency:
    """Repeat consistency (LLMEval, arXiv 2312.07398, section on consistency): (1, 1, 1, 0) gives 3/4.

    One line per answer: answers (n,) any labels, units what was asked (a task, or a task and criterion), order (n,)
    ascending in time within a unit and rater, clusters what units belong together (the task or instruction; without:
    the unit). A rater's rate is the total of most frequent counts over the total of times asked. Raises
    TooFewRatings if nobody was asked anything twice.
    """
    asked = repeated_counts(answers, units=units, raters=raters, order=order, clusters=clusters)
    codes, people = cluster_codes(raters)
    names = {code: name for name, code in first_labels(raters, codes, people)}
    ends = np.searchsorted(asked.rater, np.arange(people + 1))
    rates = {
        names[code]: _rate(asked, slice(int(ends[code]), int(ends[code + 1])), draws, seed)
        for code in range(people)
        if ends[code] < ends[code + 1]
    }
    same = asked.first == asked.second
    by_rater = clustered_proportions(same, asked.rater, asked.cluster)
    everyone = clustered_proportions(same, np.zeros(same.size, dtype=np.int64), asked.cluster)
    return Consistency(
        raters=rates,
        overall=_rate(asked, slice(None), draws, seed),
        first_repeat={names[int(str(code))]: share for code, share in by_rater.items()},
        first_repeat_overall=everyone[0],
        asked_once=asked.once,
    )


def repeat_kappa(
    values: FloatArray,
    *,
    units: Labels,
    raters: Labels,
    order: IntArray,
    weights: Literal["linear", "quadratic"] | None = "quadratic",
    clusters: Labels | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Kappa:
    """Weighted Cohen's kappa between first and second answers on an ordered scale, values (n,) as in consistency.

    Levels are equally far apart in the order of the values that occur. Raises TooFewRatings under two repeated
    units, Undefined (NoDisagreementPossible) where only one value was ever given.
    """
    scores = np.asarray(values, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise NoStatistic("Ratings must be finite numbers; leave out the ones that are missing.")
    levels = np.unique(scores, return_inverse=True)[1].reshape(-1)
    asked = _repeated(levels, units, raters, order, clusters)
    if asked.rater.size < 2:
        raise TooFewRatings(int(asked.rater.size), 2, "tasks that one rater answered twice")
    # Codes number answers by first appearance; the scale's own order is what the weights are about.
    codes, count = cluster_codes(levels)
    level_of = np.array([int(str(level)) for level, _ in first_labels(levels, codes, count)], dtype=np.int64)
    first, second = level_of[asked.first], level_of[asked.second]
    return cohen_kappa(first, second, weights=weights, draws=draws, seed=seed, clusters=asked.cluster)


def pair_consistency(
    first: Labels, again: Labels, *, swapped: BoolArray, clusters: Labels | None = None
) -> dict[Sides, Proportion]:
    """Agreement of repeated comparisons of two responses, apart for sides shown as before and sides swapped.

    first and again (n,) name the response preferred (or a tie), not the side; swapped (n,) is true where the sides
    had changed; clusters (n,) what repeats belong together (without: each for itself). A key is missing where no
    repeat was of that kind. A rater who follows the side rather than the text agrees when they are the same and
    not when they are swapped. Raises TooFewRatings without repeats.
    """
    turned = np.asarray(swapped, dtype=np.bool_)
    if not len(first) == len(again) == turned.size:
        raise ValueError(f"{len(first)} first answers, {len(again)} repeats, {turned.size} sides; give all of each.")
    if not turned.size:
        raise TooFewRatings(0, 1, "repeated comparisons")
    codes, _ = cluster_codes([*_plain(first), *_plain(again)])
    same = codes[: turned.size] == codes[turned.size :]
    cluster, _ = cluster_codes(np.arange(turned.size) if clusters is None else clusters)
    shares = clustered_proportions(same, turned.astype(np.int64), cluster)
    names: dict[int, Sides] = {0: "same", 1: "swapped"}
    return {names[int(str(side))]: share for side, share in sorted(shares.items(), key=lambda pair: str(pair[0]))}


def repeated_counts(
    answers: Labels, *, units: Labels, raters: Labels, order: IntArray, clusters: Labels | None = None
) -> AskedAgain:
    """What consistency is computed from; arguments as there. Raises TooFewRatings if nobody was asked anything twice."""
    asked = _repeated(answers, units, raters, order, clusters)
    if not asked.rater.size:
        raise TooFewRatings(0, 1, "tasks that one rater answered twice")
    return asked


def _plain(labels: Labels) -> list[Hashable]:
    return list(labels.tolist() if isinstance(labels, np.ndarray) else labels)


def _repeated(answers: Labels, units: Labels, raters: Labels, order: IntArray, clusters: Labels | None) -> AskedAgain:
    answer, kinds = cluster_codes(answers)
    unit, width = cluster_codes(units)
    rater, _ = cluster_codes(raters)
    when = np.asarray(order)
    cluster, _ = cluster_codes(units if clusters is None else clusters)
    if not answer.size == unit.size == rater.size == when.size == cluster.size:
        raise ValueError(f"{answer.size} answers need as many units, raters, orders and clusters; give all of each.")
    line = np.lexsort([when, rater * width + unit])
    pair = (rater * width + unit)[line]
    _, starts, place, times = np.unique(pair, return_index=True, return_inverse=True, return_counts=True)
    given, count = np.unique(place.reshape(-1) * kinds + answer[line], return_counts=True)
    most = np.zeros(times.size, dtype=np.int64)
    np.maximum.at(most, given // kinds if kinds else given, count)
    twice = times >= 2
    begin = starts[twice]
    return AskedAgain(
        rater=rater[line][begin],
        cluster=cluster[line][begin],
        times=times[twice].astype(np.int64),
        most=most[twice],
        first=answer[line][begin],
        second=answer[line][begin + 1],
        once=int((~twice).sum()),
    )


def _rate(asked: AskedAgain, part: slice, draws: int, seed: int) -> RepeatRate:
    cluster, k = cluster_codes(asked.cluster[part])
    sums = sum_by(cluster, k, np.column_stack([asked.most[part], asked.times[part]]).astype(np.float64))
    wilson = draws > 0 and k >= MIN_CLUSTERS
    value, ends = cluster_intervals(_ratio_of(sums), k, draws=0 if wilson else draws, seed=seed)
    low, high = (float(ends.low[0]), float(ends.high[0])) if not wilson else _wilson(asked, part, cluster, k)
    return RepeatRate(
        value=float(value[0]),
        low=low,
        high=high,
        interval_kind="wilson95" if wilson else ends.kind,
        most_frequent=int(asked.most[part].sum()),
        asked=int(asked.times[part].sum()),
        units=int(asked.times[part].size),
        clusters=k,
        draws=ends.draws,
    )


def _wilson(asked: AskedAgain, part: slice, cluster: IntArray, k: int) -> tuple[float, float]:
    """Ends of the rate: of the askings after the first, at most all differ from the most frequent answer."""
    times, most = asked.times[part], asked.most[part]
    again = sum_by(cluster, k, (times - 1).astype(np.float64))
    alike = sum_by(cluster, k, (most - 1).astype(np.float64))
    room = float(again.sum() / times.sum())
    low, high = wilson_ends_of_clusters(alike, again)
    return 1 - (1 - low) * room, 1 - (1 - high) * room


def _ratio_of(sums: FloatArray) -> CountedStatistic:
    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = drawn @ sums
        return m[:, :1] / m[:, 1:], np.ones(len(m), dtype=np.bool_)

    return statistic

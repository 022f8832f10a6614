"""Win rates and strengths of models from few people's preferences and many of a judge's: prediction-powered. PURE.

PPI++ (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453) with the linear power: each instruction adds to the wins of every
pair of models; the tables of people's wins per labelled instruction are corrected by power x (the judge's on the further
instructions - the judge's on the labelled ones). Win rates and Bradley-Terry strengths are those of the corrected tables,
whose expectation is that of people's. The power minimises the variance of all differences of strengths, linearised
(Bradley-Terry's score and information), within 0..1; a replicate without a labelled instruction is tuned without it.

Instructions are the clusters: the jackknife leaves out each, the labelled and the further ones as two strata. For such
raters the raters' part is added, V_R - V_C as in replicates.py, which enters people's preferences alone. Own computation.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.crossed import FEW_TO_TELL
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.estimates import LEAST_RATERS_OF_MEANS, PeopleEstimate, people_estimate
from calibration.statistics.populations import CrossedVariance, NotStated, Scale, left_out_groups
from calibration.statistics.ranking.bradley_terry import incidence, strength_information, strengths, strongly_connected
from calibration.statistics.ranking.comparisons import pair_indices
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray

MOST_REPLICATES = 400


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs (m,) that a judge compared: the models' codes from 0 up, the instruction, and the first model's points, 0..1."""

    first: IntArray
    second: IntArray
    instruction: IntArray
    judge: FloatArray


@dataclass(frozen=True)
class LabelledPairs(JudgedPairs):
    """Pairs that people compared too, one line a preference (n,): the pair's place, the rater, the first model's points.

    `positions`: the raters are positions of a data set and not persons.
    """

    pair: IntArray
    rater: IntArray
    points: FloatArray
    positions: bool = False


@dataclass(frozen=True)
class PoweredRankings:
    """For each model, people's win rate (ties are half) and strength in natural log-odds with mean 0, or None.

    `strengths` are None where some model is undefeated or never won. `power` is the weight on the judge; `n` instructions
    were labelled, and `n_judge_only` further ones judged.
    """

    win_rates: list[PeopleEstimate]
    strengths: list[PeopleEstimate] | None
    power: float
    n: int
    n_judge_only: int


@dataclass(frozen=True)
class _Tables:
    """By instruction, wins and losses of every pair (2 x pairs): people's and the judge's on the same pairs (n, 2p), and the
    judge's on others (N, 2p); `both` (n,) is each labelled instruction's place among the others, -1 for none."""

    people: FloatArray
    judge: FloatArray
    other: FloatArray
    both: IntArray


def powered_rankings(labelled: LabelledPairs, other: JudgedPairs, models: int, *, seed: int = 0) -> PoweredRankings:
    """Estimate with the judge. Raises TooFewRatings under two labelled or two further instructions."""
    return _estimated(labelled, other, models, seed)


def rankings_of_people(labelled: LabelledPairs, models: int, *, seed: int = 0) -> PoweredRankings:
    """The same from people's preferences alone."""
    return _estimated(labelled, None, models, seed)


def _estimated(labelled: LabelledPairs, other: JudgedPairs | None, models: int, seed: int) -> PoweredRankings:
    tables = _tables(labelled, other, models)
    n, more = len(tables.people), len(tables.other)
    if n < 2 or (other is not None and more < 2):
        raise TooFewRatings(min(n, more), 2, "instructions, labelled and further ones alike")
    power, without = _power(tables, models) if other is not None else (0.0, np.zeros(n))
    rates = _estimates(labelled, other, models, tables, power, without, _rates, "share", seed)
    strength = _estimates(labelled, other, models, tables, power, without, _strengths, "plain", seed)
    if rates is None:
        raise TooFewRatings(0, 1, "comparisons of every model")
    return PoweredRankings(rates, strength, power, n, more)


Statistic = Callable[[FloatArray, int], tuple[FloatArray, BoolArray]]
"""Corrected tables (b, 2p) and the number of models -> values (b, k) and whether they are defined (b,)."""


def _rates(tables: FloatArray, models: int) -> tuple[FloatArray, BoolArray]:
    i, j = pair_indices(models)
    wins, losses = np.split(tables, 2, axis=1)
    own, played = np.zeros((len(tables), models)), np.zeros((len(tables), models))
    for pair, (one, two) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        own[:, one] += wins[:, pair]
        own[:, two] += losses[:, pair]
        played[:, [one, two]] += (wins + losses)[:, [pair]]
    known = played > 1e-12
    return np.clip(own / np.where(known, played, 1.0), 0.0, 1.0), np.asarray(known.all(axis=1), dtype=np.bool_)


def _strengths(tables: FloatArray, models: int) -> tuple[FloatArray, BoolArray]:
    wins, losses = np.split(tables, 2, axis=1)
    # A corrected table may lie a little below 0 where a pair was hardly ever won; it then says nothing of a finite strength.
    usable = (tables > -1e-12).all(axis=1) & strongly_connected(np.maximum(wins, 0.0), np.maximum(losses, 0.0), models)
    found = np.zeros((len(tables), models))
    places = np.flatnonzero(usable)
    if places.size:
        start = np.zeros((places.size, models))
        found[places], usable[places] = strengths(wins[places], losses[places], start)
    return found, usable


def _corrected(people: FloatArray, judge: FloatArray, other: FloatArray, power: float | FloatArray) -> FloatArray:
    return np.asarray(people + np.asarray(power)[..., None] * (other - judge), dtype=np.float64)


def _estimates(
    labelled: LabelledPairs,
    other: JudgedPairs | None,
    models: int,
    tables: _Tables,
    power: float,
    without: FloatArray,
    statistic: Statistic,
    scale: Scale,
    seed: int,
) -> list[PeopleEstimate] | None:
    n, more = len(tables.people), max(len(tables.other), 1)
    sums = tables.people.sum(axis=0), tables.judge.sum(axis=0), tables.other.sum(axis=0)
    value, defined = statistic(_corrected(sums[0] / n, sums[1] / n, sums[2] / more, power)[None], models)
    if not defined[0]:
        return None
    # Without each labelled instruction, and what it adds among the others.
    taken = np.where((tables.both >= 0)[:, None], tables.other[tables.both] if len(tables.other) else 0.0, 0.0)
    left = more - (tables.both >= 0)
    without_labelled = statistic(
        _corrected(
            (sums[0] - tables.people) / (n - 1),
            (sums[1] - tables.judge) / (n - 1),
            (sums[2] - taken) / np.maximum(left, 1)[:, None],
            without,
        ),
        models,
    )
    variance = _spread(*without_labelled)
    alone = np.setdiff1d(np.arange(len(tables.other)), tables.both)
    if other is not None and alone.size > 1 and power > 0 and variance is not None:
        groups = np.random.default_rng(seed).permutation(alone.size) % min(alone.size, MOST_REPLICATES)
        size = np.bincount(groups)
        gone = sum_by(groups, size.size, tables.other[alone])
        rest = (sums[2] - gone) / (more - size)[:, None]
        added = _spread(*statistic(_corrected(sums[0] / n, sums[1] / n, rest, power), models))
        variance = None if added is None else variance + added
    over = n, len(np.unique(labelled.rater))
    crossed = _with_raters(labelled, other, models, value[0], variance, tables, power, statistic, over, seed)
    left_out = without_labelled[0][without_labelled[1]]
    return [
        people_estimate(_at(crossed, place), scale, left_out=left_out[:, place], positions=labelled.positions)
        for place in range(models)
    ]


def _with_raters(
    labelled: LabelledPairs,
    other: JudgedPairs | None,
    models: int,
    value: FloatArray,
    these: FloatArray | None,
    tables: _Tables,
    power: float,
    statistic: Statistic,
    over: tuple[int, int],
    seed: int,
) -> CrossedVariance:
    nothing = np.full(value.shape, np.nan)
    n_instructions, n_raters = over
    reason: NotStated | None = None
    if n_instructions < MIN_CLUSTERS:
        reason = "few_instructions"
    elif n_raters < LEAST_RATERS_OF_MEANS:
        reason = "few_raters"
    elif these is None:
        reason = "undefined_without_one"
    parts: list[FloatArray | None] = []
    if reason is None:
        rater = np.unique(labelled.rater, return_inverse=True)[1].reshape(-1).astype(np.int64)
        instruction = (
            np.unique(labelled.instruction[labelled.pair], return_inverse=True)[1].reshape(-1).astype(np.int64)
        )
        _, of_raters, cells = left_out_groups(instruction, rater, most=MOST_REPLICATES, seed=seed)
        whole = tables.other.mean(axis=0) if len(tables.other) else np.zeros(tables.people.shape[1])
        for group in (of_raters, cells):
            people, judge = _without_groups(labelled, models, group)
            parts.append(_spread(*statistic(_corrected(people, judge, whole, np.full(len(people), power)), models)))
    if reason is not None or these is None or parts[0] is None or parts[1] is None:
        left = nothing if these is None else these
        return CrossedVariance(value, left, nothing, nothing, nothing, *over, reason or "undefined_without_one")
    v_r, v_c = parts[0], parts[1]
    own = np.maximum(np.maximum(v_r - v_c, v_r - these), 0.0)
    such = these + own
    below = these**2 / (n_instructions - 1) + np.maximum(own, v_r) ** 2 / (n_raters - 1)
    freedom = np.divide(such**2, below, out=np.full(such.shape, n_instructions - 1.0), where=below > 0)
    fewest, most = sorted((n_raters - 1.0, n_instructions - 1.0))
    freedom = np.full(such.shape, fewest) if n_raters <= FEW_TO_TELL else np.clip(freedom, fewest, most)
    return CrossedVariance(value, these, own, such, freedom, *over, None)


def _power(tables: _Tables, models: int) -> tuple[float, FloatArray]:
    """The power of least summed variance of all differences of strengths, and the same without each labelled instruction."""
    mean = tables.people.mean(axis=0)
    # One tie of each pair keeps the chances off 0 and 1 where the power is tuned.
    smoothed = mean + 0.5 / len(tables.people)
    wins, losses = np.split(smoothed, 2)
    found, _ = strengths(wins[None], losses[None], np.zeros((1, models)))
    i, j = pair_indices(models)
    chance = 1 / (1 + np.exp(found[0][j] - found[0][i]))
    information = strength_information(((wins + losses) * chance * (1 - chance))[None], models)[0]
    moves = incidence(models) @ np.linalg.inv(information)

    def influence(of: FloatArray) -> FloatArray:
        own, lost = np.split(of, 2, axis=1)
        moved = (own - (own + lost) * chance) @ moves
        return np.asarray(moved - moved.mean(axis=0), dtype=np.float64)

    people, judge, other = (influence(one) for one in (tables.people, tables.judge, tables.other))
    n, more = len(people), len(other)
    products, squares = (people * judge).sum(axis=1), (judge**2).sum(axis=1)
    kept = float((other**2).sum()) / more**2

    def tuned(top: FloatArray, below: FloatArray, size: int) -> FloatArray:
        under = below / size**2 + kept
        return np.asarray(np.clip(np.divide(top / size**2, under, out=np.zeros_like(under), where=under > 0), 0, 1))

    whole = tuned(np.array([products.sum()]), np.array([squares.sum()]), n)
    return float(whole[0]), tuned(products.sum() - products, squares.sum() - squares, n - 1)


def _tables(labelled: LabelledPairs, other: JudgedPairs | None, models: int) -> _Tables:
    pair, points = labelled.pair, labelled.points
    m = labelled.first.size
    given = np.bincount(pair, minlength=m)
    mean = np.bincount(pair, weights=points, minlength=m) / np.maximum(given, 1)
    used = given > 0
    names, place = np.unique(labelled.instruction[used], return_inverse=True)
    sides = labelled.first[used], labelled.second[used], place.reshape(-1), len(names), models
    people, judge = (_wins(*sides, one[used]) for one in (mean, labelled.judge))
    if other is None:
        return _Tables(people, judge, np.zeros((0, people.shape[1])), np.full(len(names), -1))
    known, at = np.unique(other.instruction, return_inverse=True)
    more = _wins(other.first, other.second, at.reshape(-1), len(known), models, other.judge)
    found = np.searchsorted(known, names)
    same = known[np.minimum(found, len(known) - 1)] == names
    return _Tables(people, judge, more, np.where(same, found, -1).astype(np.int64))


def _without_groups(labelled: LabelledPairs, models: int, group: IntArray) -> tuple[FloatArray, FloatArray]:
    """Wins per instruction (groups, 2p) of people and of the judge without each group of preferences, group (n,) from 0 up.

    A pair's points are the mean of the raters who are left; a pair, or an instruction, without any is left out.
    """
    m, groups = labelled.first.size, int(group.max()) + 1
    given = np.bincount(labelled.pair, minlength=m)
    total = np.bincount(labelled.pair, weights=labelled.points, minlength=m)
    mean = total / np.maximum(given, 1)
    used = given > 0
    _, of_pair = np.unique(labelled.instruction, return_inverse=True)
    of_pair = of_pair.reshape(-1).astype(np.int64)
    known = np.unique(of_pair[used])
    keys, line = np.unique(group * m + labelled.pair, return_inverse=True)
    taken, count = (
        np.bincount(line.reshape(-1), weights=one) for one in (labelled.points, np.ones(labelled.points.size))
    )
    at, pair = keys // m, keys % m
    left = given[pair] - count
    kept = left > 0.5
    rest = np.where(kept, (total[pair] - taken) / np.maximum(left, 1), 0.0)
    # As tables of one "instruction" a group: what the group's pairs add with it, and without it.
    sides = labelled.first[pair], labelled.second[pair], at, groups, models
    weight = kept.astype(np.float64)
    whole = [
        _wins(labelled.first[used], labelled.second[used], 0 * of_pair[used], 1, models, one[used])
        for one in (mean, labelled.judge)
    ]
    people = whole[0] - _wins(*sides, mean[pair]) + _weighted(*sides, rest, weight)
    judge = whole[1] - _weighted(*sides, labelled.judge[pair], 1 - weight)
    pairs_of = np.bincount(of_pair[used], minlength=int(of_pair.max()) + 1)
    dropped, times = np.unique((at * len(pairs_of) + of_pair[pair])[~kept], return_counts=True)
    gone = np.bincount((dropped // len(pairs_of))[times == pairs_of[dropped % len(pairs_of)]], minlength=groups)
    size = np.maximum(len(known) - gone, 1)[:, None]
    return people / size, judge / size


def _wins(
    first: IntArray, second: IntArray, instruction: IntArray, n: int, models: int, points: FloatArray
) -> FloatArray:
    """Wins, then losses, of the lower model of every pair, by instruction: (n, 2 x pairs)."""
    return _weighted(first, second, instruction, n, models, points, np.ones(points.size))


def _weighted(
    first: IntArray,
    second: IntArray,
    instruction: IntArray,
    n: int,
    models: int,
    points: FloatArray,
    weight: FloatArray,
) -> FloatArray:
    i, j = pair_indices(models)
    number = np.zeros((models, models), dtype=np.int64)
    number[i, j] = number[j, i] = np.arange(i.size)
    cell = instruction * i.size + number[first, second]
    own = np.where(first < second, points, 1 - points)
    sums = [sum_by(cell, n * i.size, weight * one).reshape(n, -1) for one in (own, 1 - own)]
    return np.column_stack(sums)


def _spread(values: FloatArray, defined: BoolArray) -> FloatArray | None:
    """The jackknife's variance (k,) of replicates (g, k) around their own mean; None where one is not defined."""
    g = len(values)
    if g < 2 or not bool(defined.all()):
        return None
    return np.asarray((g - 1) / g * ((values - values.mean(axis=0)) ** 2).sum(axis=0), dtype=np.float64)


def _at(found: CrossedVariance, place: int) -> CrossedVariance:
    one = slice(place, place + 1)
    return CrossedVariance(
        found.value[one],
        found.these[one],
        found.raters[one],
        found.such[one],
        found.freedom[one],
        found.n_instructions,
        found.n_raters,
        found.not_stated,
        found.n_instructions,
    )

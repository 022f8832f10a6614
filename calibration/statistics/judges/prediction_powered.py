"""Prediction-powered inference: a mean human score from a few human scores and many judge scores. PURE.

The PPI++ mean of Angelopoulos, Duchi and Zrnic (arXiv 2311.01453): mean(human - power * judge) over the scores a
person gave plus power * mean(judge) over the others. It is as unbiased as the human scores alone however wrong the
judge is, and `power` makes it at least as precise. Variance, power and interval are over whole clusters
(instructions), whose scores are not independent. Own computation.

With few clusters the large-sample variance is too small, by two causes. (1) Where the score is a mean of categories,
each category's own mean costs a degree of freedom: every stratum of k clusters has its own factor k/(k - 1), and
Student's t the degrees of freedom of Welch and Satterthwaite (Cochran 1977, Sampling Techniques, chapter 5). (2) The power
is tuned on the clusters whose errors are measured: each cluster's error is taken with the power tuned without it, as
a jackknife does (MacKinnon and White 1985, HC3).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.design.needed import Z_POWER
from calibration.statistics.errors import NoStatistic, TooFewRatings, Undefined
from calibration.statistics.judges.correlations import ScoredResponses, people_correlation
from calibration.statistics.judges.estimates import (
    PeopleEstimate,
    PeopleInterval,
    Population,
    RatersVariance,
    SingleAnswers,
    WhyNot,
    label_list,
    raters_variance,
    such_variance,
)
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, Labels, cluster_codes

ROUNDING = 1e-12
MOST_LABELS = 10**9


@dataclass(frozen=True)
class ModelScores:
    """One model's scores. `human` and `judge` (n,) of the responses people scored, with their instruction labels;
    `judge_only` (N,) of further responses only the judge scored, with theirs. All on the same scale. Where the mean is
    one of categories of fixed size, `strata` (n,) and `judge_only_strata` (N,) label each score's category, the same
    for all scores of an instruction. `answers` are the single answers that `human` are means of; without them nothing is
    said of such raters.
    """

    human: FloatArray
    judge: FloatArray
    instructions: Labels
    judge_only: FloatArray
    judge_only_instructions: Labels
    strata: Labels | None = None
    judge_only_strata: Labels | None = None
    answers: SingleAnswers | None = None


@dataclass(frozen=True)
class Estimate(PeopleEstimate):
    """A mean or difference with its intervals by Student's t, and its standard errors.

    `error` is for these raters, `such_error` for such raters, None where that interval is not stated; V_R - V_C of people's
    scores is what such raters add. Degrees of freedom for these raters are clusters - 1 or, with strata, Satterthwaite's.
    Under 20 clusters of human scores, and where a stratum has a single one, the ends are the range over leaving one cluster
    out; where the scores do not vary, there is no interval.
    """

    error: float
    such_error: float | None


@dataclass(frozen=True)
class PredictionPowered:
    """`powered`: the prediction-powered mean or difference; `human_only`: the same from the human scores alone.

    `power` in 0..1 is the weight on the judge. `effective_n` is the number of human scores that would be as
    precise alone; `n` human, `n_judge_only` further judge scores, over `clusters` clusters of human scores.
    """

    powered: Estimate
    human_only: Estimate
    power: float
    effective_n: float
    n: int
    n_judge_only: int
    clusters: int


@dataclass(frozen=True)
class LabelsNeeded:
    """How many human scores of each model make the 95 % interval of their `difference` exclude 0 with 80 % power.

    That is stated from 20 clusters on, so that fewer are never enough. `total` is that number of each model, `more`
    what is still to collect (0: already `separated`); `alone` is the total that human scores without a judge would
    take. They hold if the difference is as estimated. The interval is about `population`; for such raters, the scores are
    those of the same raters, and a number is None where no number of these would do.
    """

    difference: float
    separated: bool
    total: int | None
    more: int | None
    alone: int | None
    population: Population


@dataclass(frozen=True)
class SharedPower:
    """One weight on the judge for all differences of a study's models, and by instruction the weight without it."""

    power: float
    without: Mapping[Hashable, float]


@dataclass(frozen=True)
class LabelsSaved:
    """What a judge saves of the labels that the difference of two models needs at equal width.

    `rho` correlates, over the instructions labelled for both, people's difference of the two models with the judge's; its
    interval is for exactly these raters. `saved` is the share of labels saved here, 1 - (error with the judge / error
    without)^2, not below 0. `most` = rho^2 (1 - n/N) is the most that this judge can save in this way with `n` instructions
    labelled, drawn uniformly, of the N = `pool` that it scored for both.
    """

    rho: PeopleEstimate
    saved: float
    most: float
    n: int
    pool: int


@dataclass(frozen=True)
class _Parts:
    """Each cluster's share (k,) in the estimate's error: human, judge on the same scores, judge on the others.

    `names` (k) are the clusters' labels, `labelled` (k,) those with human scores, `stratum` (k,) the codes of their strata.
    """

    names: Sequence[Hashable]

    human: FloatArray
    judge: FloatArray
    other: FloatArray
    labelled: BoolArray
    stratum: IntArray
    value: float
    shift: float

    @property
    def apart(self) -> FloatArray:
        """What a power of 1 subtracts from each cluster's human share."""
        return self.judge - self.other

    @property
    def alone(self) -> bool:
        """Whether some stratum has a single cluster of human scores, which shows no spread."""
        return bool((np.bincount(self.stratum[self.labelled]) == 1).any())


def prediction_powered_mean(scores: ModelScores, *, power: float | None = None) -> PredictionPowered:
    """A model's mean human score. Without `power` it is tuned to the least clustered variance, within 0..1.

    Raises TooFewRatings under two clusters of human scores in any stratum there is, or without further judge scores.
    """
    return _powered([(scores, 1.0)], power)


def prediction_powered_difference(
    one: ModelScores, other: ModelScores, *, power: float | None = None, shared: SharedPower | None = None
) -> PredictionPowered:
    """Mean of one minus mean of the other, paired by instruction: what the two share cancels. One power for both.

    With `shared` the power is that of all of a study's models together.
    """
    return _powered([(one, 1.0), (other, -1.0)], power, shared)


def shared_power(models: Sequence[ModelScores]) -> SharedPower:
    """The power of least variance summed over all pairs of models, within 0..1, and the same without each instruction.

    One power for all pairs is tuned on many times the data of one pair, and so costs less: on LLMEval-2 with 24 labels, the
    pairs' own powers save about seven tenths of what the judge could, the shared one nine tenths. Raises TooFewRatings.
    """
    tops: dict[Hashable, float] = {}
    spreads: dict[Hashable, float] = {}
    top = under = 0.0
    for one, other in combinations(models, 2):
        parts = _parts([(one, 1.0), (other, -1.0)])
        products, squares = parts.human * parts.apart, parts.apart**2
        top, under = top + float(products.sum()), under + float(squares.sum())
        for place in np.flatnonzero(parts.labelled).tolist():
            name = parts.names[place]
            tops[name] = tops.get(name, 0.0) + float(products[place])
            spreads[name] = spreads.get(name, 0.0) + float(squares[place])
    left = {name: (top - tops[name], under - spreads[name]) for name in tops}
    without = {name: min(1.0, max(0.0, a / b)) if b > ROUNDING * under else 0.0 for name, (a, b) in left.items()}
    return SharedPower(min(1.0, max(0.0, top / under)) if under > 0 else 0.0, without)


def labels_saved(one: ModelScores, other: ModelScores, found: PredictionPowered) -> LabelsSaved:
    """What the judge saves for the difference `found` of two models. Raises TooFewRatings, ConstantScores."""
    people = [_by_instruction(scores.instructions, scores.human) for scores in (one, other)]
    judge = [_by_instruction(scores.instructions, scores.judge) for scores in (one, other)]
    both = [name for name in people[0] if name in people[1]]
    known = [{*label_list(scores.instructions), *label_list(scores.judge_only_instructions)} for scores in (one, other)]
    n, pool = len(both), len(known[0] & known[1])
    places = np.arange(n)
    theirs, own = (np.array([side[0][name] - side[1][name] for name in both]) for side in (people, judge))
    rho = people_correlation(ScoredResponses(own, places, 0 * places, places, 0 * places, theirs)).pearson
    whole = found.human_only.error
    saved = max(0.0, 1 - (found.powered.error / whole) ** 2) if whole > 0 else 0.0
    return LabelsSaved(rho, saved, rho.value**2 * (1 - n / pool), n, pool)


def _by_instruction(labels: Labels, values: FloatArray) -> dict[Hashable, float]:
    """The mean value of each instruction."""
    codes, k = cluster_codes(labels)
    means = sum_by(codes, k, np.asarray(values, dtype=np.float64)) / np.bincount(codes, minlength=k)
    return dict(zip(dict.fromkeys(label_list(labels)), means.tolist(), strict=True))


def labels_to_separate(one: ModelScores, other: ModelScores) -> LabelsNeeded:
    """How many more human labels would separate two models.

    The variance falls as 1/labels in its human part, stays in its judge part, and the power is tuned anew for each
    number; human and further judge scores are taken to be of different instructions. Raises Undefined (NoDifference).
    """
    from scipy.special import stdtrit

    now = prediction_powered_difference(one, other)
    difference = now.powered.value
    if difference == 0:
        raise Undefined("NoDifference", "The two models' means are equal; no number of labels would separate them.")
    parts = _parts([(one, 1.0), (other, -1.0)])
    labels = min(len(one.human), len(other.human))
    k = int(parts.labelled.sum())
    human, judge = parts.human[parts.labelled], parts.judge[parts.labelled]
    factor = _factors(parts.stratum[parts.labelled])
    squares = [float(factor @ part) for part in (human * human, human * judge, judge * judge)]
    kept = _others_variance(parts)
    separated = now.powered.excludes_zero
    strata = np.unique(parts.stratum[parts.labelled]).size
    # The least number of scores, at the present number per cluster, from which a 95 % interval is stated.
    least = -(-MIN_CLUSTERS * labels // k)

    def needed(with_judge: bool) -> int | None:
        fixed = _raters_alone(now.powered if with_judge else now.human_only)

        def separates(total: int) -> bool:
            ratio = labels / total
            a, b, c = (ratio * square for square in squares)
            power = min(1.0, max(0.0, b / (c + kept))) if with_judge and c + kept > 0 else 0.0
            variance = max(a - 2 * power * b + power**2 * (c + kept), 0.0)
            freedom = max(k * total / labels - strata, 1.0)
            if fixed:
                unsure = variance**2 / freedom + fixed**2 / (now.powered.raters - 1)
                freedom = min(freedom, max((variance + fixed) ** 2 / unsure, now.powered.raters - 1.0))
            reach = float(stdtrit(freedom, 0.975))
            return bool(abs(difference) > (reach + Z_POWER) * (variance + fixed) ** 0.5)

        low, high = 1, 2
        while not separates(high):
            if high > MOST_LABELS:
                return None
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if separates(middle) else (middle, high)
        return max(high, least)

    with_judge = labels if separated else needed(True)
    total = None if with_judge is None else with_judge if separated else max(with_judge, labels + 1)
    more = None if total is None else total - labels
    return LabelsNeeded(difference, separated, total, more, needed(False), now.powered.population)


def _raters_alone(found: Estimate) -> float:
    """The variance that the choice of raters adds, 0 where nothing is said of such raters."""
    return 0.0 if found.such_error is None else max(found.such_error**2 - found.error**2, 0.0)


def _powered(
    signed: list[tuple[ModelScores, float]], power: float | None, shared: SharedPower | None = None
) -> PredictionPowered:
    parts = _parts(signed)
    k = int(parts.labelled.sum())
    tuned, without = _tuned(parts)
    if shared is not None:
        tuned = shared.power
        without = np.array([shared.without.get(name, shared.power) for name in parts.names])
    used = tuned if power is None else power
    answers = [(scores.answers, scores.instructions, sign) for scores, sign in signed]
    classical = _estimate(parts, 0.0, np.zeros(parts.human.size), signed, raters_variance(answers, 0.0))
    left_out = without if power is None else np.full(without.size, used)
    powered = _estimate(parts, used, left_out, signed, raters_variance(answers, used))
    n = min(len(scores.human) for scores, _ in signed)
    gain = (classical.error / powered.error) ** 2 if powered.error > 0 else inf
    return PredictionPowered(
        powered=powered,
        human_only=classical,
        power=used,
        effective_n=n * gain if classical.error > 0 else float(n),
        n=n,
        n_judge_only=min(len(scores.judge_only) for scores, _ in signed),
        clusters=k,
    )


def _tuned(parts: _Parts) -> tuple[float, FloatArray]:
    """The power of least variance, cov(human, apart)/var(apart) within 0..1, and the same without each cluster (k,).

    Clusters without human scores leave it as it is: the power is tuned to what people say.
    """
    shared, spread = parts.human * parts.apart, parts.apart**2
    top, under = float(shared.sum()), float(spread.sum())
    less = np.where(parts.labelled, under - spread, under)
    usable = less > ROUNDING * under
    without = np.where(usable, (top - shared) / np.where(usable, less, 1.0), 0.0)
    return min(1.0, max(0.0, top / under)) if under > 0 else 0.0, np.clip(without, 0.0, 1.0)


def _parts(signed: list[tuple[ModelScores, float]]) -> _Parts:
    labels: list[Hashable] = []
    strata: list[Hashable] = []
    for scores, _ in signed:
        for group, own_strata in (
            (scores.instructions, scores.strata),
            (scores.judge_only_instructions, scores.judge_only_strata),
        ):
            labels += label_list(group)
            strata += [None] * len(group) if own_strata is None else label_list(own_strata)
    codes, k = cluster_codes(labels)
    if len(strata) != len(labels):
        raise ValueError(f"{len(strata)} strata for {len(labels)} scores; give one for each.")
    by_row, _ = cluster_codes(strata)
    stratum = np.zeros(k, dtype=np.int64)
    stratum[codes] = by_row
    if (stratum[codes] != by_row).any():
        raise ValueError("Scores of one instruction carry different strata; an instruction belongs to one.")
    human, judge, other = np.zeros(k), np.zeros(k), np.zeros(k)
    labelled = np.zeros(k, dtype=np.bool_)
    value, shift, place = 0.0, 0.0, 0
    for scores, sign in signed:
        y, f, rest = (_numbers(part) for part in (scores.human, scores.judge, scores.judge_only))
        if y.size != f.size or len(scores.instructions) != y.size or len(scores.judge_only_instructions) != rest.size:
            raise ValueError("Human scores, judge scores and instructions differ in number; give one of each.")
        if not rest.size:
            raise TooFewRatings(0, 1, "further judge scores")
        own, beyond = codes[place : place + y.size], codes[place + y.size : place + y.size + rest.size]
        place += y.size + rest.size
        if np.unique(own).size < 2:
            raise TooFewRatings(int(np.unique(own).size), 2, "instructions with human scores")
        human += sign * sum_by(own, k, _centred(y, stratum[own])) / y.size
        judge += sign * sum_by(own, k, _centred(f, stratum[own])) / y.size
        other += sign * sum_by(beyond, k, _centred(rest, stratum[beyond])) / rest.size
        labelled[own] = True
        value += sign * float(y.mean())
        shift += sign * float(rest.mean() - f.mean())
    names = list(dict.fromkeys(labels))
    return _Parts(names, human, judge, other, labelled, stratum, value, shift)


def _estimate(
    parts: _Parts, power: float, without: FloatArray, signed: list[tuple[ModelScores, float]], raters: RatersVariance
) -> Estimate:
    """The estimate at `power`; each cluster's error is the one at its own power of `without` (k,)."""
    from scipy.special import stdtr, stdtrit

    squares = (parts.human - without * parts.apart) ** 2
    variance, unsure = 0.0, 0.0
    for group in (parts.labelled, ~parts.labelled):
        factor = _factors(parts.stratum[group])
        size = np.bincount(parts.stratum[group])
        by_stratum = sum_by(parts.stratum[group], size.size, factor * squares[group])
        variance += float(by_stratum.sum())
        unsure += float((by_stratum**2 / np.maximum(size - 1, 1)).sum())
    value, spread = parts.value + power * parts.shift, float(np.sqrt(variance))
    k = int(parts.labelled.sum())
    low, high, error = value, value, spread
    these: tuple[float, float] | tuple[None, None] = (None, None)
    p: float | None = None
    kind: PeopleInterval = "none"
    population: Population = "these"
    why: WhyNot = "no_spread"
    if k < MIN_CLUSTERS or parts.alone:
        (low, high), kind = _leave_one_out(parts, signed, power), "leave_one_out_range"
        why = "few_instructions" if k < MIN_CLUSTERS else "single_in_category"
    elif spread > ROUNDING * max(1.0, abs(value)):
        freedom, why, kind = variance**2 / unsure, raters.why_not, "crossed95"
        reach = float(stdtrit(freedom, 0.975)) * spread
        these = value - reach, value + reach
        if not why:
            such, freedom = such_variance(variance, freedom, raters)
            population, error = "such", such**0.5
        reach = float(stdtrit(freedom, 0.975)) * error
        low, high, p = value - reach, value + reach, float(2 * stdtr(freedom, -abs(value) / error))
    return Estimate(
        value=value,
        low=low,
        high=high,
        interval_kind=kind,
        population=population,
        these_low=these[0],
        these_high=these[1],
        p=p,
        why_not=why,
        clusters=k,
        raters=raters.raters,
        error=spread,
        such_error=error if population == "such" else None,
    )


def _factors(strata: IntArray) -> FloatArray:
    """size/(size - 1) of each cluster's stratum (k,); 1 where it is alone, which shows no spread."""
    size = np.bincount(strata)[strata].astype(np.float64)
    return np.asarray(size / np.maximum(size - 1, 1.0), dtype=np.float64)


def _leave_one_out(parts: _Parts, signed: list[tuple[ModelScores, float]], power: float) -> tuple[float, float]:
    """Smallest and largest value when one instruction's human scores are left out; every stratum keeps its share."""
    moves: dict[Hashable, float] = {}
    needed: set[Hashable] = set()
    for scores, sign in signed:
        labels = list(dict.fromkeys(label_list(scores.instructions)))
        codes, k = cluster_codes(scores.instructions)
        rest = np.asarray(scores.human, dtype=np.float64) - power * np.asarray(scores.judge, dtype=np.float64)
        own = np.zeros(rest.size, dtype=np.int64) if scores.strata is None else cluster_codes(scores.strata)[0]
        size = np.bincount(own)[own].astype(np.float64)
        # Over the scores of a cluster, all of one stratum: their number, and what they add to the stratum's sum.
        inside, above = np.bincount(codes, minlength=k), sum_by(codes, k, _centred(rest, own))
        of_stratum = sum_by(codes, k, size) / inside
        left = of_stratum - inside
        moved = -sign * above / np.maximum(left, 1.0) * of_stratum / rest.size
        for label, others, by in zip(labels, left.tolist(), moved.tolist(), strict=True):
            moves[label] = moves.get(label, 0.0) + by
            if others <= 0:
                needed.add(label)
    value = parts.value + power * parts.shift
    found = [value + by for label, by in moves.items() if label not in needed]
    if not found:
        raise TooFewRatings(1, 2, "instructions with human scores in any one category")
    return min(found), max(found)


def _others_variance(parts: _Parts) -> float:
    other = parts.other
    used = int(np.count_nonzero(other))
    return used / max(used - 1, 1) * float(other @ other)


def _centred(values: FloatArray, strata: IntArray) -> FloatArray:
    """Values (n,) minus the mean of their stratum."""
    size = np.maximum(np.bincount(strata), 1)
    return np.asarray(values - (np.bincount(strata, weights=values) / size)[strata], dtype=np.float64)


def _numbers(scores: FloatArray) -> FloatArray:
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise NoStatistic("Scores must be finite numbers; leave out the ones that are missing.")
    return values

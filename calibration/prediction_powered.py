"""A mean human score from a few human scores and many judge scores: prediction-powered inference. PURE.

The PPI++ mean of Angelopoulos, Duchi and Zrnic (arXiv 2311.01453): mean(human - power * judge) over the scores a
person gave plus power * mean(judge) over the others. It is as unbiased as the human scores alone however wrong the
judge is, and `power` makes it at least as precise. Variance, power and interval are over whole clusters
(instructions), whose scores are not independent. Own computation.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import inf
from typing import Literal, TypeAlias

import numpy as np
from scipy.stats import t as student

from calibration.rating_tables import sum_by
from calibration.resampling import MIN_CLUSTERS, BoolArray, FloatArray, Labels, cluster_codes
from calibration.statistic_errors import NoStatistic, TooFewRatings

EstimateInterval: TypeAlias = Literal["t95", "leave_one_out_range"]


class NoDifference(NoStatistic):
    """Two models' means are equal, so that no number of labels would separate them."""

    def __init__(self) -> None:
        super().__init__("The two models' means are equal; no number of labels would separate them.")


@dataclass(frozen=True)
class ModelScores:
    """One model's scores. `human` and `judge` (n,) of the responses people scored, with their instruction labels;
    `judge_only` (N,) of further responses only the judge scored, with theirs. All on the same scale.
    """

    human: FloatArray
    judge: FloatArray
    instructions: Labels
    judge_only: FloatArray
    judge_only_instructions: Labels


@dataclass(frozen=True)
class Estimate:
    """A value with its clustered standard error and 95 % ends.

    `interval_kind` "t95" uses Student's t with clusters - 1 degrees of freedom; under 20 clusters of human scores it is
    "leave_one_out_range", the range over leaving one cluster out.
    """

    value: float
    error: float
    low: float
    high: float
    interval_kind: EstimateInterval


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
    """How many human scores of each model make the 95 % interval of their `difference` leave 0 out.

    `total` is that number of each model, `more` what is still to collect (0: already `separated`); `alone` is the
    total that human scores without a judge would take. They hold if the difference is as estimated.
    """

    difference: float
    separated: bool
    total: int
    more: int
    alone: int


@dataclass(frozen=True)
class _Parts:
    """Each cluster's share (k,) in the estimate's error: human, judge on the same scores, judge on the others."""

    human: FloatArray
    judge: FloatArray
    other: FloatArray
    labelled: BoolArray
    value: float
    shift: float


def prediction_powered_mean(scores: ModelScores, *, power: float | None = None) -> PredictionPowered:
    """A model's mean human score. Without `power` it is tuned to the least clustered variance, within 0..1.

    Raises TooFewRatings under two clusters of human scores or without further judge scores.
    """
    return _powered([(scores, 1.0)], power)


def prediction_powered_difference(
    one: ModelScores, other: ModelScores, *, power: float | None = None
) -> PredictionPowered:
    """Mean of one less mean of the other, paired by instruction: what the two share cancels. One power for both."""
    return _powered([(one, 1.0), (other, -1.0)], power)


def labels_to_separate(one: ModelScores, other: ModelScores) -> LabelsNeeded:
    """How many more human labels would separate two models.

    The variance falls as 1/labels in its human part, stays in its judge part, and the power is tuned anew for each
    number; human and further judge scores are taken to be of different instructions. Raises NoDifference.
    """
    now = prediction_powered_difference(one, other)
    difference = now.powered.value
    if difference == 0:
        raise NoDifference
    parts = _parts([(one, 1.0), (other, -1.0)])
    labels = min(len(one.human), len(other.human))
    k = int(parts.labelled.sum())
    human, judge = parts.human[parts.labelled], parts.judge[parts.labelled]
    scale = k / (k - 1)
    squares = [scale * float(part) for part in (human @ human, human @ judge, judge @ judge)]
    kept = _others_variance(parts)
    separated = (now.powered.low > 0) or (now.powered.high < 0)

    def needed(with_judge: bool) -> int:
        def separates(total: int) -> bool:
            ratio = labels / total
            a, b, c = (ratio * square for square in squares)
            power = min(1.0, max(0.0, b / (c + kept))) if with_judge and c + kept > 0 else 0.0
            variance = max(a - 2 * power * b + power**2 * (c + kept), 0.0)
            reach = float(student.ppf(0.975, max(k * total / labels - 1, 1.0)))
            return bool(abs(difference) > reach * variance**0.5)

        low, high = 1, 2
        while not separates(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if separates(middle) else (middle, high)
        return high

    total = labels if separated else max(needed(True), labels + 1)
    return LabelsNeeded(difference, separated, total, total - labels, needed(False))


def _powered(signed: list[tuple[ModelScores, float]], power: float | None) -> PredictionPowered:
    parts = _parts(signed)
    k = int(parts.labelled.sum())
    # cov(human, judge - other) over var(judge - other), from whole clusters.
    apart = parts.judge - parts.other
    spread = float(apart @ apart)
    tuned = min(1.0, max(0.0, float(parts.human @ apart) / spread)) if spread > 0 else 0.0
    used = tuned if power is None else power
    classical = _estimate(parts, 0.0, signed)
    powered = _estimate(parts, used, signed)
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


def _parts(signed: list[tuple[ModelScores, float]]) -> _Parts:
    labels: list[Hashable] = []
    for scores, _ in signed:
        for group in (scores.instructions, scores.judge_only_instructions):
            labels += _plain(group)
    codes, k = cluster_codes(labels)
    human, judge, other = np.zeros(k), np.zeros(k), np.zeros(k)
    labelled = np.zeros(k, dtype=np.bool_)
    value, shift, place = 0.0, 0.0, 0
    for scores, sign in signed:
        y, f, rest = (_numbers(part) for part in (scores.human, scores.judge, scores.judge_only))
        if (
            y.size != f.size
            or len(scores.instructions) != y.size
            or len(scores.judge_only_instructions) != rest.size
        ):
            raise ValueError(
                "Human scores, judge scores and instructions differ in number; give one of each."
            )
        if not rest.size:
            raise TooFewRatings(0, 1, "further judge scores")
        own, beyond = codes[place : place + y.size], codes[place + y.size : place + y.size + rest.size]
        place += y.size + rest.size
        if np.unique(own).size < 2:
            raise TooFewRatings(int(np.unique(own).size), 2, "instructions with human scores")
        human += sign * sum_by(own, k, y - y.mean()) / y.size
        judge += sign * sum_by(own, k, f - f.mean()) / y.size
        other += sign * sum_by(beyond, k, rest - rest.mean()) / rest.size
        labelled[own] = True
        value += sign * float(y.mean())
        shift += sign * float(rest.mean() - f.mean())
    return _Parts(human, judge, other, labelled, value, shift)


def _estimate(parts: _Parts, power: float, signed: list[tuple[ModelScores, float]]) -> Estimate:
    k = int(parts.labelled.sum())
    error = parts.human - power * (parts.judge - parts.other)
    inside, outside = error[parts.labelled], error[~parts.labelled]
    far = outside.size
    variance = k / (k - 1) * float(inside @ inside)
    variance += far / (far - 1) * float(outside @ outside) if far > 1 else float(outside @ outside)
    value, spread = parts.value + power * parts.shift, float(np.sqrt(variance))
    if k < MIN_CLUSTERS:
        low, high = _leave_one_out(signed, power)
        return Estimate(value, spread, low, high, "leave_one_out_range")
    reach = float(student.ppf(0.975, k - 1)) * spread
    return Estimate(value, spread, value - reach, value + reach, "t95")


def _leave_one_out(signed: list[tuple[ModelScores, float]], power: float) -> tuple[float, float]:
    """Smallest and largest value when one instruction's human scores are left out."""
    fixed = sum(sign * power * float(np.mean(scores.judge_only)) for scores, sign in signed)
    groups = []
    for scores, sign in signed:
        rest = np.asarray(scores.human, dtype=np.float64) - power * np.asarray(scores.judge, dtype=np.float64)
        groups.append((_plain(scores.instructions), rest, sign))
    found = []
    for label in {label for labels, _, _ in groups for label in labels}:
        kept = [rest[[other != label for other in labels]].mean() * sign for labels, rest, sign in groups]
        found.append(fixed + float(sum(kept)))
    return min(found), max(found)


def _others_variance(parts: _Parts) -> float:
    other = parts.other
    used = int(np.count_nonzero(other))
    return used / max(used - 1, 1) * float(other @ other)


def _numbers(scores: FloatArray) -> FloatArray:
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise NoStatistic("Scores must be finite numbers; leave out the ones that are missing.")
    return values


def _plain(labels: Labels) -> list[Hashable]:
    return list(labels.tolist() if isinstance(labels, np.ndarray) else labels)

"""Shares pooled over people (accuracy, consistency, correct answers) and hints' effect, for both populations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibration.data.frames import Bools, Floats, ScoreFrame
from calibration.reports.codec import Missing
from calibration.reports.people.populations import EstimateForBoth, estimate_of, stated
from calibration.statistics.agreement.proportions import Proportion
from calibration.statistics.populations import pooled_variance
from calibration.statistics.raters.hints import hint_variance
from calibration.statistics.raters.reliability import Accuracy
from calibration.statistics.raters.repeats import repeated_counts
from calibration.statistics.raters.truth import label_rates, pooled_rate, shown_labels


@dataclass(frozen=True)
class RaterLabelRates:
    """A rater's sensitivity and specificity for a label, None where no task tells one of them."""

    rater: str
    is_judge: bool
    label: float
    sensitivity: Proportion | None
    specificity: Proportion | None


@dataclass(frozen=True)
class PooledLabelRates:
    """Sensitivity and specificity for a label of all people's answers."""

    label: float
    sensitivity: EstimateForBoth | Missing
    specificity: EstimateForBoth | Missing


@dataclass(frozen=True)
class TruthRates:
    """How raters find each label of one criterion: the higher one of two, or every one of more."""

    criterion: str
    pooled: list[PooledLabelRates]
    raters: list[RaterLabelRates]


@dataclass(frozen=True)
class Consistent:
    """Repeat consistency pooled over people, and the share of second answers that equal the first."""

    rate: EstimateForBoth
    first_repeat: EstimateForBoth


@dataclass(frozen=True)
class HintEstimates:
    """The effect of hints on one criterion's scores (see HintEffect)."""

    difference: EstimateForBoth
    percent: EstimateForBoth


def accuracy_estimate(found: Accuracy, rows: ScoreFrame, *, slots: bool, seed: int) -> EstimateForBoth:
    """The share of people's scores within one sigma; rows are those from which `found` was computed."""
    kept = found.kept
    variance = pooled_variance(
        found.correct[kept].astype(np.float64),
        np.ones(int(kept.sum())),
        rows.rater[kept],
        rows.instruction[kept],
        seed=seed,
    )
    return estimate_of(variance, "share", slots=slots)


def consistency_estimate(rows: ScoreFrame, *, slots: bool, seed: int) -> Consistent:
    """Consistency over the repeated tasks of all people. Raises NoStatistic."""
    asked = repeated_counts(
        rows.label_values,
        units=rows.task * len(rows.criterion_keys) + rows.criterion,
        raters=rows.rater,
        order=rows.repeat,
        clusters=rows.instruction,
    )
    again = (asked.times - 1).astype(np.float64)
    alike = (asked.most - 1).astype(np.float64)
    among = estimate_of(pooled_variance(alike, again, asked.rater, asked.cluster, seed=seed), "share", slots=slots)
    # Of the askings of a task all but the first can differ from the most frequent answer.
    room = float(again.sum() / asked.times.sum())
    same = (asked.first == asked.second).astype(np.float64)
    second = pooled_variance(same, np.ones(same.size), asked.rater, asked.cluster, seed=seed)
    return Consistent(_mapped(among, room), estimate_of(second, "share", slots=slots))


def correct_estimate(right: Bools, rows: ScoreFrame, *, slots: bool, seed: int = 0) -> EstimateForBoth | Missing:
    """The share of people's answers that equal the correct one."""
    people = ~rows.is_judge
    return stated(
        lambda: estimate_of(
            pooled_rate(right, people, raters=rows.rater, clusters=rows.instruction, seed=seed), "share", slots=slots
        )
    )


def truth_rates(
    rows: ScoreFrame, truth: Floats, criterion: str, names: Mapping[int, str], slots: set[int]
) -> TruthRates:
    """Sensitivity and specificity for one criterion; truth (n,) holds the correct label of every row."""
    found = label_rates(rows.label_values, truth, raters=rows.rater, clusters=rows.instruction)
    judges = set(np.unique(rows.rater[rows.is_judge]).tolist())
    raters = [
        RaterLabelRates(names[pk], pk in judges, one.label, one.sensitivity, one.specificity)
        for one in found
        if (pk := int(str(one.rater))) not in slots
    ]
    pooled = [_pooled(rows, truth, label, slots=bool(slots)) for label in shown_labels(truth)]
    return TruthRates(criterion, pooled, sorted(raters, key=lambda row: (row.label, row.rater)))


def hint_estimates(
    score: Floats, hinted: Bools, units: np.ndarray, rows: ScoreFrame, *, slots: bool, seed: int
) -> HintEstimates | Missing:
    """The effect of hints for both populations; see hint_effect."""

    def computed(place: int) -> EstimateForBoth | Missing:
        return stated(
            lambda: estimate_of(
                hint_variance(score, hinted, units, raters=rows.rater, instructions=rows.instruction, seed=seed),
                "plain",
                slots=slots,
                place=place,
            )
        )

    difference, percent = computed(0), computed(1)
    if isinstance(difference, Missing):
        return difference
    return percent if isinstance(percent, Missing) else HintEstimates(difference, percent)


def _pooled(rows: ScoreFrame, truth: Floats, label: float, *, slots: bool) -> PooledLabelRates:
    same, is_it, people = rows.label_values == label, truth == label, ~rows.is_judge

    def of(hits: Bools, among: Bools) -> EstimateForBoth | Missing:
        return stated(
            lambda: estimate_of(
                pooled_rate(hits, among & people, raters=rows.rater, clusters=rows.instruction), "share", slots=slots
            )
        )

    return PooledLabelRates(label, of(same, is_it), of(~same, ~is_it))


def _mapped(found: EstimateForBoth, room: float) -> EstimateForBoth:
    """The estimate of 1 - (1 - share) * room."""

    def of(share: float | None) -> float | None:
        return None if share is None else 1 - (1 - share) * room

    these, such = found.these, found.such
    return EstimateForBoth(
        1 - (1 - found.value) * room,
        replace(these, low=of(these.low), high=of(these.high)),
        replace(such, low=of(such.low), high=of(such.high)),
    )

"""The report on whether a study's raters can be trusted, by rater, kind and cohort.

Raters are people. Judges' answers (repeats, swapped sides, further rounds) say nothing about them. Judges appear beside
people only in the accuracy table, as a kind of their own, compared with people's means.

Positions in a data set are not persons: nothing is ever reported about a single position.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Literal, TypeAlias

import numpy as np

from annotation.models import Rater, Study
from calibration.data.circumstances import Circumstances, circumstances
from calibration.data.frames import EVERY_KIND, Bools, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import decided_studies, score_frame
from calibration.reports.agreement import ROLE_ORDER, ordered_keys
from calibration.reports.codec import INLINED, Missing, part
from calibration.reports.people.populations import EstimateForBoth, stated
from calibration.reports.people.scale_use import ScaleUse, scale_use_part, spread_part
from calibration.reports.people.shares import Consistent, accuracy_estimate, consistency_estimate
from calibration.reports.people.variances import Variances, variance_part
from calibration.reports.rater_behaviour import Habits, habits_part
from calibration.reports.rater_effects import (
    Consensus,
    Correctness,
    HintEffects,
    Severities,
    consensus_part,
    correctness_part,
    hints_part,
    severity_part,
)
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.agreement.kappas import Kappa
from calibration.statistics.agreement.proportions import Proportion
from calibration.statistics.errors import TooFewRatings, Undefined
from calibration.statistics.raters.reliability import (
    Accuracy,
    GroupSummary,
    ShrunkShare,
    accuracy_within_sigma,
    shrink_shares,
    summarise_groups,
)
from calibration.statistics.raters.repeats import Consistency, RepeatRate, consistency, pair_consistency, repeat_kappa
from calibration.statistics.raters.severity_spread import SeveritySpread
from calibration.statistics.resampling import IntervalKind
from calibration.statistics.shares import ShareInterval

DRAWS = 1000


@dataclass(frozen=True)
class Who:
    """The study's raters by pk, with their names, kinds and cohorts."""

    names: Mapping[int, str]
    kinds: Mapping[int, str]
    doors: Mapping[int, str]
    cohorts: Mapping[int, str]

    @cached_property
    def slots(self) -> set[int]:
        return {pk for pk, kind in self.kinds.items() if kind == Rater.Kind.SLOT}


@dataclass(frozen=True)
class RaterRate:
    """A rater's accuracy (0 to 1) over `n` scores, and the same shrunk toward the mean of its kind."""

    rater: str
    kind: str
    cohort: str
    value: float
    low: float
    high: float
    n: int
    interval_kind: ShareInterval
    clusters: int
    shrunk: ShrunkShare | None


@dataclass(frozen=True)
class GroupRates:
    """The accuracy of the `n` raters of a kind or cohort: mean with its ends, minimum (of rater `lowest`), median.

    `too_few` more raters have too few answers for a rate. `lowest_shown`: see GroupSummary. `rates` (n,) ascend.
    """

    by: Literal["kind", "cohort"]
    group: str
    n: int
    too_few: int
    mean: float
    low: float
    high: float
    interval_kind: IntervalKind
    minimum: float
    lowest: str
    lowest_shown: bool
    median: float
    rates: list[float]


@dataclass(frozen=True)
class Accuracies:
    """LLMEval's accuracy: of all people (`overall`), of each rater, and by kind and cohort; see the statistic Accuracy.

    `too_few` persons have answered fewer than `min_answers` tasks; `sigma` is by criterion. `pooled` is that of all people
    for both populations. The raters in `nobody` share no task with another person.
    """

    overall: Proportion
    rates: list[RaterRate]
    groups: list[GroupRates]
    too_few: int
    min_answers: int
    sigma: Mapping[str, float]
    alone: int
    no_mean: int
    pooled: EstimateForBoth | Missing
    nobody: list[str]


@dataclass(frozen=True)
class KindConsistency:
    """The consistency of the `n` raters of a kind: mean and minimum of theirs, and that of all their answers."""

    group: str
    n: int
    mean: float
    minimum: float
    overall: RepeatRate = field(metadata=INLINED)


@dataclass(frozen=True)
class RaterConsistency:
    """A rater's consistency over `units` repeated tasks, and how often the second answer equals the first."""

    rater: str
    value: float
    low: float
    high: float
    interval_kind: ShareInterval
    units: int
    asked: int
    first_repeat: Proportion


@dataclass(frozen=True)
class Consistencies:
    """Answers to repeated tasks: of all, by kind, by rater (the least consistent first), and by sides of a pair."""

    overall: RepeatRate
    first_repeat: Proportion
    groups: list[KindConsistency]
    raters: list[RaterConsistency]
    sides: Mapping[str, Proportion] | Missing
    pooled: Consistent | Missing


@dataclass(frozen=True)
class RatersReport:
    """What is known about raters; `criterion` is that of severity, scale use, variance and consensus.

    `kinds` counts raters by kind; `n_judged` answers are judges'; with `slots`, raters are positions in a data set.
    """

    study: str
    criterion: str
    criteria: list[str]
    n_scores: int
    n_answers: int
    n_raters: int
    n_judged: int
    kinds: Mapping[str, int]
    slots: bool
    correctness: Correctness | Missing
    accuracy: Accuracies | Missing
    consistency: Consistencies | Missing
    kappa: Kappa | Missing
    severity: Severities | Missing
    spread: SeveritySpread | Missing
    scale_use: ScaleUse | Missing
    variance: Variances | Missing
    consensus: Consensus | Missing
    hints: HintEffects | Missing
    habits: Habits = field(metadata=INLINED)


Raters: TypeAlias = RatersReport | Missing


def rater_settings(criterion: str = "") -> Settings:
    return {"criterion": criterion, "draws": DRAWS, "seed": 0}


def main_criterion(frame: ScoreFrame, asked: str) -> str:
    """Choose the requested criterion, else the overall score, the preference, or the first item. Raises NothingToRead."""
    found = [asked] if asked else [key for role in ROLE_ORDER for key in frame.keys_of_role(role)]
    if found:
        return found[0]
    raise NothingToRead("nobody has rated anything in this study yet")


def who_rated(frame: ScoreFrame) -> Who:
    rows = Rater.objects.filter(pk__in=np.unique(frame.rater).tolist()).select_related("cohort")
    found = list(rows.order_by("pk"))
    return Who(
        names={row.pk: row.name for row in found},
        kinds={row.pk: row.kind for row in found},
        doors={row.pk: row.cohort.kind if row.cohort else row.kind for row in found},
        cohorts={row.pk: row.cohort.name for row in found if row.cohort},
    )


def _compute(study: Study, settings: Settings) -> tuple[str, Raters]:
    everybody = score_frame(kinds=EVERY_KIND, study=study, repeats=True)
    truth = correct_answers(study)
    hashed = data_hash(everybody)
    if truth is not None:
        hashed = sha256(f"{hashed} {data_hash(truth)}".encode()).hexdigest()
    frame = everybody.select(~everybody.is_judge)
    if len(everybody) and not len(frame):
        return hashed, Missing.because(Undefined("OnlyJudges", "Only judges have answered in this study."))
    try:
        key = main_criterion(frame, str(settings["criterion"]))
        main = frame.of_criterion(key)
    except NothingToRead as error:
        return hashed, Missing.because(error)
    who = who_rated(everybody)
    people = set(np.unique(frame.rater).tolist())
    around = circumstances(study, judges=False)
    first = everybody.select((everybody.repeat == 0) & everybody.applicable)
    draws, seed = int(settings["draws"]), int(settings["seed"])
    slots = bool(who.slots)
    steady = part(lambda: _consistency(frame, who, around, draws, seed))
    once = main.select(main.repeat == 0)
    return hashed, RatersReport(
        study=study.slug,
        criterion=key,
        criteria=ordered_keys(frame),
        n_scores=int((frame.repeat == 0).sum()),
        n_answers=len(np.unique(frame.assignment[frame.repeat == 0])),
        n_raters=len(people),
        n_judged=len(np.unique(everybody.assignment[everybody.is_judge & (everybody.repeat == 0)])),
        kinds=Counter(door for pk, door in who.doors.items() if pk in people),
        slots=slots,
        correctness=part(lambda: correctness_part(first, truth, who.names, who.slots)),
        accuracy=part(lambda: _accuracy(first, who, draws, seed)),
        consistency=steady,
        kappa=steady if isinstance(steady, Missing) else part(lambda: _kappa(main, draws, seed)),
        severity=part(lambda: severity_part(once, around, who.names, who.slots)),
        spread=spread_part(once),
        scale_use=part(lambda: scale_use_part(once, who.names, who.slots)),
        variance=part(lambda: variance_part(main, around, who.slots, seed)),
        consensus=part(lambda: consensus_part(once, who.slots)),
        hints=part(lambda: hints_part(study, frame.select(frame.repeat == 0), draws, seed, slots=slots)),
        habits=habits_part(study, frame, main, around, who.names, who.slots),
    )


def correct_answers(study: Study) -> ScoreFrame | None:
    """Read the answers that a lead or a table gave as correct, if the study takes them for labels."""
    decided = decided_studies(study)
    if not decided:
        return None
    return score_frame(kinds=EVERY_KIND, study=study, people=False, judges=False, decided_in=decided)


RATERS: ReportKind[Raters] = register(ReportKind("raters", _compute, slow_from=4_000, shape=Raters))


def _accuracy(first: ScoreFrame, who: Who, draws: int, seed: int) -> Accuracies:
    """Compute LLMEval's accuracy of people; judges are also compared with people's means but enter no total."""
    first = first.select(_has_spread(first))
    people = first.select(~first.is_judge)
    of_people = _within_sigma(people)
    found = _within_sigma(first)
    known = {pk: rate for pk, rate in found.raters.items() if pk not in who.slots}
    judges = set(np.unique(first.rater[first.is_judge]).tolist())
    return Accuracies(
        overall=of_people.overall,
        rates=_rate_rows(known, who),
        groups=[
            *_groups("kind", known, found, who, who.doors, draws, seed),
            *_groups("cohort", known, found, who, who.cohorts, draws, seed),
        ],
        too_few=sum(pk not in who.slots | judges for pk in found.too_few),
        min_answers=found.min_answers,
        sigma={first.criterion_keys[int(str(code))]: value for code, value in found.sigma.items()},
        alone=of_people.alone,
        no_mean=found.no_mean,
        pooled=stated(lambda: accuracy_estimate(of_people, people, slots=bool(who.slots), seed=seed)),
        nobody=sorted(who.names[pk] for key in of_people.nobody if (pk := int(str(key))) not in who.slots),
    )


def _has_spread(first: ScoreFrame) -> Bools:
    """Mark scores (n,) of criteria to which people gave three different values or more. Raises Undefined.

    Of two values the rarer is nearly always farther than one sigma from the mean, whoever is right.
    """
    people = first.select(~first.is_judge)
    pairs = np.unique(np.column_stack([people.criterion.astype(np.float64), people.value]), axis=0)
    criteria, values = np.unique(pairs[:, 0], return_counts=True)
    kept = criteria[values > 2].astype(np.int64)
    if len(criteria) and not len(kept):
        raise Undefined("TwoValuedLabels", "No criterion has three values; sigma says nothing about such labels.")
    return np.isin(first.criterion, kept)


def _within_sigma(first: ScoreFrame) -> Accuracy:
    """Compute accuracy of everybody in the frame by the means and the spread of its people. Raises Undefined."""
    share = (first.value - first.low) / np.where(first.high > first.low, first.high - first.low, 1.0)
    try:
        return accuracy_within_sigma(
            share,
            items=first.task,
            raters=first.rater,
            criteria=first.criterion,
            clusters=first.instruction,
            in_mean=~first.is_judge,
        )
    except TooFewRatings as error:
        raise Undefined("TooFewAnswers", str(error)) from error


def _rate_rows(rates: Mapping[Hashable, Proportion], who: Who) -> list[RaterRate]:
    """List a row per rater, lowest first, shrunk toward the mean of its kind if the kind has three raters."""
    shrunk: dict[Hashable, ShrunkShare] = {}
    for door in sorted(set(who.doors.values())):
        alike = {pk: rate for pk, rate in rates.items() if who.doors[int(str(pk))] == door}
        if len(alike) >= 3:
            shrunk |= shrink_shares(alike).raters
    rows = [
        RaterRate(
            rater=who.names[code],
            kind=who.doors[code],
            cohort=who.cohorts.get(code, ""),
            value=rate.value,
            low=rate.low,
            high=rate.high,
            n=rate.n,
            interval_kind=rate.interval_kind,
            clusters=rate.clusters,
            shrunk=shrunk.get(pk),
        )
        for pk, rate in rates.items()
        for code in [int(str(pk))]
    ]
    return sorted(rows, key=lambda row: (row.value, row.rater))


def _groups(
    by: Literal["kind", "cohort"],
    rates: Mapping[Hashable, Proportion],
    found: Accuracy,
    who: Who,
    groups: Mapping[int, str],
    draws: int,
    seed: int,
) -> list[GroupRates]:
    grouped = {pk: rate for pk, rate in rates.items() if pk in groups}
    few = {pk: n for pk, n in found.too_few.items() if pk in groups and pk not in who.slots}
    if not grouped:
        return []
    summaries = summarise_groups(grouped, {pk: groups[pk] for pk in groups}, too_few=few, draws=draws, seed=seed)
    return sorted((_group_row(by, summary, who) for summary in summaries.values()), key=lambda row: row.group)


def _group_row(by: Literal["kind", "cohort"], summary: GroupSummary, who: Who) -> GroupRates:
    return GroupRates(
        by=by,
        group=str(summary.group),
        n=summary.n,
        too_few=summary.too_few,
        mean=summary.mean,
        low=summary.low,
        high=summary.high,
        interval_kind=summary.interval_kind,
        minimum=summary.minimum,
        lowest=who.names[int(str(summary.lowest))],
        lowest_shown=summary.lowest_shown,
        median=summary.median,
        rates=list(summary.rates),
    )


def _consistency(frame: ScoreFrame, who: Who, around: Circumstances, draws: int, seed: int) -> Consistencies:
    """Compute consistency on every task that a rater answered twice, over all criteria; nothing for single positions."""
    rows = _repeated(frame)
    if not len(rows):
        raise Undefined("NeverRepeated", "Nobody was asked the same task twice.")
    found = _repeat_rates(rows, draws, seed)
    kinds = []
    for door in sorted(set(who.doors.values())):
        alike = rows.select(np.isin(rows.rater, [pk for pk, kind in who.doors.items() if kind == door]))
        if len(alike):
            of_kind = _repeat_rates(alike, draws, seed)
            rates = [rate.value for rate in of_kind.raters.values()]
            kinds.append(KindConsistency(door, len(rates), float(np.mean(rates)), min(rates), of_kind.overall))
    return Consistencies(
        overall=found.overall,
        first_repeat=found.first_repeat_overall,
        groups=kinds,
        raters=_steady_rows(found, who),
        sides=part(lambda: _sides(rows, around)),
        pooled=part(lambda: consistency_estimate(rows, slots=bool(who.slots), seed=seed)),
    )


def _repeat_rates(rows: ScoreFrame, draws: int, seed: int) -> Consistency:
    return consistency(
        rows.label_values,
        units=rows.task * len(rows.criterion_keys) + rows.criterion,
        raters=rows.rater,
        order=rows.repeat,
        clusters=rows.instruction,
        draws=draws,
        seed=seed,
    )


def _repeated(frame: ScoreFrame) -> ScoreFrame:
    """Select the scores of tasks that their rater answered more than once."""
    usable = frame.select(frame.applicable)
    again = usable.repeat > 0
    width = int(usable.task.max(initial=0)) + 1
    cell: Ints = usable.rater * width + usable.task
    return usable.select(np.isin(cell, np.unique(cell[again])))


def _steady_rows(found: Consistency, who: Who) -> list[RaterConsistency]:
    rows = [
        RaterConsistency(
            rater=who.names[int(str(pk))],
            value=rate.value,
            low=rate.low,
            high=rate.high,
            interval_kind=rate.interval_kind,
            units=rate.units,
            asked=rate.asked,
            first_repeat=found.first_repeat[pk],
        )
        for pk, rate in found.raters.items()
        if int(str(pk)) not in who.slots
    ]
    return sorted(rows, key=lambda row: (row.value, row.rater))


def _sides(rows: ScoreFrame, around: Circumstances) -> Mapping[str, Proportion]:
    """Compute agreement of the first two answers to a pair, with the same sides and with swapped sides."""
    if not (rows.response_b > 0).any():
        raise Undefined("NeverRepeated", "Only pairs have sides.")
    pairs = rows.select((rows.response_b > 0) & (rows.repeat <= 1))
    order = np.lexsort([pairs.repeat, pairs.criterion, pairs.task, pairs.rater])
    same = (
        (np.diff(pairs.rater[order]) == 0) & (np.diff(pairs.task[order]) == 0) & (np.diff(pairs.criterion[order]) == 0)
    )
    once, again = order[:-1][same], order[1:][same]
    first = around.first[around.rows(pairs.assignment)]
    known = (first[once] > 0) & (first[again] > 0)
    if not known.any():
        raise Undefined("NeverRepeated", "It is not recorded which side was shown first.")
    once, again = once[known], again[known]
    return {
        str(sides): share
        for sides, share in pair_consistency(
            pairs.label_values[once],
            pairs.label_values[again],
            swapped=first[once] != first[again],
            clusters=pairs.instruction[once],
        ).items()
    }


def _kappa(main: ScoreFrame, draws: int, seed: int) -> Kappa:
    rows = _repeated(main)
    if not len(rows):
        raise Undefined("NeverRepeated", "Nobody was asked the same task twice.")
    weights: Literal["quadratic"] | None = None if main.response_b.any() else "quadratic"
    return repeat_kappa(
        rows.value if weights else rows.label_values,
        units=rows.task,
        raters=rows.rater,
        order=rows.repeat,
        weights=weights,
        clusters=rows.instruction,
        draws=draws,
        seed=seed,
    )

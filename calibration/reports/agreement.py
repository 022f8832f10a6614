"""Agreement among a study's raters and of judges with them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import EVERY_KIND, ROLES, Floats, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import judges_verdicts
from calibration.reports.cache import SLOW_SCORES, shown_setting
from calibration.reports.codec import Missing
from calibration.reports.registry import ReportKind, Settings, known, register, report_of
from calibration.statistics.agreement.alpha import Alpha, krippendorff_alpha
from calibration.statistics.agreement.leave_one_out import (
    LeaveOneOut,
    OuterLeaveOneOut,
    leave_one_out,
    outer_leave_one_out,
)
from calibration.statistics.agreement.rater_correlations import rater_matrix
from calibration.statistics.agreement.such_raters import agreement_variance, alpha_variance
from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import CrossedVariance, Scale, such_raters
from calibration.statistics.ties import level_places
from core.errors import UserError

METRICS = ("nominal", "ordinal", "interval")
ROLE_ORDER = ("overall", "preference", "item", "check")
DRAWS = 1000
MOST_RATERS_IN_MATRIX = 30


class AmbiguousCriterion(UserError):
    """The study has several criteria and none of them is the obvious one."""


@dataclass(frozen=True)
class Interval:
    """The ends of an interval, None where `kind` is "none", and the number of clusters that it resamples."""

    low: float | None
    high: float | None
    kind: str
    clusters: int


@dataclass(frozen=True)
class SuchRaters:
    """The ends of a 95 % interval for raters like these: instructions and raters are both taken as drawn.

    `raters_share` is the part of the variance (0 to 1) that the raters add. `not_stated` says why these are None: one of
    populations.NotStated, or "positions" where the data identify positions, not persons; it is empty otherwise.
    """

    low: float | None
    high: float | None
    raters_share: float | None
    n_instructions: int
    n_raters: int
    not_stated: str


@dataclass(frozen=True)
class AlphaValue(Interval):
    """Krippendorff's alpha (1: full agreement, 0: chance) over `n_units` tasks with `n_values` labels.

    Its own ends are for these raters, those of `such` for such raters; `such` is None where no interval was asked for.
    """

    value: float
    n_units: int
    n_values: int
    such: SuchRaters | None


@dataclass(frozen=True)
class NoAlpha:
    """Why there is no alpha: the name of the error and its sentence. `value` is None."""

    reason: str
    why: str
    value: float | None = None


@dataclass(frozen=True)
class CriterionAgreement:
    """Agreement on one criterion; `loo` is the leave-one-out rate (0 to 1), None where it is undefined."""

    criterion: str
    metric: str
    alpha: AlphaValue | NoAlpha
    loo: float | None


@dataclass(frozen=True)
class CategoryAgreement:
    """Agreement on the report's criterion within one category."""

    category: str
    category_pk: int
    n_tasks: int
    n_labels: int
    loo: float | None
    alpha: float | None


@dataclass(frozen=True)
class CohortAgreement:
    """Agreement on the report's criterion among the raters of one cohort."""

    cohort: str
    n_raters: int
    n_labels: int
    loo: float | None
    alpha: float | None


@dataclass(frozen=True)
class RaterCorrelations:
    """Correlations (k, k) of the k raters shown, None where undefined; `n` counts the tasks that two raters share."""

    raters: list[str]
    pearson: list[list[float | None]]
    spearman: list[list[float | None]]
    n: list[list[int]]
    n_persons: int


@dataclass(frozen=True)
class JudgeAgreement:
    """A judge's outer leave-one-out agreement with people (0 to 1) on `n` tasks; `unscored` verdicts are left out."""

    loo: float
    n: int
    unscored: int
    chance: float
    interval: Interval


@dataclass(frozen=True)
class NoJudgeAgreement:
    """Why a judge cannot be compared with people. `loo` is None."""

    unscored: int
    reason: str
    why: str
    loo: float | None = None
    n: int = 0


@dataclass(frozen=True)
class AgreementReport:
    """Agreement on one criterion of a study, and alpha on each of its criteria."""

    study: str
    criterion: str
    criteria: list[str]
    n_tasks: int
    n_tasks_left_out: int
    n_labels: int
    n_raters: int
    n_instructions: int
    loo: float
    chance: float
    loo_interval: Interval
    loo_such: SuchRaters
    alpha: dict[str, AlphaValue | NoAlpha]
    slots: bool
    by_criterion: list[CriterionAgreement]
    by_category: list[CategoryAgreement]
    by_cohort: list[CohortAgreement]
    matrix: RaterCorrelations | None
    judges: dict[str, JudgeAgreement | NoJudgeAgreement]


def default_criterion(frame: ScoreFrame) -> str:
    """Choose the overall criterion, else the preference, else the only one. Raises AmbiguousCriterion, NothingToRead."""
    for role in ("overall", "preference"):
        keys = frame.keys_of_role(role)
        if keys:
            return keys[0]
    if not len(frame):
        raise NothingToRead("nobody has rated anything in this study yet")
    if len(frame.criterion_keys) == 1:
        return frame.criterion_keys[0]
    raise AmbiguousCriterion(
        f"The study has no overall criterion; choose one with --criterion: {', '.join(ordered_keys(frame))}."
    )


def ordered_keys(frame: ScoreFrame) -> list[str]:
    """List criterion keys: overall first, then the others in the order of their rubric."""
    found = [key for role in ROLE_ORDER for key in frame.keys_of_role(role)]
    return list(dict.fromkeys(found))


def agreement_settings(criterion: str = "", *, draws: int = DRAWS, seed: int = 0) -> dict[str, Any]:
    """Return the settings of a report on one criterion; '' is the default one."""
    return {"criterion": criterion, "draws": draws, "seed": seed}


def agreement_report(
    study: Study, criterion: str = "", *, draws: int = DRAWS, seed: int = 0
) -> AgreementReport | Missing:
    """Return the report of one criterion (the default one for ''), from the cache if nothing has changed.

    It is Missing, because of NothingToRead, AmbiguousCriterion or NoStatistic, where nothing can be compared.
    """
    return report_of(study, AGREEMENT, {**agreement_settings(criterion, draws=draws, seed=seed), **shown_setting()})


def known_agreement_report(study: Study, criterion: str = "") -> AgreementReport | Missing | None:
    """Return the stored report, or None if it has to be computed."""
    return known(study, AGREEMENT, agreement_settings(criterion))


def _compute(study: Study, settings: Settings) -> tuple[str, AgreementReport | Missing]:
    frame = score_frame(kinds=EVERY_KIND, study=study, judges=False)
    try:
        report = _report(study, frame, settings["criterion"], int(settings["draws"]), int(settings["seed"]))
    except (NothingToRead, NoStatistic, AmbiguousCriterion) as error:
        return data_hash(frame), Missing.because(error)
    return data_hash(frame), report


AGREEMENT: ReportKind[AgreementReport | Missing] = register(
    ReportKind("agreement", _compute, slow_from=SLOW_SCORES, shape=AgreementReport | Missing)
)


def _report(study: Study, frame: ScoreFrame, criterion: str, draws: int, seed: int) -> AgreementReport:
    key = criterion or default_criterion(frame)
    part = frame.of_criterion(key)
    kinds = _kinds(part)
    labels = level_places(part.label_values)
    loo = leave_one_out(part.task, labels, draws=draws, seed=seed, clusters=part.instruction)
    slots = Rater.Kind.SLOT in kinds.values()
    variance = agreement_variance(part.task, labels, part.rater, part.instruction, seed=seed)
    return AgreementReport(
        study=study.slug,
        criterion=key,
        criteria=ordered_keys(frame),
        n_tasks=loo.n_tasks,
        n_tasks_left_out=loo.n_tasks_left_out,
        n_labels=loo.n_labels,
        n_raters=len(np.unique(part.rater)),
        n_instructions=len(np.unique(part.instruction)),
        loo=loo.rate,
        chance=loo.chance,
        loo_interval=_interval(loo),
        loo_such=_such(variance, "share", slots=slots),
        alpha={metric: _alpha(part, metric, draws, seed, slots=slots) for metric in METRICS},
        slots=slots,
        by_criterion=[_criterion_row(frame, key, draws, seed, slots=slots) for key in ordered_keys(frame)],
        by_category=_category_rows(part),
        by_cohort=_cohort_rows(part),
        matrix=_matrix(part, kinds),
        judges=_judges(study, part, key, draws, seed),
    )


def _kinds(part: ScoreFrame) -> dict[int, str]:
    return dict(Rater.objects.filter(pk__in=np.unique(part.rater).tolist()).values_list("pk", "kind"))


def _interval(estimate: LeaveOneOut | OuterLeaveOneOut | Alpha) -> Interval:
    return Interval(estimate.low, estimate.high, estimate.interval_kind, estimate.clusters)


def _such(variance: CrossedVariance, scale: Scale, *, slots: bool) -> SuchRaters:
    over = (variance.n_instructions, variance.n_raters)
    ends = such_raters(variance, scale)
    if slots or ends.not_stated is not None:
        return SuchRaters(None, None, None, *over, "positions" if slots else str(ends.not_stated))
    whole = float(variance.such[0])
    share = float(variance.raters[0]) / whole if whole > 0 else 0.0
    return SuchRaters(float(ends.low[0]), float(ends.high[0]), share, *over, "")


def _alpha(part: ScoreFrame, metric: str, draws: int, seed: int, *, slots: bool = False) -> AlphaValue | NoAlpha:
    assert metric in METRICS
    values = part.label_values if metric == "nominal" else part.value
    drawn = partial(krippendorff_alpha, metric=metric, draws=draws, seed=seed)  # type: ignore[arg-type]
    try:
        alpha = drawn(part.task, values, clusters=part.instruction)
    except NoStatistic as error:
        return NoAlpha(str(error), type(error).__name__)
    such = None
    if draws:
        crossed = partial(alpha_variance, metric=metric, seed=seed)  # type: ignore[arg-type]
        such = _such(crossed(part.task, values, part.rater, part.instruction), "correlation", slots=slots)
    ends = alpha.low, alpha.high, alpha.interval_kind, alpha.clusters
    return AlphaValue(*ends, alpha.value, alpha.n_units, alpha.n_values, such)


def _metric_of(part: ScoreFrame) -> str:
    """Return the metric of alpha that fits the scale: sides of a pair are unordered, levels are ordered."""
    return "nominal" if part.role[0] == ROLES.index("preference") else "ordinal"


def _criterion_row(frame: ScoreFrame, key: str, draws: int, seed: int, *, slots: bool) -> CriterionAgreement:
    part = frame.of_criterion(key)
    metric = _metric_of(part)
    return CriterionAgreement(key, metric, _alpha(part, metric, draws, seed, slots=slots), _rate(part))


def _rate(part: ScoreFrame) -> float | None:
    try:
        return leave_one_out(part.task, level_places(part.label_values)).rate
    except NoStatistic:
        return None


def _category_rows(part: ScoreFrame) -> list[CategoryAgreement]:
    """Compute agreement within each category; empty if there is only one."""
    rows = []
    for category in np.unique(part.category).tolist():
        own = part.select(part.category == category)
        name = part.category_names.get(category, "all")
        alpha = _alpha(own, _metric_of(own), 0, 0).value
        rows.append(CategoryAgreement(name, category, len(np.unique(own.task)), len(own), _rate(own), alpha))
    return rows if len(rows) > 1 else []


def _cohort_rows(part: ScoreFrame) -> list[CohortAgreement]:
    """Compute agreement within each cohort; empty if nobody belongs to one."""
    raters = Rater.objects.filter(pk__in=np.unique(part.rater).tolist(), cohort__isnull=False)
    cohorts: dict[str, list[int]] = {}
    for rater in raters.select_related("cohort"):
        assert rater.cohort is not None
        cohorts.setdefault(rater.cohort.name, []).append(rater.pk)
    rows = []
    for name, pks in sorted(cohorts.items()):
        own = part.select(np.isin(part.rater, pks))
        rows.append(CohortAgreement(name, len(pks), len(own), _rate(own), _alpha(own, "ordinal", 0, 0).value))
    return rows


def _matrix(part: ScoreFrame, kinds: Mapping[int, str]) -> RaterCorrelations | None:
    """Correlate persons (the most active ones if there are many); None for slots or a single person."""
    persons = [pk for pk, kind in kinds.items() if kind == Rater.Kind.PERSON]
    raters, counts = np.unique(part.rater, return_counts=True)
    busiest = [int(pk) for pk in raters[np.argsort(-counts, kind="stable")] if int(pk) in set(persons)]
    shown = sorted(busiest[:MOST_RATERS_IN_MATRIX], key=lambda pk: _by_number(part.rater_names[pk]))
    own = part.select(np.isin(part.rater, shown))
    if len(shown) < 2:
        return None
    order = np.argsort([shown.index(int(pk)) for pk in own.rater], kind="stable")
    found = rater_matrix(own.task[order], own.rater[order], own.value[order])
    names = [part.rater_names[int(str(pk))] for pk in found.raters]

    def cells(values: Floats) -> list[list[float | None]]:
        return [
            [float(value) if known else None for value, known in zip(row, defined, strict=True)]
            for row, defined in zip(values, found.defined, strict=True)
        ]

    return RaterCorrelations(names, cells(found.pearson), cells(found.spearman), found.n.tolist(), len(persons))


def _by_number(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts rater 2 before rater 10."""
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in re.split(r"(\d+)", name)]


def _judges(
    study: Study, part: ScoreFrame, key: str, draws: int, seed: int
) -> dict[str, JudgeAgreement | NoJudgeAgreement]:
    """Compare each judge with people: outer leave-one-out on tasks with a usable verdict; the others are counted."""
    verdicts = judges_verdicts(study, key)
    codes = level_places(np.concatenate([part.label_values, verdicts.value]))
    people, judged = codes[: len(part)], codes[len(part) :]
    tasks, places = np.unique(part.task, return_inverse=True)
    places = places.reshape(-1).astype(np.int64)
    found: dict[str, JudgeAgreement | NoJudgeAgreement] = {}
    for pk, name in sorted(verdicts.names.items(), key=lambda pair: pair[1]):
        own = (verdicts.judge == pk) & np.isin(verdicts.task, tasks)
        labels = np.full(len(tasks), -1, dtype=np.int64)
        labels[np.searchsorted(tasks, verdicts.task[own])] = judged[own]
        unscored = verdicts.unscored.get(pk, 0)
        try:
            outer = outer_leave_one_out(places, people, labels, draws=draws, seed=seed, clusters=part.instruction)
        except NoStatistic as error:
            found[name] = NoJudgeAgreement(unscored, str(error), type(error).__name__)
            continue
        found[name] = JudgeAgreement(outer.rate, outer.n_tasks, unscored, outer.chance, _interval(outer))
    return found

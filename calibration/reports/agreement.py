"""Agreement among a study's raters and of judges with them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import EVERY_KIND, ROLES, Floats, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import judges_verdicts
from calibration.reports.cache import SLOW_SCORES, shown_setting
from calibration.reports.codec import Missing
from calibration.reports.judge_matches import labelled_tasks
from calibration.reports.people.groups import NamedPair, Rows
from calibration.reports.people.populations import EstimateForBoth, Interval, SuchRaters, stated
from calibration.reports.registry import MainNumber, ReportKind, Settings, known, register, report_of
from calibration.statistics.agreement.alpha import Alpha, Metric, krippendorff_alpha
from calibration.statistics.agreement.leave_one_out import LeaveOneOut, leave_one_out, outer_leave_one_out
from calibration.statistics.agreement.rater_correlations import rater_matrix
from calibration.statistics.errors import NoStatistic
from calibration.statistics.judges.agreement import Beside, beside_people
from calibration.statistics.ties import level_places
from core.errors import UserError

METRICS: tuple[Metric, ...] = ("nominal", "ordinal", "interval")
ROLE_ORDER = ("overall", "preference", "item", "check")
DRAWS = 1000
MOST_RATERS_IN_MATRIX = 30


class AmbiguousCriterion(UserError):
    """The study has several criteria and none of them is the obvious one."""


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
    loo_ends: EstimateForBoth | Missing


@dataclass(frozen=True)
class CategoryAgreement:
    """Agreement on the report's criterion within one category."""

    category: str
    category_pk: int
    n_tasks: int
    n_labels: int
    loo: float | None
    alpha: float | None
    loo_ends: EstimateForBoth | Missing
    alpha_ends: AlphaValue | NoAlpha


@dataclass(frozen=True)
class CohortAgreement:
    """Agreement on the report's criterion among the raters of one cohort."""

    cohort: str
    n_raters: int
    n_labels: int
    loo: float | None
    alpha: float | None
    loo_ends: EstimateForBoth | Missing
    alpha_ends: AlphaValue | NoAlpha


@dataclass(frozen=True)
class RaterCorrelations:
    """Correlations (k, k) of the k raters shown, None where undefined; `n` counts the tasks that two raters share.

    `pairs` are those with at least three common tasks; `mean` is the mean of Pearson's correlation over all pairs.
    """

    raters: list[str]
    pearson: list[list[float | None]]
    spearman: list[list[float | None]]
    n: list[list[int]]
    n_persons: int
    pairs: list[NamedPair]
    mean: EstimateForBoth | Missing


@dataclass(frozen=True)
class JudgeAgreement:
    """A judge's outer leave-one-out agreement with people (0 to 1) on `n` tasks; `unscored` verdicts are left out.

    `beside` has it with its intervals, beside people's own on the same tasks.
    """

    loo: float
    n: int
    unscored: int
    chance: float
    beside: Beside


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
    """Agreement on one criterion of a study, and alpha on each of its criteria.

    `coefficients` are "fleiss", "ac1", "icc1", "icc21" and "icc2k".
    """

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
    coefficients: dict[str, EstimateForBoth | Missing]
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


def agreement_settings(criterion: str = "", *, draws: int = DRAWS, seed: int = 0) -> dict[str, object]:
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


def headline_alpha(report: AgreementReport) -> AlphaValue | None:
    """Return alpha on the scale of the report's criterion, if that is ordered and alpha is known."""
    metric = next((row.metric for row in report.by_criterion if row.criterion == report.criterion), "nominal")
    alpha = report.alpha[metric]
    return alpha if metric != "nominal" and isinstance(alpha, AlphaValue) else None


def _main_number(report: AgreementReport | Missing) -> float | None:
    """Return the headline's alpha, else how often a rater agrees with most others, to two decimals."""
    if isinstance(report, Missing):
        return None
    alpha = headline_alpha(report)
    return round(report.loo if alpha is None else alpha.value, 2)


AGREEMENT: ReportKind[AgreementReport | Missing] = register(
    ReportKind(
        "agreement",
        _compute,
        slow_from=SLOW_SCORES,
        shape=AgreementReport | Missing,
        main=MainNumber(agreement_settings(), _main_number),
    )
)


def _report(study: Study, frame: ScoreFrame, criterion: str, draws: int, seed: int) -> AgreementReport:
    key = criterion or default_criterion(frame)
    part = frame.of_criterion(key)
    kinds = _kinds(part)
    labels = level_places(part.label_values)
    loo = leave_one_out(part.task, labels, draws=draws, seed=seed, clusters=part.instruction)
    slots = Rater.Kind.SLOT in kinds.values()
    rows = Rows(seed, slots)
    agreement = rows.loo(part)
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
        loo_interval=_ranged(agreement.these, loo),
        loo_such=agreement.such,
        alpha={metric: _alpha(part, metric, rows) for metric in METRICS},
        coefficients=rows.coefficients(part),
        slots=slots,
        by_criterion=[_criterion_row(frame, key, rows) for key in ordered_keys(frame)],
        by_category=_category_rows(part, rows),
        by_cohort=_cohort_rows(part, rows),
        matrix=_matrix(part, kinds, rows),
        judges=_judges(study, part, key, seed),
    )


def _kinds(part: ScoreFrame) -> dict[int, str]:
    return dict(Rater.objects.filter(pk__in=np.unique(part.rater).tolist()).values_list("pk", "kind"))


def _interval(estimate: LeaveOneOut | Alpha) -> Interval:
    return Interval(estimate.low, estimate.high, estimate.interval_kind, estimate.clusters)


def _ranged(these: Interval, found: LeaveOneOut | Alpha) -> Interval:
    """The interval for these raters, or with too few instructions the range over leaving one of them out."""
    return _interval(found) if found.interval_kind == "leave_one_out_range" else these


def _alpha(part: ScoreFrame, metric: Metric, rows: Rows) -> AlphaValue | NoAlpha:
    values = part.label_values if metric == "nominal" else part.value
    try:
        # One draw gives the range over leaving one instruction out where these are too few for an interval.
        alpha = krippendorff_alpha(part.task, values, metric=metric, draws=1, clusters=part.instruction)
        found = rows.alpha(part, metric)
    except NoStatistic as error:
        return NoAlpha(str(error), error.code)
    these = _ranged(found.these, alpha)
    ends = these.low, these.high, these.kind, these.clusters
    return AlphaValue(*ends, alpha.value, alpha.n_units, alpha.n_values, found.such)


def _metric_of(part: ScoreFrame) -> Metric:
    """Return the metric of alpha that fits the scale: sides of a pair are unordered, levels are ordered."""
    return "nominal" if part.role[0] == ROLES.index("preference") else "ordinal"


def _criterion_row(frame: ScoreFrame, key: str, rows: Rows) -> CriterionAgreement:
    part = frame.of_criterion(key)
    metric = _metric_of(part)
    loo = stated(lambda: rows.loo(part))
    return CriterionAgreement(key, metric, _alpha(part, metric, rows), _value(loo), loo)


def _value(found: EstimateForBoth | Missing) -> float | None:
    return None if isinstance(found, Missing) else found.value


def _category_rows(part: ScoreFrame, rows: Rows) -> list[CategoryAgreement]:
    """Compute agreement within each category; empty if there is only one."""
    found = []
    for category in np.unique(part.category).tolist():
        own = part.select(part.category == category)
        name = part.category_names.get(category, "all")
        loo, alpha = stated(partial(rows.loo, own)), _alpha(own, _metric_of(own), rows)
        counts = len(np.unique(own.task)), len(own)
        found.append(CategoryAgreement(name, category, *counts, _value(loo), alpha.value, loo, alpha))
    return found if len(found) > 1 else []


def _cohort_rows(part: ScoreFrame, rows: Rows) -> list[CohortAgreement]:
    """Compute agreement within each cohort; empty if nobody belongs to one."""
    raters = Rater.objects.filter(pk__in=np.unique(part.rater).tolist(), cohort__isnull=False)
    cohorts: dict[str, list[int]] = {}
    for rater in raters.select_related("cohort"):
        assert rater.cohort is not None
        cohorts.setdefault(rater.cohort.name, []).append(rater.pk)
    found = []
    for name, pks in sorted(cohorts.items()):
        own = part.select(np.isin(part.rater, pks))
        loo, alpha = stated(partial(rows.loo, own)), _alpha(own, "ordinal", rows)
        found.append(CohortAgreement(name, len(pks), len(own), _value(loo), alpha.value, loo, alpha))
    return found


def _matrix(part: ScoreFrame, kinds: Mapping[int, str], rows: Rows) -> RaterCorrelations | None:
    """Correlate persons (the most active ones if there are many); None for slots or a single person."""
    persons = [pk for pk, kind in kinds.items() if kind == Rater.Kind.PERSON]
    raters, counts = np.unique(part.rater, return_counts=True)
    busiest = [int(pk) for pk in raters[np.argsort(-counts, kind="stable")] if int(pk) in set(persons)]
    shown = sorted(busiest[:MOST_RATERS_IN_MATRIX], key=lambda pk: _by_number(part.rater_names[pk]))
    own = part.select(np.isin(part.rater, shown))
    if len(shown) < 2:
        return None
    place = {pk: at for at, pk in enumerate(shown)}
    order = np.argsort([place[pk] for pk in own.rater.tolist()], kind="stable")
    found = rater_matrix(own.task[order], own.rater[order], own.value[order])
    names = [part.rater_names[int(str(pk))] for pk in found.raters]

    def cells(values: Floats) -> list[list[float | None]]:
        return [
            [float(value) if known else None for value, known in zip(row, defined, strict=True)]
            for row, defined in zip(values, found.defined, strict=True)
        ]

    return RaterCorrelations(
        names,
        cells(found.pearson),
        cells(found.spearman),
        found.n.tolist(),
        len(persons),
        rows.pairs(own, nominal=_metric_of(own) == "nominal"),
        stated(lambda: rows.mean_correlation(own)),
    )


def _by_number(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts rater 2 before rater 10."""
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in re.split(r"(\d+)", name)]


def _judges(study: Study, part: ScoreFrame, key: str, seed: int) -> dict[str, JudgeAgreement | NoJudgeAgreement]:
    """Compare each judge with people: outer leave-one-out on tasks with a usable verdict; the others are counted."""
    verdicts = judges_verdicts(study, key)
    codes = level_places(np.concatenate([part.label_values, verdicts.value]))
    people, judged = codes[: len(part)], codes[len(part) :]
    tasks, places = np.unique(part.task, return_inverse=True)
    among = labelled_tasks(part, places.reshape(-1).astype(np.int64), people)
    found: dict[str, JudgeAgreement | NoJudgeAgreement] = {}
    for pk, name in sorted(verdicts.names.items(), key=lambda pair: pair[1]):
        own = (verdicts.judge == pk) & np.isin(verdicts.task, tasks)
        labels = np.full(len(tasks), -1, dtype=np.int64)
        labels[np.searchsorted(tasks, verdicts.task[own])] = judged[own]
        unscored = verdicts.unscored.get(pk, 0)
        try:
            outer = outer_leave_one_out(among.task, people, labels)
            beside = beside_people(among, labels, seed=seed)
        except NoStatistic as error:
            found[name] = NoJudgeAgreement(unscored, str(error), error.code)
            continue
        found[name] = JudgeAgreement(outer.rate, outer.n_tasks, unscored, outer.chance, beside)
    return found

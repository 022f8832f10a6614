"""Agreement by criterion, category and cohort, and whether a judge can replace a rater."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import EVERY_KIND, ROLES, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import judges_verdicts
from calibration.reports.agreement import METRICS, ordered_keys
from calibration.reports.codec import Missing, part
from calibration.reports.judge_matches import Drawn
from calibration.reports.people.groups import ICCS, Rows
from calibration.reports.people.populations import EstimateForBoth, stated
from calibration.reports.raters import main_criterion
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.agreement.alpha import Alpha, krippendorff_alpha
from calibration.statistics.agreement.alternative_annotator import (
    CROWD,
    EXPERTS,
    SKILLED,
    AgainstRaters,
    Kind,
    RaterContest,
    ReplacementTest,
    against_raters,
)
from calibration.statistics.agreement.kappas import Kappa, fleiss_kappa, gwet_ac1
from calibration.statistics.agreement.leave_one_out import LeaveOneOut, leave_one_out
from calibration.statistics.agreement.rater_correlations import Icc, icc
from calibration.statistics.errors import Undefined
from calibration.statistics.ties import level_places

Labels: TypeAlias = Mapping[Hashable, float]

DRAWS = 1000
EPSILONS = {"experts": EXPERTS, "skilled": SKILLED, "crowd": CROWD}
COEFFICIENTS = ("loo", "nominal", "ordinal", "interval", "fleiss", "ac1", *ICCS)
ORDERED_FROM = 3
"""Scales with at least this number of ordered levels are compared as numbers in the alternative annotator test."""


@dataclass(frozen=True)
class GroupAgreement:
    """Agreement on a criterion in a group: `by` is "all", "category" or "cohort", `group` its key, "" for everybody.

    `both` has every coefficient's interval for these raters and for such raters, by the keys in COEFFICIENTS; the ends in
    the other fields are the range over leaving one instruction out where these are too few for an interval.
    """

    by: str
    group: str
    criterion: str
    n_labels: int
    n_tasks: int
    n_raters: int
    leave_one_out: LeaveOneOut | Missing
    alpha_nominal: Alpha | Missing
    alpha_ordinal: Alpha | Missing
    alpha_interval: Alpha | Missing
    fleiss: Kappa | Missing
    ac1: Kappa | Missing
    icc: Icc | Missing
    both: Mapping[str, EstimateForBoth | Missing]


@dataclass(frozen=True)
class NamedContest(RaterContest):
    """A judge compared with the rater of this name."""

    rater: str


@dataclass(frozen=True)
class JudgeTest(ReplacementTest):
    """The alternative annotator test of a judge; `left_out` raters had too few items."""

    raters: list[NamedContest]
    left_out: int


@dataclass(frozen=True)
class JudgeTests:
    """The tests of a judge by the kind of people it could replace, the keys of EPSILONS."""

    judge: str
    kind: Kind
    n_verdicts: int
    tests: Mapping[str, JudgeTest | Missing]


@dataclass(frozen=True)
class AgreementByGroup:
    """Agreement by group; judges are tested on `criterion`, those with the most verdicts first."""

    study: str
    criterion: str
    rows: list[GroupAgreement]
    judges: list[JudgeTests] | Missing


AgreementDetail: TypeAlias = AgreementByGroup | Missing


def detail_settings(criterion: str = "") -> Settings:
    return {"criterion": criterion, "draws": DRAWS, "seed": 0}


def _compute(study: Study, settings: Settings) -> tuple[str, AgreementDetail]:
    frame = score_frame(kinds=EVERY_KIND, study=study, judges=False)
    hashed = data_hash(frame)
    seed = int(settings["seed"])
    try:
        key = main_criterion(frame, str(settings["criterion"]))
        people = frame.of_criterion(key)
    except NothingToRead as error:
        return hashed, Missing.because(error)
    slots = Rater.objects.filter(pk__in=np.unique(frame.rater).tolist(), kind=Rater.Kind.SLOT).exists()
    each = Rows(seed, slots)
    rows = [
        _agreement(by, group, criterion, selected.of_criterion(criterion), each)
        for by, group, selected in _groups(frame)
        for criterion in ordered_keys(selected.select(selected.applicable))
    ]
    return hashed, AgreementByGroup(study.slug, key, rows, part(lambda: _judges(study, people, key, slots, seed)))


AGREEMENT_DETAIL: ReportKind[AgreementDetail] = register(
    ReportKind("agreement by group", _compute, slow_from=20_000, shape=AgreementDetail)
)


def _groups(frame: ScoreFrame) -> list[tuple[str, str, ScoreFrame]]:
    """Group the data: everybody, then each category (if there are several), then each cohort."""
    found = [("all", "", frame)]
    categories = np.unique(frame.category)
    if len(categories) > 1:
        found += [
            ("category", frame.category_names.get(int(pk), "all"), frame.select(frame.category == pk))
            for pk in categories
        ]
    raters = Rater.objects.filter(pk__in=np.unique(frame.rater).tolist(), cohort__isnull=False)
    cohorts: dict[str, list[int]] = {}
    for rater in raters.select_related("cohort").order_by("pk"):
        if rater.cohort is not None:
            cohorts.setdefault(rater.cohort.name, []).append(rater.pk)
    found += [("cohort", name, frame.select(np.isin(frame.rater, pks))) for name, pks in sorted(cohorts.items())]
    return found


def _agreement(by: str, group: str, criterion: str, frame: ScoreFrame, rows: Rows) -> GroupAgreement:
    """Compute every coefficient with its ends, or why it has none; as a nominal label, both bad counts on its own."""
    labels = level_places(frame.label_values)
    # One draw gives the range over leaving one instruction out where these are too few for an interval.
    drawn: Drawn = {"draws": 1, "seed": rows.seed, "clusters": frame.instruction}
    alpha = partial(krippendorff_alpha, frame.task, **drawn)
    return GroupAgreement(
        by=by,
        group=group,
        criterion=criterion,
        n_labels=len(frame),
        n_tasks=len(np.unique(frame.task)),
        n_raters=len(np.unique(frame.rater)),
        leave_one_out=part(partial(leave_one_out, frame.task, labels, **drawn)),
        alpha_nominal=part(partial(alpha, frame.label_values, metric="nominal")),
        alpha_ordinal=part(partial(alpha, frame.value, metric="ordinal")),
        alpha_interval=part(partial(alpha, frame.value, metric="interval")),
        fleiss=part(partial(fleiss_kappa, frame.task, labels, **drawn)),
        ac1=part(partial(gwet_ac1, frame.task, labels, **drawn)),
        icc=part(partial(icc, frame.task, frame.rater, frame.value, **drawn)),
        both={
            "loo": stated(partial(rows.loo, frame)),
            **{metric: stated(partial(rows.alpha, frame, metric)) for metric in METRICS},
            **rows.coefficients(frame),
        },
    )


def _judges(study: Study, people: ScoreFrame, key: str, slots: bool, seed: int) -> list[JudgeTests]:
    """Run the alternative annotator test of each judge, for the three kinds of people it could replace."""
    raters = np.unique(people.rater).tolist()
    verdicts = judges_verdicts(study, key)
    if not verdicts.names:
        raise Undefined("NoJudge", "No judge has judged responses of this study.")
    if Rater.objects.filter(pk__in=raters, kind=Rater.Kind.SLOT).count() == len(raters):
        raise Undefined("OnlySlots", "The raters are positions in a data set.")
    categorical = ROLES[int(people.role[0])] in ("preference", "check") or len(np.unique(people.value)) < ORDERED_FROM
    kind: Kind = "categorical" if categorical else "numeric"
    judges = []
    for pk, name in verdicts.names.items():
        mask = verdicts.judge == pk
        labels: Labels = dict(zip(verdicts.task[mask].tolist(), verdicts.value[mask].tolist(), strict=True))
        beside = part(partial(_beside, people, labels, kind, slots, seed))
        tests: dict[str, JudgeTest | Missing] = {
            who: beside if isinstance(beside, Missing) else _test(people, beside, epsilon)
            for who, epsilon in EPSILONS.items()
        }
        judges.append(JudgeTests(name, kind, len(labels), tests))
    return sorted(judges, key=lambda judge: (-judge.n_verdicts, judge.judge))


def _beside(people: ScoreFrame, labels: Labels, kind: Kind, slots: bool, seed: int) -> AgainstRaters:
    values = people.label_values if kind == "categorical" else people.value
    return against_raters(
        people.task, values, people.rater, labels, kind=kind, clusters=people.instruction, positions=slots, seed=seed
    )


def _test(people: ScoreFrame, beside: AgainstRaters, epsilon: float) -> JudgeTest:
    test = beside.test(epsilon)
    names = people.rater_names
    contests = [NamedContest(**vars(contest), rater=names[int(str(pk))]) for pk, contest in test.raters.items()]
    contests.sort(key=lambda contest: contest.rater)
    return JudgeTest(**{**vars(test), "raters": contests, "left_out": len(test.left_out)})

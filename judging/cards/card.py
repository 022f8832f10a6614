"""Everything known of one judge in one place: what it is, how far it agrees with people, its biases, probes and costs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from django.db.models import Exists, OuterRef

from annotation.models import Assignment, Rater, Study
from calibration.data.verdicts import failed_judges, judges_of_answers
from calibration.reports.codec import Missing
from calibration.reports.freshness import shown_report
from calibration.reports.judges import (
    JUDGES,
    PairJudge,
    PairJudgeReport,
    ScoreJudge,
    ScoreJudgeReport,
    judges_beside,
    judges_settings,
)
from calibration.reports.registry import Settings
from calibration.statistics.judges.agreement import Beside
from calibration.statistics.judges.bias import LengthBias
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.shares import Share
from core.errors import UserError
from generation.endpoints.served_names import SERVED
from judging.comparison.judge_costs import costs_in
from judging.comparison.method_table import METHODS, MethodTable, method_settings
from judging.comparison.run_lists import is_priced
from judging.judges.families import judge_families
from judging.models import Judge, JudgeRun
from judging.monitoring.readings import drift_in
from judging.probes.request import GROUP_OF, Group
from judging.probes.results import ProbeReport, probe_report

PER = 1_000
"""Verdicts to which costs and seconds refer."""
Drift: TypeAlias = Literal["changed", "not_shown", "not_watched"]
Use: TypeAlias = Literal["none", "not_shown", "worse", "beside", "better"]


@dataclass(frozen=True)
class JudgeIdentity:
    """What a judge is; everything but its name is empty where its verdicts were imported.

    `answered_as` are the names that the servers gave for the model in its runs' replies.
    """

    id: str
    name: str
    method: str
    model: str
    provider: str
    answered_as: list[str]
    prompt_hash: str
    created_at: str
    provenance: str
    panel: list[str]


@dataclass(frozen=True)
class CardStudy:
    """A judge in one study. `beside` is its agreement with people, people's among themselves on the same tasks, and the
    difference, on one criterion; None where two people have not rated what it judged, or while this is `being_computed`.

    `length`, `position`, `flips` are those of pairs; `slope` is the judge's slope minus a person's, `calibration` the slope
    of people's share on its graded verdicts (1 is calibrated). `money` and `seconds` are of PER verdicts, None where
    unknown. `failed`: a run of it failed its canary texts.
    """

    study: str
    name: str
    verdicts: int
    failed: bool
    being_computed: bool
    criterion: str
    beside: Beside | None
    length: Share | None
    position: Share | None
    flips: Share | None
    slope: PeopleEstimate | None
    calibration: Share | None
    money: str | None
    seconds: float | None
    drift: Drift


@dataclass(frozen=True)
class ProbedRun:
    """The newest run of probes that has a result, by its id."""

    run: str
    report: ProbeReport


@dataclass(frozen=True)
class JudgeCard:
    """A judge's card. `use` sums up for what its verdicts may be used, by what is shown and nothing else.

    "none": a run of it failed its canary texts; "not_shown": nobody has rated enough of what it judged; "worse": in some
    study it agrees less with people than they do with each other; "better": in some study more, for raters like these, and
    in none less;
    "beside": neither is shown. `avoid` are the groups of changes that move its verdicts.
    """

    judge: JudgeIdentity
    use: Use
    avoid: list[str]
    studies: list[CardStudy]
    probes: ProbedRun | None
    currency: str = ""
    drifted: bool = False
    verdicts: int = 0
    unusable: int = 0
    failed: bool = field(default=False)

    @property
    def measured(self) -> list[CardStudy]:
        """The studies in which its agreement with people is known and not of a failed run, the largest first."""
        known = [row for row in self.studies if row.beside is not None and not row.failed]
        return sorted(known, key=lambda row: -row.beside.n if row.beside else 0)


def judge_card(rater: Rater, currency: str = "") -> JudgeCard:
    """Return the card. Reports of large studies are read as last stored, and computed in the background."""
    judge = Judge.objects.filter(rater=rater).select_related("language_model__endpoint").first()
    verdicts = Assignment.objects.filter(rater=rater, task__study=OuterRef("pk")).verdicts()
    studies = Study.objects.filter(Exists(verdicts), workspace=rater.workspace_id).select_related(
        "workspace", "benchmark"
    )
    rows = [_study(study, rater, judge) for study in studies.order_by("-created_at")]
    probes = _probes(judge)
    failed = any(row.failed for row in rows)
    own = Assignment.objects.filter(rater=rater)
    return JudgeCard(
        judge=_identity(rater, judge),
        use=_use(rows),
        avoid=avoided(probes.report) if probes else [],
        studies=rows,
        probes=probes,
        currency=currency,
        drifted=any(row.drift == "changed" for row in rows),
        verdicts=sum(row.verdicts for row in judges_of_answers(own)),
        unusable=own.without_verdict().count(),
        failed=failed,
    )


def _identity(rater: Rater, judge: Judge | None) -> JudgeIdentity:
    model = judge.language_model if judge else None
    endpoint = model.endpoint if model else None
    runs = JudgeRun.objects.filter(judge=judge).order_by("-pk")[:20] if judge else []
    answered = {str(name) for run in runs for name in run.manifest.get(SERVED, [])}
    return JudgeIdentity(
        id=rater.public_id,
        name=rater.name,
        method=judge.method if judge else "",
        model=model.name if model else "",
        provider=endpoint.name if endpoint else "",
        answered_as=sorted(answered),
        prompt_hash=judge.prompt_hash if judge and judge.prompt else "",
        created_at=judge.created_at.isoformat() if judge else "",
        provenance=rater.provenance,
        panel=[juror.rater.name for juror in judge.jurors.select_related("rater")] if judge else [],
    )


def _study(study: Study, rater: Rater, judge: Judge | None) -> CardStudy:
    agreement = shown_report(study, METHODS, method_settings(), build="judging.build_report")
    table = agreement.report
    row = None
    if isinstance(table, MethodTable):
        row = next((one for one in table.methods if one.judge == rater.name), None)
    found = shown_report(study, JUDGES, depth_settings(study))
    pairs = _of_judge(found.report, rater.name)
    sways = pairs.sways if isinstance(pairs, PairJudge) else None
    costs = costs_in(study, [rater.pk]).get(rater.pk)
    money = costs.money if costs else None
    priced = judge is not None and money is not None and is_priced(judge, money)
    watch = drift_in(study, [rater.pk]).get(rater.pk)
    verdicts = Assignment.objects.filter(rater=rater, task__study=study).verdicts().count()
    return CardStudy(
        study=study.slug,
        name=study.name,
        verdicts=verdicts,
        failed=any(one.judge.pk == rater.pk for one in failed_judges(study)),
        being_computed=agreement.freshness.missing or found.freshness.missing,
        criterion=table.criterion if isinstance(table, MethodTable) and row and row.beside else "",
        beside=row.beside if row else None,
        length=_length(sways.length) if sways else None,
        position=sways.position.first_points if sways and not isinstance(sways.position, Missing) else None,
        flips=sways.swap.flip_rate if sways and not isinstance(sways.swap, Missing) else None,
        slope=pairs.slopes.apart if pairs and not isinstance(pairs.slopes, Missing) else None,
        calibration=pairs.soft.slope if pairs and not isinstance(pairs.soft, Missing) else None,
        money=f"{PER * money:f}" if priced and money is not None else None,
        seconds=PER * costs.seconds if costs and costs.seconds is not None else None,
        drift="not_watched" if watch is None else "changed" if watch[1] else "not_shown",
    )


def depth_settings(study: Study) -> Settings:
    """Return the settings of the report on judges in depth, as its own page asks for it."""
    beside = judges_beside(study)
    return judges_settings(study, "", "", judge_families(study, beside), beside)


def _of_judge(report: object, name: str) -> PairJudge | ScoreJudge | None:
    if not isinstance(report, PairJudgeReport | ScoreJudgeReport):
        return None
    judges: Sequence[PairJudge | ScoreJudge] = report.judges
    return next((one for one in judges if one.judge == name), None)


def _length(found: list[LengthBias | Missing] | Missing) -> Share | None:
    """Return the length bias rate over all pairs of different length."""
    if isinstance(found, Missing):
        return None
    return next((one.rate for one in found if not isinstance(one, Missing)), None)


def _probes(judge: Judge | None) -> ProbedRun | None:
    if judge is None:
        return None
    runs = JudgeRun.objects.filter(judge=judge, probes__isnull=False).select_related("judge__rater", "study")
    for run in runs.order_by("-created_at", "-pk")[:5]:
        try:
            return ProbedRun(run.public_id, probe_report(run))
        except UserError:
            continue
    return None


def avoided(report: ProbeReport) -> list[str]:
    """Return the groups of changes that move the judge's verdicts, in the order of pages."""
    found = {GROUP_OF[key] for key in report.found}
    return [str(group) for group in Group if group in found]


def _use(rows: Sequence[CardStudy]) -> Use:
    if any(row.failed for row in rows):
        return "none"
    apart = [row.beside.apart for row in rows if row.beside is not None]
    if not apart:
        return "not_shown"
    if any(one.excludes_zero and one.high < 0 for one in apart):
        return "worse"
    # Two raters, one of whom a judge may repeat, show nothing of raters like them.
    if any(one.excludes_zero and one.low > 0 and one.population == "such" for one in apart):
        return "better"
    return "beside"

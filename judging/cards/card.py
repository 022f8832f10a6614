"""Everything known of one judge in one place: what it is, how far it agrees with people, its biases, probes and costs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from django.db.models import Exists, OuterRef

from annotation.models import Assignment, Rater, Study
from calibration.data.verdicts import judges_of_answers
from calibration.reports.freshness import shown_report
from calibration.reports.judges import JUDGES
from calibration.statistics.judges.agreement import Beside
from generation.endpoints.served_names import SERVED
from judging.cards.measured import CardStudy, depth_settings, measured_in
from judging.cards.probed import newest_probes
from judging.comparison.method_table import METHODS, method_settings
from judging.methods.weighted import FITTED
from judging.models import Judge, JudgeRun
from judging.probes.request import GROUP_OF, Group
from judging.probes.results import ProbeReport
from judging.runs.fitted_panels import MEMBERS, WEIGHTS

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
class ProbedRun:
    """The newest run of probes that has a result, by its id."""

    run: str
    report: ProbeReport


@dataclass(frozen=True)
class JudgeCard:
    """A judge's card. `use` sums up for what its verdicts may be used, by what is shown and nothing else.

    "none": a run of it failed its canary texts; "not_shown": nobody has rated enough of what it judged for a 95 %
    interval of its agreement beside people's, or nothing varies in it; "worse": in some
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
    rows = [_in_study(study, rater) for study in studies.order_by("-created_at")]
    newest = newest_probes([rater]).get(rater.pk)
    probes = ProbedRun(*newest) if newest else None
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
        panel=_members(judge) if judge else [],
    )


def _members(judge: Judge) -> list[str]:
    """Name the members of a panel, those of a fitted one with their weights."""
    if judge.method not in FITTED:
        return [juror.rater.name for juror in judge.jurors.select_related("rater")]
    names = {row.public_id: row.name for row in Rater.objects.filter(public_id__in=judge.parameters[MEMBERS])}
    pairs = zip(judge.parameters[MEMBERS], judge.parameters[WEIGHTS], strict=True)
    return [f"{names.get(one, one)} ({weight:.2f})" for one, weight in pairs]


def _in_study(study: Study, rater: Rater) -> CardStudy:
    agreement = shown_report(study, METHODS, method_settings(), build="judging.build_report")
    found = shown_report(study, JUDGES, depth_settings(study))
    (row,) = measured_in(study, [rater], agreement.report, found.report)
    return row


def avoided(report: ProbeReport) -> list[str]:
    """Return the groups of changes that move the judge's verdicts, in the order of pages."""
    found = {GROUP_OF[key] for key in report.found}
    return [str(group) for group in Group if group in found]


def tells(found: Beside) -> bool:
    """Whether a judge's agreement beside people's has a 95 % interval that could show them to differ."""
    return found.apart.interval_kind == "crossed95" and found.apart.low < found.apart.high


def _use(rows: Sequence[CardStudy]) -> Use:
    if any(row.failed for row in rows):
        return "none"
    apart = [row.beside.apart for row in rows if row.beside is not None and tells(row.beside)]
    if not apart:
        return "not_shown"
    if any(one.excludes_zero and one.high < 0 for one in apart):
        return "worse"
    # Two raters, one of whom a judge may repeat, show nothing of raters like them.
    if any(one.excludes_zero and one.low > 0 and one.population == "such" for one in apart):
        return "better"
    return "beside"

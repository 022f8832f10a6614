"""The table of a study's judges, a row for each with all that its card says; and that of a workspace, from stored tables.

A workspace's table shows each judge in the study in which most tasks say how far it agrees with people.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Max, Q
from django.utils import timezone

from accounts.models import Workspace
from annotation.models import Study, Task
from calibration.data.verdicts import judges_by_verdicts
from calibration.models import Report
from calibration.report_store.questions import EXCLUDED, SHAPE
from calibration.report_store.refreshes import Refresh, computing, refresh
from calibration.reports.codec import INLINED, Missing, read_back, stored
from calibration.reports.judges import JUDGES, judges_beside
from calibration.reports.registry import Plain, ReportKind, Settings, register, report_of
from calibration.statistics.judges.probes import ShareOfVerdicts
from core.clock import Clock
from generation.endpoints.pricing import currency_of
from generation.execution.recovery import each_alone
from judging.cards.measured import CardStudy, depth_settings, measured_in
from judging.cards.probed import newest_probes
from judging.comparison.method_table import METHODS, MethodTable, method_settings
from judging.models import JudgeRun
from judging.probes.results import ProbeReport

NAME = "table of judges"
MISSING = "missing tables of judges"
"""The kind under which computing the tables that a workspace's table lacks holds its lease."""
TASK = "judging.compute_judge_tables"


@dataclass(frozen=True)
class LargestEffect:
    """The probe that moved a judge's verdicts most, as a share of the scale; `p` is corrected over all of its probes.

    `study` is where the judge was probed by the run `run`, with `responses` responses. `found`: the mean differs from 0
    after the correction.
    """

    key: str
    mean: float
    low: float
    high: float
    p: float
    found: bool
    run: str
    study: str
    responses: int


@dataclass(frozen=True)
class TableRow:
    """A judge, by its public `id` and its name. `again` is the share of its verdicts that differ when it is asked twice."""

    id: str
    judge: str
    measured: CardStudy = field(metadata=INLINED)
    probe: LargestEffect | None
    again: ShareOfVerdicts | None


@dataclass(frozen=True)
class JudgeTable:
    """The judges of a study, the most verdicts first. `alike`: all whose agreement is known judged the same tasks, so that
    they can be ordered by what was measured."""

    rows: list[TableRow]
    alike: bool
    currency: str


def table_settings(study: Study) -> Settings:
    """Return the settings: beside the study's scores, what else the table rests on."""
    beside = judges_beside(study)
    depth = depth_settings(study, beside)
    probed = JudgeRun.objects.filter(judge__rater__in=beside.values("rater"), probes__isnull=False)
    answered = Q(items__status__in=["scored", "unscored"])
    rounds = JudgeRun.objects.filter(watch__study=study, manifest__has_key="watch")
    watched = rounds.aggregate(last=Max("pk"), baseline=Max("watch__baselines__pk"))
    return {
        # Named as the state of rows, so that an outdated table is still found while a new one is computed.
        "beside": {
            "judges": depth["beside"],
            "probes": [list(row) for row in probed.order_by("pk").values_list("pk").annotate(n=Count("pk", answered))],
            "watched": list(watched.values()),
        },
        "families": depth["families"],
        "reviews": depth["reviews"],
    }


def _compute(study: Study, _settings: Settings) -> tuple[str, JudgeTable]:
    judges = [row.judge for row in judges_by_verdicts(study)]
    methods = report_of(study, METHODS, method_settings())
    depth = report_of(study, JUDGES, depth_settings(study))
    probes = newest_probes(judges)
    rows = []
    for judge, measured in zip(judges, measured_in(study, judges, methods, depth), strict=True):
        run, report = probes.get(judge.pk, ("", None))
        again = report.again if report else None
        rows.append(TableRow(judge.public_id, judge.name, measured, _largest(run, report), again))
    return "", JudgeTable(rows, isinstance(methods, MethodTable) and _alike(methods), currency_of(study.workspace_id))


TABLE: ReportKind[JudgeTable] = register(ReportKind(NAME, _compute, slow_from=20_000, shape=JudgeTable))


def _largest(run: str, report: ProbeReport | None) -> LargestEffect | None:
    if report is None or not report.effects:
        return None
    key, one = max(report.effects, key=lambda pair: abs(pair[1].mean))
    return LargestEffect(key, one.mean, one.low, one.high, one.p, one.found, run, report.study, report.responses)


def _alike(methods: MethodTable) -> bool:
    """Whether all judges with an agreement were compared with people on the same tasks."""
    known = [row.beside.n for row in methods.methods if row.beside and not row.failed and not row.composite]
    if len(known) < 2 or isinstance(methods.compared, Missing):
        return False
    return set(known) == {methods.compared.found.n_common}


@dataclass(frozen=True)
class StoredTable:
    """A study's table as it was last computed."""

    study: Study
    table: JudgeTable
    computed_at: datetime


@dataclass(frozen=True)
class WorkspaceTable:
    """A row for each judge, by name, with the time at which its study's table was computed; `without` are the studies
    with verdicts whose table has never been computed, and `first` is the oldest study with verdicts."""

    rows: list[tuple[TableRow, StoredTable]]
    without: list[Study]
    first: Study | None


def workspace_table(workspaces: Iterable[Workspace]) -> WorkspaceTable:
    """Return the table of all judges of these workspaces, from the tables that are stored; it computes none.

    Three queries, however many studies and judges there are.
    """
    judged = Task.objects.filter(assignments__rater__kind="judge", study__workspace__in=list(workspaces))
    studies = Study.objects.filter(pk__in=judged.order_by().values("study")).exclude(kind=Study.Kind.REVIEW)
    known = {study.pk: study for study in studies.select_related("workspace", "benchmark")}
    reports = Report.objects.filter(study__in=known, kind=NAME)
    kept: dict[int, int] = {}
    for pk, study, settings in reports.order_by("pk").values_list("pk", "study_id", "settings"):
        if settings.get("shape") == SHAPE and EXCLUDED not in settings:
            kept[study] = pk
    tables = [
        StoredTable(known[row.study_id], read_back(JudgeTable, row.result), row.created_at)
        for row in Report.objects.filter(pk__in=kept.values())
        if row.study_id is not None
    ]
    best: dict[str, tuple[TableRow, StoredTable]] = {}
    for table in tables:
        for row in table.table.rows:
            if row.id not in best or _says_more(row, best[row.id][0]):
                best[row.id] = row, table
    rows = sorted(best.values(), key=lambda pair: (pair[0].judge, pair[0].id))
    without = [study for pk, study in known.items() if pk not in kept]
    by_name = sorted(without, key=lambda study: (study.name, study.pk))
    return WorkspaceTable(rows, by_name, known[min(known)] if known else None)


def request_missing(found: WorkspaceTable, *, clock: Clock = timezone.now) -> Refresh:
    """Have a worker compute the tables that are missing, once at a time; the lease is held by the oldest study."""
    if not found.without or found.first is None:
        return Refresh(under_way=False)
    return refresh(found.first, MISSING, {}, TASK, [study.pk for study in found.without], clock=clock)


def compute_missing(studies: Iterable[Study]) -> None:
    """Compute and store these tables; one that fails leaves the others to be computed."""
    each_alone(studies, lambda study: report_of(study, TABLE, table_settings(study)))


def compute_requested(study: Study, missing: Sequence[int]) -> None:
    """Compute what request_missing asked for, unless another worker does."""
    with computing(study, MISSING, {}) as wanted:
        if wanted:
            compute_missing(Study.objects.filter(pk__in=missing).select_related("workspace").order_by("pk"))


def _says_more(row: TableRow, than: TableRow) -> bool:
    return _weight(row.measured) > _weight(than.measured)


def _weight(row: CardStudy) -> tuple[bool, int, int]:
    return (row.failed, row.beside.n if row.beside else 0, row.verdicts)


def workspace_json(found: WorkspaceTable, missing: Refresh) -> Plain:
    """Return the workspace's table as JSON values: what the command and the API state.

    `without` are studies whose judges are missing, which are `being_computed` or could not be.
    """
    rows: Sequence[Mapping[str, object]] = [
        {**stored(row), "currency": table.table.currency, "computed_at": table.computed_at.isoformat()}
        for row, table in found.rows
    ]
    return {"rows": list(rows), "without": [study.slug for study in found.without], "being_computed": missing.under_way}

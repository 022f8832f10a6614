"""API endpoints for work that takes longer: one list of jobs over runs, generation, imports, exports and fits.

A job is no row of its own. It shows the row or file that says how far the work is, so it never differs from the page.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, cast

from django.http import FileResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, checked
from accounts.models import Event, User
from accounts.permissions import leads_workspace_of, workspaces_led_by
from annotation.api.studies import study_to_read
from annotation.models import Study
from annotation.privacy.reads import note_reading
from annotation.studies.access import studies_read_by
from annotation.uploads.kept_files import CHECKED, CHECKING, NEW, TableUpload, kept_tables, known_table
from annotation.uploads.remedies import on_page
from calibration.fits.categories import FIT_REFUSED
from calibration.models import Fit, ReportRefresh
from calibration.report_store.refreshes import FITTING
from calibration.web.messages.statistics import words_of_refusal
from core.errors import UserError
from core.messages.message import from_value
from core.messages.rendering import for_reader, stored_for_reader
from core.uploads.kept_files import LOADED, LOADING
from generation.execution.progress import with_counts
from generation.execution.states import NotPossible
from generation.library.access import runs_read_by as generation_read_by
from generation.models import GenerationItem, GenerationRun
from generation.responses.runs import cancel_run as cancel_generation
from generation.run_fields import AnyRun
from judging.archive.made_files import (
    ARCHIVE,
    FAILED,
    KINDS,
    MADE,
    MAKING,
    WAITING,
    MadeFile,
    ask_for,
    files_of,
    known_file,
    remove,
)
from judging.models import JudgeRun, PlannedItem
from judging.runs.access import runs_read_by
from judging.runs.life_cycle import cancel_run

STATES = ("waiting", "running", "paused", "done", "failed", "cancelled")
OF_RUN = {
    AnyRun.Status.PLANNED: "waiting",
    AnyRun.Status.RUNNING: "running",
    AnyRun.Status.PAUSED: "paused",
    AnyRun.Status.FINISHED: "done",
    AnyRun.Status.FAILED: "failed",
    AnyRun.Status.CANCELLED: "cancelled",
}
OF_UPLOAD = {NEW: "waiting", CHECKING: "running", LOADING: "running", CHECKED: "done", LOADED: "done"}
OF_FILE = {WAITING: "waiting", MAKING: "running", MADE: "done", FAILED: "failed"}
MOST_OF_A_KIND = 100
RUN_KIND, GENERATION, IMPORT, EXPORT, FIT = KINDS_OF_JOB = ("run", "generation", "import", "export", "fit")


@dataclass(frozen=True)
class Job:
    """`done` of `total` steps, None where nobody knows; `result` is the address of what came of it below /api/v1/."""

    id: str
    kind: str
    state: str
    about: str
    created_at: datetime
    done: int | None = None
    total: int | None = None
    error: str = ""
    result: str = ""
    can_be_cancelled: bool = False


class JobSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS_OF_JOB)
    state = serializers.ChoiceField(choices=STATES)
    about = serializers.CharField(help_text="Workspace and slug of the study or benchmark.")
    created_at = serializers.DateTimeField()
    done = serializers.IntegerField(allow_null=True, help_text="Steps that are done, such as rows or answers.")
    total = serializers.IntegerField(allow_null=True, help_text="Steps in all; null where it is not known yet.")
    error = serializers.CharField(help_text="Why it failed or paused, or empty.")
    result = serializers.CharField(help_text="Address of what came of it, or empty.")
    can_be_cancelled = serializers.BooleanField()


class JobsSerializer(serializers.Serializer[Any]):
    """The newest jobs first."""

    results = JobSerializer(many=True)


class WantedExportSerializer(serializers.Serializer[Any]):
    """A file of a study's data."""

    kind = serializers.ChoiceField(choices=list(KINDS), default=ARCHIVE)
    texts = serializers.BooleanField(
        default=False, help_text="Whether texts are included; an archive can then be imported."
    )
    criterion = serializers.CharField(max_length=150, required=False, allow_blank=True, default="")
    judge = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")


EXAMPLE = {
    "id": "export-Zm9vYmFy",
    "kind": "export",
    "state": "running",
    "about": "lab/essays",
    "created_at": "2026-05-01T09:00:00Z",
    "done": 4000,
    "total": 12000,
    "error": "",
    "result": "",
    "can_be_cancelled": True,
}
SHOWN = OpenApiExample("An export", EXAMPLE, response_only=True, status_codes=["200", "202"])


@extend_schema(
    operation_id="jobs",
    parameters=[
        OpenApiParameter("kind", str, enum=list(KINDS_OF_JOB)),
        OpenApiParameter("state", str, enum=list(STATES)),
    ],
    responses=JobsSerializer,
)
@api_view(["GET"])
@needs(Scope.READ)
def jobs(request: Request) -> Response:
    """List the newest hundred jobs of each kind: runs, generation, imports and exports of files, and fits.

    Imports are those of the workspaces that you lead; files are kept for a day.
    """
    wanted, state = (request.query_params.get(name, "") for name in ("kind", "state"))
    user = asking(request)
    found = [one for kind, every in _EVERY.items() if wanted in ("", kind) for one in every(user)]
    shown = sorted((one for one in found if state in ("", one.state)), key=lambda one: one.created_at, reverse=True)
    return Response({"results": [_said(one) for one in shown]})


@extend_schema(operation_id="job", responses=JobSerializer, examples=[SHOWN])
@api_view(["GET"])
@needs(Scope.READ)
def job(request: Request, job_id: str) -> Response:
    """Return how far a job is, and what came of it."""
    return Response(_said(_job(_row(asking(request), job_id))))


@extend_schema(operation_id="cancel_job", request=None, responses=JobSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def cancel_job(request: Request, job_id: str) -> Response:
    """Cancel a job: what is done stays where it is of use, such as the verdicts of a run. A job that is over stays."""
    user = asking(request)
    row = _row(user, job_id)
    if not isinstance(row, MadeFile) and not leads_workspace_of(user, _owner(row)):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
    found = _job(row)
    if found.state in ("done", "failed", "cancelled") and not found.can_be_cancelled:
        return Response(_said(found))
    if not found.can_be_cancelled:
        raise Unusable(_("A worker is at work on this, and it cannot be stopped. Wait until it is done."))
    try:
        if isinstance(row, JudgeRun):
            cancel_run(row, clock=timezone.now, user=user)
        elif isinstance(row, GenerationRun):
            cancel_generation(row, clock=timezone.now, user=user)
        elif isinstance(row, TableUpload):
            row.discard()
        elif isinstance(row, MadeFile):
            remove(row)
    except NotPossible as problem:
        raise Unusable(for_reader(problem)) from problem
    gone = isinstance(row, TableUpload | MadeFile)
    after = {**asdict(found), "state": "cancelled", "can_be_cancelled": False} if gone else asdict(_job(row))
    return Response(JobSerializer(after).data)


@extend_schema(
    operation_id="make_export",
    request=WantedExportSerializer,
    responses={202: JobSerializer},
    examples=[OpenApiExample("Parquet", {"kind": "parquet"}, request_only=True), SHOWN],
)
@api_view(["POST"])
@needs(Scope.RATINGS)
def make_export(request: Request, workspace: str, slug: str) -> Response:
    """Ask a worker for a file of a study's data; the job says when it is there. One that is being made is not made twice."""
    study = study_to_read(request, workspace, slug)
    asked = checked(WantedExportSerializer(data=request.data))
    try:
        made = ask_for(study, asking(request), **asked)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response(_said(_job(made)), status=202)


@extend_schema(operation_id="export_file", responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
@api_view(["GET"])
@needs(Scope.RATINGS)
def export_file(request: Request, public_id: str) -> FileResponse:
    """Return a file that has been made; the job of its export names this address."""
    made = _row(asking(request), f"{EXPORT}-{public_id}")
    assert isinstance(made, MadeFile)
    if made.state != MADE:
        raise NotFound(_("This file is not there yet. Ask its job how far it is."))
    verb = "export_study" if made.kind == ARCHIVE else "export_answers"
    note_reading(_study_of(made), asking(request), clock=timezone.now, verb=verb)
    # The schema names one type for files of every kind.
    kind = "application/octet-stream"
    return FileResponse(made.path.open("rb"), as_attachment=True, filename=made.name, content_type=kind)


Row = JudgeRun | GenerationRun | TableUpload | MadeFile | ReportRefresh


def _row(user: User, job_id: str) -> Row:
    """Return what the job shows, of the user's workspaces. Raises NotFound."""
    kind, _dash, own = job_id.partition("-")
    found: Row | None = None
    if kind == RUN_KIND:
        found = _runs(user).filter(public_id=own).first()
    elif kind == GENERATION:
        found = _generation_runs(user).filter(public_id=own).first()
    elif kind == IMPORT:
        upload = known_table(own)
        led = upload is not None and workspaces_led_by(user).filter(pk=upload.workspace).exists()
        found = upload if led else None
    elif kind == EXPORT:
        made = known_file(own)
        found = made if made is not None and studies_read_by(user).filter(pk=made.study).exists() else None
    elif kind == FIT and own.isascii() and own.isdecimal() and len(own) < 19:
        found = _fits(user).filter(pk=int(own)).first()
    if found is None:
        raise NotFound(_("There is no such job in your workspaces."))
    return found


def _fits(user: User) -> Any:
    rows = ReportRefresh.objects.filter(kind=FITTING, study__in=studies_read_by(user))
    return rows.select_related("study__workspace").order_by("-asked_at")


def _runs(user: User) -> Any:
    rows = runs_read_by(user).select_related("study__workspace").order_by("-created_at")
    return with_counts(rows, PlannedItem.objects.filter(canary=""), PlannedItem.Status.WAITING)


def _generation_runs(user: User) -> Any:
    rows = generation_read_by(user).exclude(status=AnyRun.Status.IMPORTED)
    return with_counts(rows, GenerationItem.objects.all(), GenerationItem.Status.WAITING)


def _exports(user: User) -> Iterator[MadeFile]:
    for study in studies_read_by(user).order_by("-pk")[:MOST_OF_A_KIND]:
        yield from files_of(study)


def _imports(user: User) -> list[TableUpload]:
    led = set(workspaces_led_by(user).values_list("pk", flat=True))
    return [one for one in kept_tables() if one.workspace in led]


_EVERY: Mapping[str, Callable[[User], Iterable[Job]]] = {
    RUN_KIND: lambda user: map(_job, _runs(user)[:MOST_OF_A_KIND]),
    GENERATION: lambda user: map(_job, _generation_runs(user)[:MOST_OF_A_KIND]),
    IMPORT: lambda user: map(_job, _imports(user)),
    EXPORT: lambda user: map(_job, _exports(user)),
    FIT: lambda user: map(_job, _fits(user)[:MOST_OF_A_KIND]),
}


def _owner(row: Row) -> Any:
    """Return the row whose workspace decides who may cancel."""
    match row:
        case JudgeRun() | ReportRefresh():
            return row.study
        case TableUpload():
            return _Workspace(row.workspace)
        case _:
            return row


@dataclass(frozen=True)
class _Workspace:
    workspace_id: int


def _study_of(made: MadeFile) -> Study:
    return Study.objects.select_related("workspace").get(pk=made.study)


def _job(row: Row) -> Job:
    match row:
        case JudgeRun():
            return _run_job(RUN_KIND, row, _about(row.study), f"runs/{row.public_id}/")
        case GenerationRun():
            benchmark = row.benchmark
            about = f"{benchmark.workspace.slug}/{benchmark.slug}"
            result = f"w/{benchmark.workspace.slug}/benchmarks/{benchmark.slug}/responses/"
            return _run_job(GENERATION, row, about, result)
        case TableUpload():
            return _import_job(row)
        case MadeFile():
            return _export_job(row)
        case ReportRefresh():
            return _fit_job(row)


def _run_job(kind: str, row: Any, about: str, result: str) -> Job:
    """Return the job of a run with the counts of its items."""
    state = OF_RUN.get(AnyRun.Status(row.status), "done")
    return Job(
        id=f"{kind}-{row.public_id}",
        kind=kind,
        state=state,
        about=about,
        created_at=row.created_at,
        done=row.done,
        total=row.total,
        error=stored_for_reader(row, "message") if state in ("failed", "paused") else "",
        result=result,
        can_be_cancelled=state in ("waiting", "running", "paused", "failed"),
    )


def _import_job(upload: TableUpload) -> Job:
    problem = on_page(from_value(upload.problem))
    return Job(
        id=f"{IMPORT}-{upload.public_id}",
        kind=IMPORT,
        state="failed" if problem else OF_UPLOAD.get(upload.state, "failed"),
        about=upload.into,
        created_at=_moment(upload.asked_at),
        done=upload.rows,
        error=problem,
        result=f"uploads/{upload.public_id}/",
        can_be_cancelled=not upload.is_at_work and not upload.is_over,
    )


def _export_job(made: MadeFile) -> Job:
    return Job(
        id=f"{EXPORT}-{made.public_id}",
        kind=EXPORT,
        state=OF_FILE[made.state],
        about=_about(_study_of(made)),
        created_at=_moment(made.asked_at),
        done=made.done,
        total=made.total,
        error=for_reader(from_value(made.problem)) if made.problem else "",
        result=f"exports/{made.public_id}/file/" if made.state == MADE else "",
        can_be_cancelled=not made.is_over,
    )


def _fit_job(row: ReportRefresh) -> Job:
    state = "failed" if row.failed else "done"
    if row.leased_until is not None and row.leased_until > timezone.now():
        state = "running" if row.holder else "waiting"
    made: Fit | None = None
    if state == "done":
        made = row.study.fits.filter(created_at__gte=row.asked_at).order_by("pk").first()
    return Job(
        id=f"{FIT}-{row.pk}",
        kind=FIT,
        state=state,
        about=_about(row.study),
        created_at=row.asked_at,
        error=_refusal(row) if state == "failed" else "",
        result=f"fits/{made.public_id}/" if made else "",
    )


def _refusal(row: ReportRefresh) -> str:
    """Return why the fit was refused, or that the server failed."""
    events = Event.objects.filter(object_type="study", object_id=row.study.public_id, verb=FIT_REFUSED)
    event = events.filter(at__gte=row.asked_at).first()
    return words_of_refusal(event.after or {}) if event else _("The server had an internal error, which is in its log.")


def _about(study: Study) -> str:
    return f"{study.workspace.slug}/{study.slug}"


def _moment(text: str) -> datetime:
    return cast(datetime, parse_datetime(text))


def _said(job: Job) -> dict[str, object]:
    return dict(JobSerializer(asdict(job)).data)

"""REST API of judging: runs with their progress and controls, leaderboards, exports."""

import tempfile

from django.db import transaction
from django.http import FileResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, paged
from accounts.permissions import leads_workspace_of, workspaces_read_by
from annotation.api import study_to_read
from calibration.reports.cache import SHOWN
from core.errors import UserError
from generation.api import CURSOR, SIZE, benchmark_to_read
from generation.models import MAIN_EXPERIMENT
from judging.archive.export import export_study
from judging.leaderboards.filters import Filters
from judging.leaderboards.table import requested_board
from judging.leaderboards.weighting import EQUAL
from judging.models import Judge, JudgeRun
from judging.runs.access import run_read_by, runs_read_by
from judging.runs.life_cycle import (
    JUDGING,
    NotPossible,
    Progress,
    cancel_run,
    keep_logged,
    pause_run,
    progress_of,
    start_run,
)


class JudgeSerializer(serializers.ModelSerializer[Judge]):
    id = serializers.CharField(source="rater.public_id")
    name = serializers.CharField(source="rater.name")
    model = serializers.CharField(source="language_model.name", default=None)
    provenance = serializers.CharField(source="rater.provenance")

    class Meta:
        model = Judge
        fields = ["id", "name", "method", "model", "prompt_hash", "parameters", "provenance", "created_at"]


class RunSerializer(serializers.ModelSerializer[JudgeRun]):
    id = serializers.CharField(source="public_id")
    judge = serializers.CharField(source="judge.rater.name")
    workspace = serializers.CharField(source="study.workspace.slug")
    study = serializers.CharField(source="study.slug")
    discredited = serializers.BooleanField(
        read_only=True, help_text="Whether the run failed its canary texts, so that its verdicts are not ranked."
    )

    class Meta:
        model = JudgeRun
        fields = [
            "id",
            "judge",
            "workspace",
            "study",
            "status",
            "message",
            "discredited",
            "budget_calls",
            "budget_tokens",
            "budget_money",
            "created_at",
            "started_at",
            "finished_at",
        ]


class RunProgressSerializer(serializers.Serializer[Progress]):
    total = serializers.IntegerField()
    scored = serializers.IntegerField()
    unscored = serializers.IntegerField()
    waiting = serializers.IntegerField()
    busy = serializers.IntegerField(help_text="Items that a worker is processing.")
    under_way = serializers.IntegerField(
        source="calls_now.under_way", help_text="Calls that were sent but not answered yet."
    )
    next_call_at = serializers.DateTimeField(
        source="calls_now.next_call_at", allow_null=True, help_text="Time of the next call, if a rate limit delays it."
    )
    reasons = serializers.JSONField(help_text="[reason, count] of unscored items, most frequent first.")
    calls = serializers.IntegerField()
    reused = serializers.IntegerField(help_text="Questions answered from stored replies at no cost.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    money = serializers.DecimalField(max_digits=18, decimal_places=6)
    projected_money = serializers.DecimalField(max_digits=18, decimal_places=6, allow_null=True)


class RunStateSerializer(RunSerializer):
    progress = RunProgressSerializer()
    manifest = serializers.JSONField()

    class Meta(RunSerializer.Meta):
        fields = [*RunSerializer.Meta.fields, "progress", "manifest"]


@extend_schema(parameters=[SIZE, CURSOR], responses=JudgeSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def judges(request: Request) -> ApiResponse:
    """The judges of the workspaces whose results you may read."""
    found = Judge.objects.filter(workspace__in=workspaces_read_by(asking(request)))
    return paged(request, found.select_related("rater", "language_model"), JudgeSerializer)


@extend_schema(parameters=[SIZE, CURSOR], responses=RunSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def runs(request: Request) -> ApiResponse:
    """The judge runs, in the order in which they were created."""
    return paged(
        request, runs_read_by(asking(request)).select_related("judge__rater", "study__workspace"), RunSerializer
    )


@extend_schema(responses=RunStateSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def run(request: Request, public_id: str) -> ApiResponse:
    """One run: its progress, its cost and its parts."""
    return ApiResponse(_state(_run_to_read(request, public_id)))


@extend_schema(
    request=None,
    responses=RunStateSerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=["start", "pause", "cancel"])],
)
@api_view(["POST"])
@needs(Scope.CHANGE, start=Scope.RUN)
def steer_run(request: Request, public_id: str, verb: str) -> ApiResponse:
    """Start (or resume), pause or cancel a run; 400 with a sentence if its state does not allow it."""
    user = asking(request)
    found = _run_to_read(request, public_id)
    if not leads_workspace_of(user, found.judge):
        raise PermissionDenied("Only owners and leads of this workspace can control its runs.")
    keep_logged(found)
    try:
        with transaction.atomic():
            if verb == "start":
                start_run(found, clock=timezone.now, user=user)
                JUDGING.hand_over(found)
            elif verb == "pause":
                pause_run(found, clock=timezone.now, user=user)
            else:
                cancel_run(found, clock=timezone.now, user=user)
    except NotPossible as error:
        raise Unusable(str(error)) from error
    return ApiResponse(_state(found))


@extend_schema(
    parameters=[
        OpenApiParameter("judge", str, required=True, description="Name of a judge that has rated this benchmark."),
        OpenApiParameter("weights", str, description="equal, published, or the id, name or study of a fit."),
        OpenApiParameter("experiment", str, description="Experiment; default: main."),
    ],
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET"])
@needs(Scope.READ)
def board(request: Request, workspace: str, slug: str) -> ApiResponse:
    """The models of a benchmark ranked by a judge's verdicts, unrounded: the output of `manage.py leaderboard --json`."""
    asked = request.query_params
    benchmark = benchmark_to_read(request, workspace, slug)
    try:
        requested = Filters(
            judge=asked.get("judge", ""),
            weights=asked.get("weights") or EQUAL,
            experiment=asked.get("experiment") or MAIN_EXPERIMENT,
            excluded=SHOWN if asked.get("excluded") == SHOWN else "",
        )
        return ApiResponse(requested_board(benchmark, requested).as_json())
    except UserError as error:
        raise Unusable(str(error)) from error


@extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
@api_view(["GET"])
@needs(Scope.RATINGS)
def export(request: Request, workspace: str, slug: str) -> FileResponse:
    """A study as one file from which `manage.py recompute` recomputes every number on its pages."""
    study = study_to_read(request, workspace, slug)
    # Closed by the response when it has been sent.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    export_study(study, file)
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=f"{study.slug}.plumbline.zip")


def _state(found: JudgeRun) -> dict[str, object]:
    progress = RunProgressSerializer(progress_of(found, clock=timezone.now)).data
    return {**RunSerializer(found).data, "progress": progress, "manifest": found.manifest}


def _run_to_read(request: Request, public_id: str) -> JudgeRun:
    lack = f"There is no run {public_id!r} in your workspaces."
    return run_read_by(asking(request), public_id, message=lack)

"""REST API of judging: runs with their progress and controls, leaderboards, papers' tables, exports."""

import tempfile
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.db import transaction
from django.http import FileResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, paged
from accounts.permissions import leads_workspace_of, workspaces_read_by
from annotation.api.studies import study_to_read
from annotation.models import Study
from annotation.privacy.reads import note_reading
from core.errors import UserError
from core.messages.rendering import for_reader
from core.text import storable
from generation.api import CURSOR, SIZE
from judging.archive.export import export_study
from judging.archive.format_files import file_name, write_format
from judging.formats.answers import WriteOptions
from judging.formats.registry import WRITERS, writer_named
from judging.models import Judge, JudgeRun
from judging.runs.access import run_read_by, runs_read_by
from judging.runs.life_cycle import (
    JUDGING,
    NotPossible,
    Progress,
    ask_again,
    cancel_run,
    keep_logged,
    pause_run,
    progress_of,
    start_run,
)
from judging.runs.verdict_lists import ALL, FILTERS, verdict_list
from judging.runs.verdict_records import VerdictRecord, verdict_records


class JudgeSerializer(serializers.ModelSerializer[Judge]):
    id = serializers.CharField(source="rater.public_id")
    name = serializers.CharField(source="rater.name")
    model = serializers.CharField(source="language_model.name", default=None)
    provenance = serializers.CharField(source="rater.provenance")

    class Meta:
        model = Judge
        fields = ["id", "name", "method", "model", "prompt", "prompt_hash", "parameters", "provenance", "created_at"]


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
            "label",
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


class CriterionScoreSerializer(serializers.Serializer[object]):
    criterion = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="Null where the criterion does not apply.")
    reason = serializers.CharField()


class RawReplySerializer(serializers.Serializer[object]):
    attempt = serializers.IntegerField()
    text = serializers.CharField()
    finish_reason = serializers.CharField()
    error = serializers.CharField()
    reused = serializers.BooleanField(help_text="Whether a stored reply was used, at no cost.")


class VerdictSerializer(serializers.Serializer[VerdictRecord]):
    item = serializers.IntegerField(source="item.pk")
    position = serializers.IntegerField(source="item.position")
    instruction = serializers.CharField(source="item.task.response_a.instruction.external_id")
    response_a = serializers.CharField(source="item.task.response_a.public_id")
    response_b = serializers.CharField(source="item.task.response_b.public_id", default=None)
    model_a = serializers.CharField(source="item.task.response_a.model.name", default=None)
    model_b = serializers.CharField(source="item.task.response_b.model.name", default=None)
    shown_first = serializers.CharField(source="item.shown_first")
    juror = serializers.IntegerField(source="item.juror")
    repeat = serializers.IntegerField(source="item.repeat")
    canary = serializers.CharField(source="item.canary", help_text="The canary text; empty for an ordinary response.")
    status = serializers.CharField(source="item.status")
    reason = serializers.CharField(source="item.reason", help_text="Why the item has no verdict; else empty.")
    score = serializers.FloatField(source="mean.value", default=None, help_text="Null without a verdict.")
    score_of = serializers.CharField(
        source="mean.role", default=None, help_text="preference, overall, or item: the mean of the items."
    )
    answers = CriterionScoreSerializer(many=True)
    attempts = serializers.IntegerField(source="asked.replies")
    input_tokens = serializers.IntegerField(source="asked.input_tokens")
    output_tokens = serializers.IntegerField(source="asked.output_tokens")
    seconds = serializers.FloatField(source="asked.seconds")
    cost = serializers.FloatField(source="asked.cost")
    replies = RawReplySerializer(many=True, allow_null=True, help_text="Every raw reply, where raw=1 asks for them.")


class VerdictPages(PageNumberPagination):
    """Pages by number, because two of the filters order the verdicts by their scores."""

    page_size = 100
    max_page_size = 500
    page_size_query_param = "size"


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
    return ApiResponse(state_of(run_to_read(request, public_id)))


@extend_schema(
    operation_id="verdicts",
    parameters=[
        OpenApiParameter("show", str, enum=FILTERS, description="Which verdicts, and in which order; default: all."),
        OpenApiParameter("q", str, description="A part of the instruction's id."),
        OpenApiParameter("raw", bool, description="1 adds every raw reply."),
        OpenApiParameter("page", int),
        OpenApiParameter("size", int, description="Verdicts on a page; default 100, at most 500."),
    ],
    responses=VerdictSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def verdicts(request: Request, public_id: str) -> ApiResponse:
    """A run's items with score, reasons and cost, filtered like the page; canary texts only by their own filter."""
    found = run_to_read(request, public_id)
    asked = request.query_params
    shown = asked.get("show", ALL)
    if shown not in FILTERS:
        raise Unusable(f"show must be one of: {', '.join(FILTERS)}.")
    rows = verdict_list(found, shown, storable(asked.get("q", "").strip())[:200])
    pages = VerdictPages()
    places: list[int] = pages.paginate_queryset(cast(Any, range(len(rows))), request) or []
    pks = rows.pks(places[0], places[-1] + 1) if places else []
    records = verdict_records(found, pks, raw=asked.get("raw") in ("1", "true"))
    return pages.get_paginated_response(VerdictSerializer(cast(Any, records), many=True).data)


@extend_schema(
    request=None,
    responses=RunStateSerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=["start", "pause", "cancel", "retry"])],
)
@api_view(["POST"])
@needs(Scope.CHANGE, start=Scope.RUN, retry=Scope.RUN)
def steer_run(request: Request, public_id: str, verb: str) -> ApiResponse:
    """Start (or resume), pause or cancel a run, or ask again for unusable verdicts; 400 if its state does not allow it."""
    user = asking(request)
    found = run_to_read(request, public_id)
    if not leads_workspace_of(user, found.judge):
        raise PermissionDenied("Only owners and leads of this workspace can control its runs.")
    keep_logged(found)
    try:
        with transaction.atomic():
            if verb == "start":
                start_run(found, clock=timezone.now, user=user)
                JUDGING.hand_over(found)
            elif verb == "retry":
                ask_again(found, clock=timezone.now, user=user)
            elif verb == "pause":
                pause_run(found, clock=timezone.now, user=user)
            else:
                cancel_run(found, clock=timezone.now, user=user)
    except NotPossible as error:
        raise Unusable(str(error)) from error
    return ApiResponse(state_of(found))


@extend_schema(
    parameters=[
        OpenApiParameter(
            "as", str, enum=list(WRITERS), description="The format of another tool instead of the archive."
        ),
        OpenApiParameter(
            "texts", str, enum=["1", "true"], description="Include the raters' reasons, and all texts in the archive."
        ),
        OpenApiParameter("criterion", str, description="The criterion, for a format that holds one score."),
        OpenApiParameter("judge", str, description="The judge, for a format that holds one judge's scores."),
    ],
    responses={(200, "application/zip"): OpenApiTypes.BINARY, (200, "application/octet-stream"): OpenApiTypes.BINARY},
)
@api_view(["GET"])
@needs(Scope.RATINGS)
def export(request: Request, workspace: str, slug: str) -> FileResponse:
    """A study as one file from which `manage.py recompute` recomputes every number on its pages.

    With `as` its answers in another tool's format; with `texts` these include the raters' reasons. An archive with `texts`
    can be imported into an empty installation.
    """
    study = study_to_read(request, workspace, slug)
    if asked := request.query_params.get("as", ""):
        return _in_format(study, asked, request)
    # Closed by the response when it has been sent.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    export_study(study, file, texts=request.query_params.get("texts", "") in ("1", "true"))
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=f"{study.slug}.plumbline.zip")


def _in_format(study: Study, asked: str, request: Request) -> FileResponse:
    given = request.query_params
    options = WriteOptions(criterion=given.get("criterion", ""), judge=given.get("judge", ""))
    try:
        writer = writer_named(asked)
        with tempfile.TemporaryDirectory(dir=settings.DATA_DIR) as folder:
            path = Path(folder) / "file"
            write_format(study, writer, path, options, texts=given.get("texts", "") in ("1", "true"))
            file = path.open("rb")  # its space is freed when the response closes it
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    note_reading(study, asking(request), clock=timezone.now, verb="export_answers")
    return FileResponse(file, as_attachment=True, filename=file_name(study, writer))


def state_of(found: JudgeRun) -> dict[str, object]:
    progress = RunProgressSerializer(progress_of(found, clock=timezone.now)).data
    return {**RunSerializer(found).data, "progress": progress, "manifest": found.manifest}


def run_to_read(request: Request, public_id: str) -> JudgeRun:
    lack = f"There is no run {public_id!r} in your workspaces."
    return run_read_by(asking(request), public_id, message=lack)

"""REST API of judging: runs with their progress and controls, leaderboards, papers' tables, exports."""

import tempfile
from dataclasses import asdict
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
from accounts.api.lists import Unusable, asking, checked, paged
from accounts.permissions import leads_workspace_of, workspaces_read_by
from annotation.api.studies import study_to_read
from annotation.models import Study
from annotation.privacy.reads import note_reading
from calibration.reports.cache import SHOWN
from calibration.reports.codec import stored
from calibration.statistics.errors import NoStatistic
from core.errors import UserError
from core.messages.rendering import for_reader
from core.text import storable
from generation.api import CURSOR, SIZE, benchmark_to_read
from generation.models import MAIN_EXPERIMENT, Benchmark
from judging.archive.export import export_study
from judging.archive.format_files import file_name, write_format
from judging.formats.answers import WriteOptions
from judging.formats.registry import WRITERS, writer_named
from judging.leaderboards.filters import LONGEST_WEIGHTS, MOST_RIVALS, TAGS, Filters
from judging.leaderboards.lengths import scores_by_length
from judging.leaderboards.table import NO_BOARD, requested_board
from judging.leaderboards.weighting import EQUAL
from judging.models import Judge, JudgeRun
from judging.published.computed_tables import shown_tables
from judging.published.ranking_comparison import RankedScores, compare_rankings, ranked_scores, read_scores
from judging.published.registry import table_numbered, tables_of
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
from judging.scores.metrics import METRICS
from judging.web.leaderboards.paper_layout import failed_on, list_json, scripted_on


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


class BoardQuerySerializer(serializers.Serializer[Any]):
    """The filters of a leaderboard, as on its page."""

    judge = serializers.CharField(max_length=200, help_text="Name of a judge that has rated this benchmark.")
    weights = serializers.CharField(
        default=EQUAL, max_length=200, help_text="equal, published, or the id, name or study of a fit."
    )
    experiment = serializers.CharField(default=MAIN_EXPERIMENT, max_length=50)
    measure = serializers.ChoiceField(choices=list(METRICS), required=False, help_text="Default: the judge's.")
    category = serializers.CharField(required=False, max_length=100, help_text="Key of a category.")
    language = serializers.CharField(required=False, max_length=20)
    tag = serializers.CharField(required=False, max_length=200)
    family = serializers.CharField(required=False, max_length=100, help_text="Only models of this family.")
    smallest = serializers.FloatField(required=False, min_value=0, help_text="Billions of parameters at least.")
    largest = serializers.FloatField(required=False, min_value=0, help_text="Billions of parameters at most.")
    least = serializers.IntegerField(
        required=False, min_value=0, max_value=10**9, help_text="Fewest judged responses of a model that is ranked."
    )
    margin = serializers.IntegerField(
        required=False, min_value=0, max_value=10**9, help_text="A slight win by more characters than this is a tie."
    )
    against = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        max_length=MOST_RIVALS,
        help_text="Only against these models.",
    )
    groups = serializers.ChoiceField(choices=[TAGS], required=False, help_text="tags: a column for each tag.")
    group_weights = serializers.CharField(
        required=False, max_length=LONGEST_WEIGHTS, help_text="Weights of the groups, such as coding=1.25."
    )
    discredited = serializers.BooleanField(
        required=False, help_text="Include verdicts of runs that failed their canary texts; nothing is ranked then."
    )
    excluded = serializers.ChoiceField(
        choices=[SHOWN], required=False, help_text="Count the answers of people that a lead excluded too."
    )


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


@extend_schema(parameters=[BoardQuerySerializer], responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def board(request: Request, workspace: str, slug: str) -> ApiResponse:
    """The models of a benchmark ranked by a judge's verdicts, unrounded: the output of `manage.py leaderboard --json`."""
    benchmark = benchmark_to_read(request, workspace, slug)
    asked = checked(BoardQuerySerializer(data=request.query_params))
    against = tuple(dict.fromkeys(asked.pop("against", ())))
    try:
        return ApiResponse(requested_board(benchmark, Filters(**asked, against=against)).as_json())
    except (UserError, *NO_BOARD) as error:
        raise Unusable(str(error)) from error


@extend_schema(operation_id="paper_tables", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def paper_tables(request: Request, workspace: str, slug: str) -> ApiResponse:
    """The tables of a benchmark's paper with their numbers of cells: `manage.py published_table BENCHMARK --json`.

    Counts of a table that is still being computed are null.
    """
    benchmark = benchmark_to_read(request, workspace, slug)
    try:
        tables = tables_of(benchmark.slug)
    except UserError as error:
        raise Unusable(str(error)) from error
    return ApiResponse(list_json(benchmark.slug, shown_tables(benchmark.workspace, tables)))


@extend_schema(operation_id="paper_table", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def paper_table(request: Request, workspace: str, slug: str, number: str) -> ApiResponse:
    """One of them printed beside recomputed, cell by cell: `manage.py published_table BENCHMARK NUMBER --json`.

    202 while it is being computed for the first time.
    """
    benchmark = benchmark_to_read(request, workspace, slug)
    try:
        table = table_numbered(benchmark.slug, number)
    except UserError as error:
        raise Unusable(str(error)) from error
    (found,) = shown_tables(benchmark.workspace, [table])
    if found.computed_at is None:
        return ApiResponse({"detail": "This table is being computed; ask again in a moment."}, status=202)
    if found.error:
        raise Unusable(str(found.error))
    failed = [row.judge.name for row in failed_on(benchmark.workspace, table)]
    return ApiResponse(found.as_json(failed, scripted_on(benchmark.workspace, found)))


@extend_schema(
    operation_id="rankings",
    parameters=[
        OpenApiParameter("judge", str, required=True, description="Name of a judge that has rated this benchmark."),
        OpenApiParameter("weights", str, description="equal, published, or the id, name or study of a fit."),
        OpenApiParameter("measure", str, description="Score to rank by, if not the judge's default."),
        OpenApiParameter("experiment", str, description="Experiment; default: main."),
        OpenApiParameter("tag", str, description="Only instructions with this tag, on both boards."),
        OpenApiParameter("margin", int, description="Of rewards: a slight win by more characters than this is a tie."),
        OpenApiParameter("with_judge", str, description="Judge of the other board."),
        OpenApiParameter("with_benchmark", str, description="Benchmark of the other board; default: this one."),
        OpenApiParameter("with_measure", str, description="Score of the other board."),
        OpenApiParameter("scores", str, description="Instead of another board: lines of a model and its score."),
        OpenApiParameter("top", int, description="Also over this many best models of the other ranking."),
    ],
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET"])
@needs(Scope.READ)
def rankings(request: Request, workspace: str, slug: str) -> ApiResponse:
    """A board's ranking beside another board's, or beside scores: `manage.py compare_rankings --json`."""
    benchmark = benchmark_to_read(request, workspace, slug)
    asked = request.query_params
    top = asked.get("top", "")
    if top and not (top.isascii() and top.isdecimal() and 0 < int(top[:6]) < 100_000):
        raise Unusable("top must be a whole number above 0.")
    if bool(asked.get("scores")) == bool(asked.get("with_judge")):
        raise Unusable("Say with what to compare: either scores or with_judge.")
    if not _is_whole(asked.get("margin", "")):
        raise Unusable("margin must be a whole number of characters.")
    other = benchmark_to_read(request, workspace, asked.get("with_benchmark") or slug)
    try:
        one = _ranked(benchmark, asked.get("judge", ""), asked.get("measure", ""), request)
        if asked.get("scores"):
            second = read_scores(asked["scores"], "scores")
        else:
            second = _ranked(other, asked["with_judge"], asked.get("with_measure", ""), request)
        return ApiResponse(stored(compare_rankings(one, second, top=int(top) if top else None)))
    except (UserError, NoStatistic) as error:
        raise Unusable(str(error)) from error


def _is_whole(text: str) -> bool:
    return not text or (text.isascii() and text.isdecimal() and len(text) <= 6)


def _ranked(benchmark: Benchmark, judge: str, measure: str, request: Request) -> RankedScores:
    asked = request.query_params
    filters = Filters(
        judge=judge,
        weights=asked.get("weights") or EQUAL,
        measure=measure,
        experiment=asked.get("experiment") or MAIN_EXPERIMENT,
        tag=asked.get("tag", ""),
        margin=int(asked["margin"]) if asked.get("margin") else None,
    )
    return ranked_scores(requested_board(benchmark, filters), f"{benchmark.slug}, {judge}")


@extend_schema(
    operation_id="lengths",
    parameters=[
        OpenApiParameter("judge", str, required=True, description="Name of a judge that has rated this benchmark."),
        OpenApiParameter("weights", str, description="equal, published, or the id, name or study of a fit."),
    ],
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET"])
@needs(Scope.READ)
def lengths(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Each model's score by requested length: the output of `manage.py length_scores --json`."""
    asked = request.query_params
    benchmark = benchmark_to_read(request, workspace, slug)
    try:
        rows = scores_by_length(benchmark, asked.get("judge", ""), asked.get("weights") or EQUAL)
    except (UserError, NoStatistic) as error:
        raise Unusable(str(error)) from error
    return ApiResponse([asdict(row) for row in rows])


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

"""API endpoints for studies: their state and every answer in them."""

from typing import Any

from django.db.models import OuterRef, Subquery
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import asking, paged
from annotation.models import Rater, Score, Study, why_not_counted
from annotation.monitoring.exclusion import excluded_in
from annotation.monitoring.progress import study_rows
from annotation.studies.access import studies_read_by, study_read_by
from generation.api import CURSOR, SIZE


class StudySerializer(serializers.ModelSerializer[Study]):
    id = serializers.CharField(source="public_id")
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    benchmark = serializers.CharField(source="benchmark.slug", default=None)

    class Meta:
        model = Study
        fields = ["id", "slug", "workspace", "benchmark", "name", "kind", "created_at"]


class StudyStateSerializer(StudySerializer):
    tasks = serializers.IntegerField()
    seats = serializers.IntegerField(help_text="Number of ratings needed: tasks times overlap.")
    taken = serializers.IntegerField()
    answers_of_people = serializers.IntegerField()
    answers_of_judges = serializers.IntegerField()
    answers_excluded = serializers.IntegerField(
        help_text="Answers that a lead excluded. They are in no other number; their scores have status excluded."
    )
    raters_excluded = serializers.IntegerField(help_text="Raters of the excluded answers.")
    provenance = serializers.ListField(
        child=serializers.CharField(), help_text="Contains 'simulated' or 'scripted' if the study has such answers."
    )

    class Meta(StudySerializer.Meta):
        fields = [
            *StudySerializer.Meta.fields,
            "tasks",
            "seats",
            "taken",
            "answers_of_people",
            "answers_of_judges",
            "answers_excluded",
            "raters_excluded",
            "provenance",
        ]


class ScoreSerializer(serializers.ModelSerializer[Score]):
    task = serializers.CharField(source="assignment.task.public_id")
    response_a = serializers.CharField(source="assignment.task.response_a.public_id", default=None)
    response_b = serializers.CharField(source="assignment.task.response_b.public_id", default=None)
    rater = serializers.CharField(source="assignment.rater.public_id")
    rater_kind = serializers.CharField(source="assignment.rater.kind")
    status = serializers.CharField(source="assignment.status")
    not_counted = serializers.SerializerMethodField(
        help_text="Why an answer is not counted: excluded by a lead, or surplus because of closed, paused, failed, "
        "screened_out, or full; otherwise empty."
    )
    repeat = serializers.IntegerField(source="assignment.repeat")
    shown_first = serializers.CharField(source="assignment.shown_first")
    submitted_at = serializers.DateTimeField(source="assignment.submitted_at")
    discredited = serializers.SerializerMethodField(
        help_text="Whether the judge's run failed its canary texts, so that this verdict is not counted."
    )
    criterion = serializers.CharField(source="criterion.key")
    role = serializers.CharField(source="criterion.role")

    class Meta:
        model = Score
        fields = [
            "task",
            "response_a",
            "response_b",
            "rater",
            "rater_kind",
            "status",
            "not_counted",
            "repeat",
            "shown_first",
            "submitted_at",
            "discredited",
            "criterion",
            "role",
            "revision",
            "value",
            "level",
            "not_applicable",
            "reason",
            "evidence",
        ]

    def get_not_counted(self, score: Score) -> str:
        return why_not_counted(score.assignment.status, score.assignment.reason)

    def get_discredited(self, score: Score) -> bool:
        return bool(score.assignment.discredited)


@extend_schema(parameters=[SIZE, CURSOR], responses=StudySerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def studies(request: Request) -> ApiResponse:
    """List the studies of the workspaces whose results you may read."""
    return paged(request, studies_read_by(asking(request)), StudySerializer)


@extend_schema(responses=StudyStateSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def study(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Return one study and its progress, counted from its rows."""
    found = study_to_read(request, workspace, slug)
    (row,), excluded = study_rows([found]), excluded_in(task__study=found)
    said = {
        "tasks": row.tasks,
        "seats": row.seats,
        "taken": row.taken,
        "answers_of_people": row.people,
        "answers_of_judges": row.judges,
        "answers_excluded": excluded.answers,
        "raters_excluded": excluded.raters,
        "provenance": row.provenance,
    }
    return ApiResponse({**StudySerializer(found).data, **said})


@extend_schema(
    parameters=[
        SIZE,
        CURSOR,
        OpenApiParameter("criterion", str, description="Return only answers to the criterion with this key."),
        OpenApiParameter("rater_kind", str, enum=list(Rater.Kind.values)),
        OpenApiParameter("every_revision", bool, description="Include answers that were changed later."),
    ],
    responses=ScoreSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.RATINGS)
def scores(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Return every answer of a study. Raters have opaque ids; of a changed answer only the last version is returned.

    Pair scores are canonical: positive means that response_a is better, whichever was shown first.
    """
    rows = Score.objects.filter(assignment__task__study=study_to_read(request, workspace, slug)).order_by()
    if criterion := request.query_params.get("criterion"):
        rows = rows.filter(criterion__key=criterion)
    if kind := request.query_params.get("rater_kind"):
        rows = rows.filter(assignment__rater__kind=kind)
    if request.query_params.get("every_revision", "").lower() not in ("1", "true"):
        latest = Score.objects.filter(assignment=OuterRef("assignment"), criterion=OuterRef("criterion"))
        rows = rows.filter(revision=Subquery(latest.order_by("-revision").values("revision")[:1]))
    rows = rows.select_related(
        "criterion", "assignment__rater", "assignment__task__response_a", "assignment__task__response_b"
    ).defer("assignment__task__response_a__text", "assignment__task__response_b__text")
    return paged(request, rows, ScoreSerializer)


def study_to_read(request: Request, workspace: str, slug: str) -> Study:
    """The workspace's study with this slug; 404 with a message if there is none that the client may read."""
    name = f"{workspace}/{slug}"
    return study_read_by(asking(request), name, message=f"There is no study {name!r} in your workspaces.")

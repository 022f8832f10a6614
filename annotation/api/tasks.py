"""API endpoints for the tasks of a study and their known answers, for rubrics with their criteria, and for imports."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import Unusable, asking, checked, paged
from accounts.permissions import workspaces_led_by, workspaces_read_by
from annotation.api.studies import study_to_change, study_to_read
from annotation.assignment.attention_checks import mark_gold
from annotation.models import Criterion, Guideline, Rubric, Study, Task
from annotation.policies.policies import GOLD
from annotation.policies.quality_checks import BEFORE_RATING
from annotation.studies.life_cycle import log_event
from annotation.web.study.known_answers import unmark
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.api import CURSOR, SIZE
from generation.models import Import


class TaskSerializer(serializers.ModelSerializer[Task]):
    id = serializers.CharField(source="public_id")
    instruction = serializers.CharField(source="response_a.instruction.external_id")
    response_a = serializers.CharField(source="response_a.public_id")
    response_b = serializers.CharField(source="response_b.public_id", default=None)
    model_a = serializers.CharField(source="response_a.model.name", default=None)
    model_b = serializers.CharField(source="response_b.model.name", default=None)
    rubric = serializers.CharField(source="answer_rubric.key")
    known_answer = serializers.JSONField(source="gold", help_text="Purpose, expected answers and explanation, or null.")

    class Meta:
        model = Task
        fields = [
            "id",
            "kind",
            "position",
            "instruction",
            "response_a",
            "response_b",
            "model_a",
            "model_b",
            "rubric",
            "part",
            "known_answer",
        ]


class KnownAnswerSerializer(serializers.Serializer[Any]):
    """The answers that are expected to a task."""

    purpose = serializers.ChoiceField(choices=[GOLD, *BEFORE_RATING], default=GOLD)
    expected = serializers.DictField(
        child=serializers.JSONField(), allow_empty=False, help_text="By criterion: an answer, or [lowest, highest]."
    )
    why = serializers.DictField(
        child=serializers.CharField(max_length=4000), required=False, help_text="Explanation for raters by language."
    )

    def validate_expected(self, expected: dict[str, Any]) -> dict[str, Any]:
        """Refuse what is neither a number nor two."""
        for key, value in expected.items():
            ends = value if isinstance(value, list) else [value]
            numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in ends)
            if not numbers or len(ends) not in (1, 2) or ends[0] > ends[-1] or max(map(abs, ends)) > 1e9:
                raise serializers.ValidationError(
                    _("The answer to %(key)s is neither a number nor the lowest and the highest one.") % {"key": key}
                )
        return expected


class CriterionSerializer(serializers.ModelSerializer[Criterion]):
    class Meta:
        model = Criterion
        fields = ["key", "role", "questions", "levels", "minimum", "maximum", "step", "may_not_apply"]


class RubricSerializer(serializers.ModelSerializer[Rubric]):
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    benchmark = serializers.CharField(source="benchmark.slug", default=None)
    study = serializers.CharField(source="study.slug", default=None)
    category = serializers.CharField(source="category.key", default=None)
    instruction = serializers.CharField(source="instruction.external_id", default=None)
    criteria = CriterionSerializer(many=True)

    class Meta:
        model = Rubric
        fields = ["key", "version", "names", "workspace", "benchmark", "study", "category", "instruction", "criteria"]


class LibraryGuidelineSerializer(serializers.ModelSerializer[Guideline]):
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    texts = serializers.DictField(child=serializers.CharField(), help_text="The text in Markdown by language.")

    class Meta:
        model = Guideline
        fields = ["key", "version", "workspace", "texts", "created_at"]


class ImportSerializer(serializers.ModelSerializer[Import]):
    number = serializers.IntegerField(source="pk", help_text="By which it is undone.")
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    by = serializers.CharField(source="actor.username", default=None)

    class Meta:
        model = Import
        fields = ["number", "workspace", "command", "file", "sha256", "about", "counts", "at", "by", "undone_at"]


@extend_schema(
    operation_id="tasks",
    parameters=[
        SIZE,
        CURSOR,
        OpenApiParameter("known", str, enum=["1"], description="Return only tasks with a known answer."),
        OpenApiParameter("instruction", str, description="Return only tasks about this instruction."),
    ],
    responses=TaskSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.RATINGS)
def tasks(request: Request, workspace: str, slug: str) -> Response:
    """List the tasks of a study with their responses and known answers."""
    rows = _tasks(study_to_read(request, workspace, slug)).order_by()
    if request.query_params.get("known") == "1":
        rows = rows.filter(gold__isnull=False)
    if name := request.query_params.get("instruction"):
        rows = rows.filter(response_a__instruction__external_id=name)
    return paged(request, rows, TaskSerializer)


@extend_schema(methods=["GET"], operation_id="known_answer", responses=TaskSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="mark_task",
    parameters=[IF_MATCH],
    request=KnownAnswerSerializer,
    responses=TaskSerializer,
    examples=[
        OpenApiExample(
            "Practice",
            {"purpose": "training", "expected": {"overall": [2, 3]}, "why": {"en": "It is thin."}},
            request_only=True,
        )
    ],
)
@extend_schema(methods=["DELETE"], operation_id="unmark_task", parameters=[IF_MATCH], responses={200: TaskSerializer})
@api_view(["GET", "PUT", "DELETE"])
@needs(Scope.RATINGS, put=Scope.CHANGE, delete=Scope.CHANGE)
def known_answer(request: Request, workspace: str, slug: str, task: str) -> Response:
    """Return a task, or give it a known answer, or take that from it; only while no rater was given the task."""
    if request.method == "GET":
        return Response(TaskSerializer(task_of(study_to_read(request, workspace, slug), task)).data)
    study = study_to_change(request, workspace, slug)
    asked = checked(KnownAnswerSerializer(data=request.data)) if request.method == "PUT" else {}
    with transaction.atomic():
        list(Study.objects.select_for_update().filter(pk=study.pk))
        found = task_of(study, task)
        check_unchanged(request, TaskSerializer(found).data)
        try:
            if asked:
                mark_gold(found, asked["expected"], purpose=asked["purpose"], why=asked.get("why"))
                after = {"task": found.key, **(found.gold or {})}
                log_event(study, asking(request), "mark_known_answer", about=found, after=after)
            elif found.gold is not None:
                unmark(found, by=asking(request))
        except UserError as problem:
            raise Unusable(for_reader(problem)) from problem
    return Response(TaskSerializer(found).data)


@extend_schema(
    operation_id="rubrics",
    parameters=[SIZE, CURSOR, OpenApiParameter("benchmark", str), OpenApiParameter("key", str)],
    responses=RubricSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def rubrics(request: Request) -> Response:
    """List all versions of the rubrics of the workspaces whose results you may read, with their criteria."""
    rows = Rubric.objects.filter(workspace__in=workspaces_read_by(asking(request)))
    for name, field in (("benchmark", "benchmark__slug"), ("key", "key")):
        if value := request.query_params.get(name):
            rows = rows.filter(**{field: value})
    related = ("workspace", "benchmark", "study", "category", "instruction")
    return paged(request, rows.select_related(*related).prefetch_related("criteria").order_by(), RubricSerializer)


@extend_schema(
    operation_id="guidelines",
    parameters=[SIZE, CURSOR, OpenApiParameter("key", str)],
    responses=LibraryGuidelineSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def guidelines(request: Request) -> Response:
    """List all versions of the guidelines of the workspaces whose results you may read, with their texts."""
    rows = Guideline.objects.filter(workspace__in=workspaces_read_by(asking(request)))
    if key := request.query_params.get("key"):
        rows = rows.filter(key=key)
    return paged(request, rows.select_related("workspace").order_by(), LibraryGuidelineSerializer)


@extend_schema(operation_id="imports", parameters=[SIZE, CURSOR], responses=ImportSerializer(many=True))
@api_view(["GET"])
@needs(Scope.CHANGE)
def imports(request: Request) -> Response:
    """List what was imported into the workspaces that you lead."""
    rows = Import.objects.filter(workspace__in=workspaces_led_by(asking(request)))
    return paged(
        request, rows.select_related("workspace", "actor").defer("created", "former").order_by(), ImportSerializer
    )


def _tasks(study: Study) -> Any:
    related = ("response_a__instruction", "response_a__model", "response_b__model", "answer_rubric", "study")
    texts = ("response_a__text", "response_b__text", "response_a__instruction__messages")
    return study.tasks.select_related(*related).defer(*texts)


def task_of(study: Study, public_id: str) -> Task:
    found = _tasks(study).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(_("There is no such task in this study."))
    return found  # type: ignore[no-any-return]

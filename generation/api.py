"""The library for programs: benchmarks, instructions, models, responses."""

from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import CURSOR as CURSOR, SIZE as SIZE, asking, paged
from accounts.permissions import workspaces_read_by
from generation.library.access import benchmark_at, benchmarks_read_by
from generation.models import Benchmark, Instruction, LanguageModel, Response


class BenchmarkSerializer(serializers.ModelSerializer[Benchmark]):
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)

    class Meta:
        model = Benchmark
        fields = ["slug", "workspace", "version", "licence", "source"]


class InstructionSerializer(serializers.ModelSerializer[Instruction]):
    id = serializers.CharField(source="public_id")
    category = serializers.CharField(source="category.key", default=None)

    class Meta:
        model = Instruction
        fields = [
            "id",
            "external_id",
            "category",
            "messages",
            "parts",
            "reference",
            "hint",
            "words_asked",
            "language",
            "tags",
        ]


class ModelSerializer(serializers.ModelSerializer[LanguageModel]):
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    served = serializers.SerializerMethodField(help_text="Whether an endpoint serves it, so that it can be asked.")

    class Meta:
        model = LanguageModel
        fields = ["id", "name", "workspace", "served", "family", "billions_of_parameters", "fictional"]

    def get_served(self, model: LanguageModel) -> bool:
        return model.endpoint_id is not None


class ResponseSerializer(serializers.ModelSerializer[Response]):
    id = serializers.CharField(source="public_id")
    instruction = serializers.CharField(source="instruction.external_id")
    model = serializers.CharField(source="model.name", default=None)

    class Meta:
        model = Response
        fields = [
            "id",
            "instruction",
            "model",
            "sample",
            "kind",
            "text",
            "words",
            "input_tokens",
            "tokens",
            "finish_reason",
            "seconds",
            "cost",
            "created_at",
        ]


@extend_schema(parameters=[SIZE, CURSOR], responses=BenchmarkSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def benchmarks(request: Request) -> ApiResponse:
    """Benchmarks of the workspaces whose results you may read."""
    found = benchmarks_read_by(asking(request))
    return paged(request, found, BenchmarkSerializer)


@extend_schema(
    parameters=[
        SIZE,
        CURSOR,
        OpenApiParameter("category", str, description="Only instructions of this category, by its key."),
        OpenApiParameter("tag", str, description="Only instructions with this tag."),
        OpenApiParameter("language", str, description="Only instructions in this language, such as en."),
        OpenApiParameter("q", str, description="Only instructions whose id contains this."),
    ],
    responses=InstructionSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def instructions(request: Request, workspace: str, slug: str) -> ApiResponse:
    """The instructions of a benchmark."""
    rows = benchmark_to_read(request, workspace, slug).instructions.select_related("category")
    asked = request.query_params
    if category := asked.get("category"):
        rows = rows.filter(Q(category__key=category) | Q(category__parent__key=category))
    if language := asked.get("language"):
        rows = rows.filter(language=language)
    if words := asked.get("q"):
        rows = rows.filter(external_id__icontains=words)
    if tag := asked.get("tag"):
        rows = rows.filter(pk__in=_tagged(rows, tag))
    return paged(request, rows, InstructionSerializer)


def _tagged(rows: QuerySet[Instruction], tag: str) -> list[int]:
    """Return the instructions that have a tag; lists in JSON are searched alike on every database."""
    return [pk for pk, tags in rows.order_by().values_list("pk", "tags").iterator(2_000) if tag in tags]


@extend_schema(
    parameters=[
        SIZE,
        CURSOR,
        OpenApiParameter("model", str, description="Only responses of this model."),
        OpenApiParameter("instruction", str, description="Only responses to the instruction of this id."),
        OpenApiParameter("run", str, description="Only responses of this generation run."),
    ],
    responses=ResponseSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def responses(request: Request, workspace: str, slug: str) -> ApiResponse:
    """What models answered to a benchmark's instructions, with human references and degraded controls."""
    rows = Response.objects.to_read().filter(instruction__benchmark=benchmark_to_read(request, workspace, slug))
    if model := request.query_params.get("model"):
        rows = rows.filter(model__name=model)
    if instruction := request.query_params.get("instruction"):
        rows = rows.filter(instruction__external_id=instruction)
    if run := request.query_params.get("run"):
        rows = rows.filter(run__public_id=run)
    return paged(request, rows.select_related("instruction", "model"), ResponseSerializer)


@extend_schema(parameters=[SIZE, CURSOR], responses=ModelSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def models(request: Request) -> ApiResponse:
    """Models of the workspaces whose results you may read."""
    found = LanguageModel.objects.filter(workspace__in=workspaces_read_by(asking(request)))
    return paged(request, found.select_related("workspace"), ModelSerializer)


def benchmark_to_read(request: Request, workspace: str, slug: str) -> Benchmark:
    """Return the workspace's benchmark of this slug; 404 with a sentence if there is none that the asker may read."""
    return benchmark_at(asking(request), workspace, slug)

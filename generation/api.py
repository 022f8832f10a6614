"""The library for programs: benchmarks, instructions, models, responses."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import CURSOR as CURSOR, SIZE as SIZE, asking, paged
from accounts.permissions import workspaces_read_by
from generation.library.access import benchmark_read_by, benchmarks_read_by
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
        fields = ["id", "external_id", "category", "messages", "parts", "reference", "hint", "words_asked", "language"]


class ModelSerializer(serializers.ModelSerializer[LanguageModel]):
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)

    class Meta:
        model = LanguageModel
        fields = ["name", "workspace", "family", "billions_of_parameters", "fictional"]


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


@extend_schema(parameters=[SIZE, CURSOR], responses=InstructionSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def instructions(request: Request, workspace: str, slug: str) -> ApiResponse:
    """The instructions of a benchmark."""
    rows = benchmark_to_read(request, workspace, slug).instructions.select_related("category")
    return paged(request, rows, InstructionSerializer)


@extend_schema(
    parameters=[SIZE, CURSOR, OpenApiParameter("model", str, description="Only responses of this model.")],
    responses=ResponseSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def responses(request: Request, workspace: str, slug: str) -> ApiResponse:
    """What models answered to a benchmark's instructions, with human references and degraded controls."""
    rows = Response.objects.to_read().filter(instruction__benchmark=benchmark_to_read(request, workspace, slug))
    if model := request.query_params.get("model"):
        rows = rows.filter(model__name=model)
    return paged(request, rows.select_related("instruction", "model"), ResponseSerializer)


@extend_schema(parameters=[SIZE, CURSOR], responses=ModelSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def models(request: Request) -> ApiResponse:
    """Models of the workspaces whose results you may read."""
    found = LanguageModel.objects.filter(workspace__in=workspaces_read_by(asking(request)))
    return paged(request, found.select_related("workspace"), ModelSerializer)


def benchmark_to_read(request: Request, workspace: str, slug: str) -> Benchmark:
    """The workspace's benchmark of this slug; 404 with a sentence if there is none that the asker may read."""
    name = f"{workspace}/{slug}"
    return benchmark_read_by(asking(request), name, message=f"There is no benchmark {name!r} in your workspaces.")

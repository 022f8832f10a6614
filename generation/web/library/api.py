"""How texts go wrong, for programs: statistics of a benchmark's texts, and the phrases by which they count as errors."""

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import Unusable, asking, checked, workspace_to_change, workspace_to_read
from accounts.models import Workspace
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.library.access import benchmark_at
from generation.library.error_modes import first_passages
from generation.library.error_phrases import (
    LONGEST,
    MOST_PHRASES,
    has_own_phrases,
    phrases_in,
    restore_phrases,
    rules_of,
    set_phrases,
)
from generation.library.kept_statistics import READ_OF_EACH, kept_errors, kept_statistics
from generation.library.text_statistics import as_plain, experiments_with_texts
from generation.models import MAIN_EXPERIMENT, Benchmark
from generation.responses.plan import EXPERIMENTS


def _phrases_field(told: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=LONGEST), max_length=MOST_PHRASES, help_text=told
    )


class WantedPhrasesSerializer(serializers.Serializer[Any]):
    """Both lists, whole."""

    refusals = _phrases_field("Openings of a refusal: a response that begins with one counts as a refusal.")
    meaningless = _phrases_field("A response that has one anywhere counts as meaningless.")


class PhrasesSerializer(WantedPhrasesSerializer):
    """The phrases that hold in a workspace, in lower case."""

    own = serializers.BooleanField(help_text="Whether the workspace has its own; else they are the installation's.")


@extend_schema(methods=["GET"], operation_id="error_phrases", responses=PhrasesSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="write_error_phrases",
    parameters=[IF_MATCH],
    request=WantedPhrasesSerializer,
    responses=PhrasesSerializer,
    examples=[
        OpenApiExample(
            "Two lists", {"refusals": ["i am sorry, but"], "meaningless": ["lorem ipsum"]}, request_only=True
        )
    ],
)
@extend_schema(methods=["DELETE"], operation_id="restore_error_phrases", parameters=[IF_MATCH], responses={204: None})
@api_view(["GET", "PUT", "DELETE"])
@needs(Scope.READ, put=Scope.CHANGE, delete=Scope.CHANGE)
def error_phrases(request: Request, workspace: str) -> Response:
    """Return the phrases by which texts count as errors, write others, or restore the usual ones (for owners and leads)."""
    if request.method not in ("PUT", "DELETE"):
        return Response(_phrases(workspace_to_read(request, workspace)))
    found = workspace_to_change(request, workspace)
    given = checked(WantedPhrasesSerializer(data=request.data)) if request.method == "PUT" else {}
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=found.pk)
        check_unchanged(request, _phrases(found))
        if request.method == "DELETE":
            restore_phrases(found, by=asking(request))
            return Response(status=204)
        lists = {name: _read(name, given[name]) for name in ("refusals", "meaningless")}
        set_phrases(found, refusals=lists["refusals"], meaningless=lists["meaningless"], by=asking(request))
    return Response(_phrases(found))


def _read(name: str, phrases: list[str]) -> tuple[str, ...]:
    """Return the phrases as they are matched. Raises Unusable."""
    if any(len(one.splitlines()) > 1 for one in phrases):
        raise Unusable(_("%(field)s: a phrase is one line; write each line as a phrase of its own.") % {"field": name})
    try:
        return phrases_in("\n".join(phrases), opening=name == "refusals")
    except UserError as problem:
        raise Unusable(f"{name}: {for_reader(problem)}") from problem


def _phrases(workspace: Workspace) -> dict[str, Any]:
    """Return the phrases that hold. Raises Unusable if the installation's rules cannot be read."""
    try:
        rules = rules_of(workspace)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    own = has_own_phrases(workspace)
    return {"refusals": list(rules.refusals), "meaningless": list(rules.meaningless), "own": own}


class MeanSerializer(serializers.Serializer[Any]):
    """Of n responses, with a normal 95 % interval over them; its ends are null where n is 1."""

    value = serializers.FloatField()
    n = serializers.IntegerField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class ModelTextsSerializer(serializers.Serializer[Any]):
    """The texts of a model; null where nothing could be measured."""

    model = serializers.CharField()
    responses = serializers.IntegerField()
    words = MeanSerializer(allow_null=True)
    length_error = MeanSerializer(allow_null=True, help_text="In words.")
    repetition = MeanSerializer(allow_null=True, help_text="Share of distinct sequences of four words that recur.")
    distinct = serializers.FloatField(allow_null=True)
    bleu = serializers.FloatField(allow_null=True)
    rouge_l = MeanSerializer(allow_null=True)
    meteor = MeanSerializer(allow_null=True)


class PassageSerializer(serializers.Serializer[Any]):
    response = serializers.CharField()
    instruction = serializers.CharField()
    mode = serializers.CharField()
    passage = serializers.CharField()
    number = serializers.FloatField(help_text="Times, share, or words missing.")


class ModelErrorsSerializer(serializers.Serializer[Any]):
    """How many of the responses read of a model have each error, with some of the passages."""

    model = serializers.CharField()
    read = serializers.IntegerField()
    asked = serializers.IntegerField(help_text="Of those, how many had a length requested.")
    counts = serializers.DictField(child=serializers.IntegerField())
    length_error = serializers.FloatField(allow_null=True)
    passages = PassageSerializer(many=True)


class TextStatisticsSerializer(serializers.Serializer[Any]):
    models = ModelTextsSerializer(many=True)
    error_modes = ModelErrorsSerializer(many=True)
    none_because = serializers.CharField(
        allow_blank=True, help_text="Why error_modes is empty though there are responses."
    )


COUNTED = [
    OpenApiParameter("experiment", str, description="Experiment; default: main."),
    OpenApiParameter(
        "each", int, enum=READ_OF_EACH, description=f"Responses read of each model; default {READ_OF_EACH[0]}."
    ),
]


@extend_schema(operation_id="text_statistics", parameters=COUNTED, responses=TextStatisticsSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def texts(request: Request, workspace: str, slug: str) -> Response:
    """Return lengths, repetition and overlap of a benchmark's responses by model, and how often they go wrong."""
    benchmark, experiment, each = texts_asked(request, workspace, slug)
    errors: list[dict[str, Any]] = []
    why = ""
    try:
        found = kept_errors(benchmark, experiment, int(each))
        errors = [{**asdict(row), "passages": [asdict(one) for one in first_passages(row)]} for row in found]
    except UserError as problem:
        why = for_reader(problem)
    models = as_plain(kept_statistics(benchmark, experiment, int(each)))
    told = {"models": models, "error_modes": errors, "none_because": why}
    return Response(TextStatisticsSerializer(told).data)


def texts_asked(request: Request, workspace: str, slug: str) -> tuple[Benchmark, str, str]:
    """Return the benchmark, the experiment and the responses read of each model that the address asks. Raises Unusable."""
    benchmark = benchmark_at(asking(request), workspace, slug)
    experiment = request.query_params.get("experiment") or MAIN_EXPERIMENT
    each = request.query_params.get("each") or str(READ_OF_EACH[0])
    if experiment not in {*EXPERIMENTS, *experiments_with_texts(benchmark)}:
        raise Unusable(_("This benchmark has no such experiment."))
    if each not in map(str, READ_OF_EACH):
        raise Unusable(
            _("%(field)s must be one of: %(known)s.") % {"field": "each", "known": ", ".join(map(str, READ_OF_EACH))}
        )
    return benchmark, experiment, each

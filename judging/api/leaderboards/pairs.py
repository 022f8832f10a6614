"""REST API of two models of a leaderboard: their difference, instruction by instruction, and one instruction in full."""

from dataclasses import replace
from typing import Any, cast

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable
from annotation.models import excluded_shown
from calibration.reports.cache import SHOWN
from calibration.statistics.errors import NoStatistic
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.api import benchmark_to_read
from judging.api.leaderboards.boards import EXPERIMENT, JUDGE, MARGIN, WEIGHTS
from judging.api.results import VerdictPages
from judging.leaderboards.filters import Filters, read_filters
from judging.leaderboards.model_pairs import GAP, SORTS, ComparedItem, ModelPair, compared_item, model_pair
from judging.leaderboards.table import requested_board
from judging.leaderboards.weighting import EQUAL
from judging.scores.paired_difference import Difference

ASKED = [
    JUDGE,
    OpenApiParameter("first", str, required=True, description="Name of a model of the leaderboard."),
    OpenApiParameter("second", str, required=True, description="Name of another one."),
    WEIGHTS,
    OpenApiParameter("measure", str, description="Score to compare by, if not the judge's default."),
    EXPERIMENT,
    OpenApiParameter("category", str, description="Only instructions of this category."),
    OpenApiParameter("language", str, description="Only instructions in this language."),
    OpenApiParameter("tag", str, description="Only instructions with this tag."),
    MARGIN,
    OpenApiParameter("excluded", str, enum=[SHOWN], description="Count people's excluded answers too."),
]


class ModelDifferenceSerializer(serializers.Serializer[Difference]):
    """First model minus second, over the instructions that both answered."""

    value = serializers.FloatField()
    low = serializers.FloatField(source="interval.low")
    high = serializers.FloatField(source="interval.high")
    kind = serializers.CharField(help_text="Of the interval: 95 %, or the range over leaving one instruction out.")
    n = serializers.IntegerField()
    first_better = serializers.IntegerField(source="first")
    second_better = serializers.IntegerField(source="second")
    equal = serializers.IntegerField(source="ties")


class ComparedModelsSerializer(serializers.Serializer[Any]):
    judge = serializers.CharField()
    measure = serializers.CharField()
    first = serializers.CharField()
    second = serializers.CharField()
    overall = ModelDifferenceSerializer()
    p = serializers.FloatField(allow_null=True, help_text="Two-sided; null where overall has no interval of 95 %.")
    categories = serializers.DictField(child=ModelDifferenceSerializer())
    discredited = serializers.BooleanField(help_text="Whether runs of the judge failed their canary texts.")


class SharedInstructionSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(source="public_id")
    external_id = serializers.CharField()
    category = serializers.CharField(allow_blank=True)
    first = serializers.FloatField()
    second = serializers.FloatField()
    gap = serializers.FloatField(help_text="First minus second.")


class SideVerdictSerializer(serializers.Serializer[Any]):
    """The judge's answer to one criterion, beside the mean of people's."""

    question = serializers.CharField()
    score = serializers.CharField(help_text="As on the page; – where the criterion does not apply.")
    reason = serializers.SerializerMethodField()
    people = serializers.FloatField(allow_null=True)
    raters = serializers.IntegerField()

    def get_reason(self, verdict: Any) -> str:
        return for_reader(verdict.reason)


class ComparedSideSerializer(serializers.Serializer[Any]):
    model = serializers.CharField()
    response = serializers.CharField(source="response.public_id")
    text = serializers.CharField(source="response.text", allow_null=True)
    value = serializers.FloatField()
    verdicts = SideVerdictSerializer(many=True)


class ComparedInstructionSerializer(serializers.Serializer[ComparedItem]):
    id = serializers.CharField(source="instruction.public_id")
    external_id = serializers.CharField(source="instruction.external_id")
    text = serializers.CharField(source="instruction.text", allow_null=True)
    sides = ComparedSideSerializer(many=True, help_text="The first model and the second.")
    weights = serializers.SerializerMethodField(help_text="Of the questions, in percent, where the score has weights.")
    pair = SideVerdictSerializer(many=True, help_text="On this very pair; above 0 the first response is better.")

    def get_weights(self, item: ComparedItem) -> dict[str, float]:
        return {question: weight for question, weight, _sides in item.criteria if weight is not None}


@extend_schema(operation_id="compare_models", parameters=ASKED, responses=ComparedModelsSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def compare_models(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Return how far two models of a leaderboard differ on the instructions that both answered, by category too."""
    pair = pair_asked(request, workspace, slug, GAP)
    difference, board = pair.difference, pair.board
    told = {
        "judge": board.judge.name,
        "measure": board.metric.name,
        "first": pair.first,
        "second": pair.second,
        "overall": difference.overall,
        "p": difference.p,
        "categories": {
            key: difference.columns[code] for code, key in board.categories.items() if code in difference.columns
        },
        "discredited": bool(board.failed),
    }
    return ApiResponse(ComparedModelsSerializer(told).data)


@extend_schema(
    operation_id="compared_instructions",
    parameters=[
        *ASKED,
        OpenApiParameter("order", str, enum=SORTS, description="Default: gap, the largest difference first."),
        OpenApiParameter("page", int),
        OpenApiParameter("size", int, description="Instructions on a page; default 100, at most 500."),
    ],
    responses=SharedInstructionSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def compared_instructions(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Return the instructions that both models answered, with the value of each."""
    order = request.query_params.get("order", GAP)
    if order not in SORTS:
        raise Unusable(_("%(field)s must be one of: %(known)s.") % {"field": "order", "known": ", ".join(SORTS)})
    pair = pair_asked(request, workspace, slug, order)
    pages = VerdictPages()
    rows: list[Any] = pages.paginate_queryset(cast(Any, list(pair.rows)), request) or []
    return pages.get_paginated_response(SharedInstructionSerializer(rows, many=True).data)


@extend_schema(operation_id="compared_instruction", parameters=ASKED, responses=ComparedInstructionSerializer)
@api_view(["GET"])
@needs(Scope.RATINGS)
def compared_instruction(request: Request, workspace: str, slug: str, instruction: str) -> ApiResponse:
    """Return one instruction in full: both responses, the judge's verdicts and reasons, and people's means beside them."""
    pair = pair_asked(request, workspace, slug, GAP)
    row = next((one for one in pair.rows if one.public_id == instruction), None)
    if row is None:
        raise NotFound(_("The two models do not have this instruction in common."))
    with excluded_shown(_filters(request).excluded == SHOWN):
        return ApiResponse(ComparedInstructionSerializer(compared_item(pair, row)).data)


def _filters(request: Request) -> Filters:
    """Return the filters of the address; verdicts of failed runs never count, as no model is ranked by them."""
    given = read_filters(request.query_params)
    return replace(given, groups="", discredited=False, weights=given.weights or EQUAL)


def pair_asked(request: Request, workspace: str, slug: str, order: str) -> ModelPair:
    """Return the two models of the leaderboard that the address names. Raises Unusable."""
    benchmark = benchmark_to_read(request, workspace, slug)
    first, second = (request.query_params.get(name, "") for name in ("first", "second"))
    if not first or not second or first == second:
        raise Unusable(_("Say with first and second which two models."))
    try:
        board = requested_board(benchmark, _filters(request))
        known = [one.model for one in board.models]
        for name in (first, second):
            if name not in known:
                raise Unusable(_("There is no model %(name)s on this leaderboard.") % {"name": repr(name[:200])})
        return model_pair(board, first, second, order)
    except (UserError, NoStatistic) as error:
        raise Unusable(for_reader(error) if isinstance(error, UserError) else str(error)) from error

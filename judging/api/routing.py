"""REST API of routed draws: instructions drawn for people where a judge is unsure, and people's means from them."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking
from accounts.api.repeated import KEY, once
from annotation.api.studies import study_to_change, study_to_read
from annotation.policies.policies import MOST_OVERLAP
from core.errors import UserError
from generation.llm.protocol.prices import MOST_COUNTED
from judging.comparison.judge_panel import judges_named
from judging.comparison.routing.as_json import draw_json, plan_json, routing_json
from judging.comparison.routing.draws import LARGEST_SEED, RoutingRequest, freeze_draw, make_tasks, plan_draw
from judging.comparison.routing.estimates import routing_of
from judging.models import RoutedDraw

MOST_NAMES = 50
"""Names of judges or models that are read from a request."""


@extend_schema(operation_id="routing", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def routing(request: Request, workspace: str, slug: str) -> ApiResponse:
    """The draws of a study and people's means from them: the output of `manage.py review --estimate --json`."""
    study = study_to_read(request, workspace, slug)
    try:
        return ApiResponse(routing_json(routing_of(study)))
    except UserError as error:
        raise Unusable(str(error)) from error


class WantedDrawSerializer(serializers.Serializer[Any]):
    judges = serializers.ListField(
        child=serializers.CharField(max_length=200),
        help_text="Names of the judges whose spread is used; several: a panel.",
    )
    instructions = serializers.FloatField(
        min_value=0, max_value=MOST_COUNTED, default=None, allow_null=True, help_text="Expected number."
    )
    responses = serializers.FloatField(
        min_value=0, max_value=MOST_COUNTED, default=None, allow_null=True, help_text="Or responses, expected."
    )
    models = serializers.ListField(
        child=serializers.CharField(max_length=200), default=list, help_text="Names; all that were scored if empty."
    )
    spread = serializers.ChoiceField(
        choices=["", *RoutedDraw.SpreadKind.values], default="", help_text="'': what there is."
    )
    strata = serializers.ChoiceField(choices=RoutedDraw.Strata.values, default=RoutedDraw.Strata.SPREAD)
    overlap = serializers.IntegerField(
        min_value=1, max_value=MOST_OVERLAP, default=None, allow_null=True, help_text="Default: that of the study."
    )
    seed = serializers.IntegerField(
        min_value=0, max_value=LARGEST_SEED - 1, default=None, allow_null=True, help_text="Drawn by chance if absent."
    )
    dry_run = serializers.BooleanField(default=False, help_text="Return what would be drawn; store nothing.")


@extend_schema(
    operation_id="draw_for_people", parameters=[KEY], request=WantedDrawSerializer, responses=OpenApiTypes.OBJECT
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def draw_for_people(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Draw instructions for people and open their study (201 with the frozen draw), or say what would be drawn."""
    study = study_to_change(request, workspace, slug)
    wanted = WantedDrawSerializer(data=request.data)
    wanted.is_valid(raise_exception=True)
    given = wanted.validated_data
    try:
        asked = RoutingRequest(
            study,
            tuple(judges_named(study, given["judges"][:MOST_NAMES])),
            models=tuple(given["models"][:MOST_NAMES]),
            user=asking(request),
            **{name: given[name] for name in ("instructions", "responses", "spread", "strata", "overlap", "seed")},
        )
        if given["dry_run"]:
            return ApiResponse(plan_json(plan_draw(asked)))
        made = freeze_draw(asked)
        make_tasks(made, by=asking(request))
    except UserError as error:
        raise Unusable(str(error)) from error
    made.refresh_from_db()
    return ApiResponse(draw_json(made), status=201)

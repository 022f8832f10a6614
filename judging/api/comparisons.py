"""REST API of what judges' scores say beside each other and beside people: bridges, unrated models, and causes."""

from decimal import Decimal
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking
from accounts.api.repeated import KEY, once
from accounts.permissions import leads_workspace_of
from annotation.api.studies import study_to_change, study_to_read
from annotation.models import Study
from calibration.reports.codec import stored
from calibration.reports.registry import report_of, stored_report
from calibration.statistics.judges.transport import SHAPES
from core.errors import UserError
from generation.llm.protocol.prices import MOST_COUNTED, Ceiling
from judging.api.results import JudgeSerializer, state_of
from judging.comparison.bridging.anchors import (
    USUAL_CORRELATION,
    AnchorRequest,
    plan_anchors,
    run_request,
    started_anchor_run,
)
from judging.comparison.bridging.loaded import Scores, loaded_in, loaded_named, scores_read_by
from judging.comparison.bridging.people_scale import PeoplesScale, people_json, peoples_scale
from judging.comparison.bridging.prices import anchor_price
from judging.comparison.bridging.run_bridge import RunBridge, run_bridge
from judging.comparison.causes import CAUSES_REPORT, causes_settings
from judging.comparison.fitted_panel import make_fitted_panel
from judging.comparison.judge_against_people import judge_in, weighting_for
from judging.comparison.judge_panel import PANEL, NoPanel, judges_named, panel_json, panel_settings
from judging.comparison.run_pairs import runs_beside
from judging.comparison.unrated_models import UnratedModels, unrated_models
from judging.models import JudgeRun
from judging.runs.access import SHOWN_WITH_A_RUN, run_read_by, runs_read_by
from judging.runs.panels import judges_to_ask
from judging.web.comparison.judge_panel import no_panel_words

NO_RUN = "There is no run %(id)s in your workspaces."
MOST_JUDGES = 50
"""Names of judges that are read from an address."""


BRIDGED = [
    OpenApiParameter(
        "old",
        str,
        required=True,
        description="Id of the old judge's run, over the same benchmark, or of a judge whose verdicts came from a file.",
    ),
    OpenApiParameter("margin", float, description="Difference that matters, in points of the old scale."),
]


@extend_schema(operation_id="bridge", parameters=BRIDGED, responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def bridge(request: Request, public_id: str) -> ApiResponse:
    """Model means on the scale of an old judge, from this run of a new one: the output of `manage.py bridge --json`."""
    _new, found, people = bridged(request, public_id)
    return ApiResponse({**stored(found), "people": people_json(people)})


def bridged(request: Request, public_id: str) -> tuple[JudgeRun, RunBridge, PeoplesScale | None]:
    """Return the run of the new judge, the bridge from the old one, and both on people's scale. Raises Unusable."""
    new = _run_of(request, public_id)
    if not request.query_params.get("old"):
        raise Unusable("Say with old which run is the old judge's.")
    margin = _margin_of(request)
    try:
        old = _old_scores(request, new)
        return new, run_bridge(old, new, margin=margin), peoples_scale(old, new)
    except UserError as error:
        raise Unusable(str(error)) from error


class WantedAnchorsSerializer(serializers.Serializer[Any]):
    judge = serializers.CharField(max_length=200, help_text="Name of the judge that shall score the anchors.")
    half_width = serializers.FloatField(
        min_value=0, default=None, allow_null=True, help_text="Half width wanted of 95 % intervals, in points."
    )
    per_model = serializers.IntegerField(
        min_value=1, max_value=MOST_COUNTED, default=None, allow_null=True, help_text="Or responses of each model."
    )
    correlation = serializers.FloatField(
        min_value=0, default=USUAL_CORRELATION, help_text="Assumed where the two judges share too few scores to tell."
    )
    seed = serializers.IntegerField(default=0, min_value=0, max_value=MOST_COUNTED)
    canaries = serializers.BooleanField(default=True)
    budget_calls = serializers.IntegerField(min_value=1, max_value=MOST_COUNTED, default=None, allow_null=True)
    budget_tokens = serializers.IntegerField(min_value=1, max_value=MOST_COUNTED, default=None, allow_null=True)
    budget_money = serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=Decimal(0), default=None, allow_null=True
    )
    price_only = serializers.BooleanField(
        default=False, help_text="Return what would be drawn and cost; start nothing."
    )


@extend_schema(
    operation_id="draw_anchors", parameters=[KEY], request=WantedAnchorsSerializer, responses=OpenApiTypes.OBJECT
)
@api_view(["POST"])
@needs(Scope.RUN)
@once
def draw_anchors(request: Request, public_id: str) -> ApiResponse:
    """Have another judge score anchors drawn from this run (201 with the run), or price it; 400 if no bridge could come.

    "JUDGE.STUDY" by their ids in place of a run's draws from a judge's verdicts in a study that came from a file.
    """
    user = asking(request)
    run = scores_read_by(user, public_id, message=NO_RUN % {"id": repr(public_id)})
    if not leads_workspace_of(user, run.study):
        raise PermissionDenied("Only owners and leads of this workspace can draw anchors.")
    wanted = WantedAnchorsSerializer(data=request.data)
    wanted.is_valid(raise_exception=True)
    given = wanted.validated_data
    judge = judges_to_ask(run.study.workspace).filter(rater__label=given["judge"]).first()
    if judge is None:
        raise Unusable(f"There is no judge {given['judge']!r} in the workspace of this run.")
    sizes = {name: given[name] for name in ("half_width", "per_model", "correlation", "seed", "canaries")}
    budget = Ceiling(given["budget_calls"], given["budget_tokens"], given["budget_money"])
    asked = AnchorRequest(run, judge, budget=budget, user=user, **sizes)
    try:
        if given["price_only"]:
            plan = plan_anchors(asked)
            return ApiResponse(anchor_price(run_request(asked, plan), plan))
        return ApiResponse(state_of(started_anchor_run(asked, clock=timezone.now)), status=201)
    except UserError as error:
        raise Unusable(str(error)) from error


class LoadedVerdictsSerializer(serializers.Serializer[Any]):
    """A judge's verdicts on a study's responses that came from a file."""

    id = serializers.CharField(
        source="public_id", help_text="What a bridge and a draw of anchors take in place of a run."
    )
    judge = serializers.CharField(source="judge.name")
    study = serializers.CharField(source="study.slug")
    tasks = serializers.IntegerField(source="n", help_text="Tasks about single responses that it has a verdict on.")


@extend_schema(operation_id="loaded_verdicts", responses=LoadedVerdictsSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def loaded_verdicts(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Return the judges' verdicts from files on the responses of a study or of its benchmark, which no run of ours gave."""
    study = study_to_read(request, workspace, slug)
    return ApiResponse(LoadedVerdictsSerializer(loaded_in([study.workspace], near=study), many=True).data)


CARRIED = [
    OpenApiParameter("judge", str, required=True, description="Name of a judge of the study's responses."),
    OpenApiParameter("margin", float, description="Difference that matters, in points of people's scale."),
    OpenApiParameter("shape", str, enum=list(SHAPES), description="Calibration; default: means."),
]


@extend_schema(operation_id="transport", parameters=CARRIED, responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def transport(request: Request, workspace: str, slug: str) -> ApiResponse:
    """People's mean of models that nobody rated: the output of `manage.py transport --json`."""
    return ApiResponse(stored(carried(request, study_to_read(request, workspace, slug))))


def carried(request: Request, study: Study) -> UnratedModels:
    """Return people's means of the models that nobody rated, as the address asks. Raises Unusable."""
    given = request.query_params
    shape = given.get("shape") or "means"
    if shape not in SHAPES:
        raise Unusable(f"shape must be one of: {', '.join(SHAPES)}.")
    margin = _margin_of(request)
    try:
        judge = judge_in(study, given.get("judge", ""))
        return unrated_models(study, judge, weighting_for(study), margin=margin, shape=shape)
    except UserError as error:
        raise Unusable(str(error)) from error


@extend_schema(
    operation_id="causes",
    parameters=[
        OpenApiParameter("judge", str, description="Name of a judge; default: the one with the most verdicts.")
    ],
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET"])
@needs(Scope.READ)
def causes(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Why a judge and people differ: the output of `manage.py compare_judge --causes --json`."""
    study = study_to_read(request, workspace, slug)
    try:
        name = request.query_params.get("judge", "")
        judge = judge_in(study, name) if name else None
    except UserError as error:
        raise Unusable(str(error)) from error
    settings = causes_settings(judge.public_id if judge else "")
    return ApiResponse(stored_report(study, CAUSES_REPORT, settings))


@extend_schema(
    operation_id="panel",
    parameters=[
        OpenApiParameter(
            "judge",
            str,
            many=True,
            description="Names of the panel's judges; all that scored enough if there are none.",
        )
    ],
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET"])
@needs(Scope.READ)
def panel(request: Request, workspace: str, slug: str) -> ApiResponse:
    """What several judges together predict of people's differences: the output of `manage.py panel --json`."""
    study = study_to_read(request, workspace, slug)
    try:
        judges = judges_named(study, request.query_params.getlist("judge")[:MOST_JUDGES])
    except UserError as error:
        raise Unusable(str(error)) from error
    report = report_of(study, PANEL, panel_settings(study, judges))
    if isinstance(report, NoPanel):
        raise Unusable(no_panel_words(report))
    return ApiResponse(panel_json(study, report))


class WantedPanelSerializer(serializers.Serializer[Any]):
    judges = serializers.ListField(
        child=serializers.CharField(max_length=200), default=list, help_text="Names; all that scored enough if empty."
    )
    name = serializers.CharField(max_length=150, default="", allow_blank=True, help_text="Name of the new judge.")


@extend_schema(
    operation_id="make_panel", parameters=[KEY], request=WantedPanelSerializer, responses=OpenApiTypes.OBJECT
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def make_panel(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Make a judge of the study's fitted panel (for owners and leads), and begin the run of its verdicts, without calls."""
    study = study_to_change(request, workspace, slug)
    asked = WantedPanelSerializer(data=request.data)
    asked.is_valid(raise_exception=True)
    given = asked.validated_data
    try:
        judges = judges_named(study, given["judges"][:MOST_JUDGES])
        report = report_of(study, PANEL, panel_settings(study, judges))
        if isinstance(report, NoPanel):
            raise Unusable(no_panel_words(report))
        made = make_fitted_panel(study, report, name=given["name"], user=asking(request), clock=timezone.now)
    except UserError as error:
        raise Unusable(str(error)) from error
    run = made.run.public_id if made.run else None
    return ApiResponse({**JudgeSerializer(made.judge).data, "run": run}, status=201)


def _old_scores(request: Request, new: JudgeRun) -> Scores:
    """Return the run named as the old judge's, or a judge's verdicts that came from a file. Raises UserError."""
    name = request.query_params["old"]
    run = runs_read_by(asking(request)).filter(public_id=name).select_related(*SHOWN_WITH_A_RUN).first()
    if run is None:
        return loaded_named(loaded_in([new.study.workspace], new.study), name)
    if not runs_beside(new, JudgeRun.objects.filter(pk=run.pk)).exists():
        raise Unusable("The two runs are over different benchmarks; name two runs over the same responses.")
    return run


def _margin_of(request: Request) -> float | None:
    asked = request.query_params.get("margin", "")
    try:
        return float(asked[:30]) if asked else None
    except ValueError as error:
        raise Unusable("margin must be a number of points.") from error


def _run_of(request: Request, public_id: str) -> JudgeRun:
    return run_read_by(asking(request), public_id, message=NO_RUN % {"id": repr(public_id)})

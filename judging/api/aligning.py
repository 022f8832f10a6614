"""REST API of alignments: versions of a judge on held-out parts of a study's instructions, and looks at the test part."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, checked
from accounts.api.repeated import KEY, once
from accounts.permissions import leads_workspace_of
from annotation.api.studies import study_to_change, study_to_read
from calibration.reports.codec import stored
from calibration.statistics.judges.alignment import USUAL_SHARES
from core.errors import UserError
from generation.llm.protocol.prices import MOST_COUNTED
from generation.responses.estimates import GenerationEstimate
from judging.alignment.looks import take_look, version_named
from judging.alignment.proposals import ask_for_prompt, draft_named, drafts_of, price_of_proposal, prompt_models
from judging.alignment.records import add_version, alignment_read_by, begin_alignment, judge_named
from judging.alignment.results import alignment_report
from judging.models import Alignment


class WantedAlignmentSerializer(serializers.Serializer[Any]):
    """An alignment to be begun: the split is stored, and nothing is asked."""

    baseline = serializers.CharField(max_length=150, help_text="Name of the judge that versions are compared with.")
    criterion = serializers.CharField(
        max_length=100, required=False, default="", help_text="Default: the first that the judge answers."
    )
    shares = serializers.ListField(
        child=serializers.FloatField(min_value=0, max_value=1),
        required=False,
        default=list(USUAL_SHARES),
        help_text="Of training, validation and test.",
    )
    seed = serializers.IntegerField(required=False, default=0, min_value=0, max_value=MOST_COUNTED)


class WantedVersionSerializer(serializers.Serializer[Any]):
    judge = serializers.CharField(max_length=150, help_text="Name of the judge.")
    draft = serializers.CharField(
        max_length=50, default="", allow_blank=True, help_text="Id of the draft whose prompt it was made of, if any."
    )


class WantedLookSerializer(serializers.Serializer[Any]):
    judge = serializers.CharField(max_length=150, help_text="Name of the version.")
    look = serializers.IntegerField(
        min_value=1,
        max_value=MOST_COUNTED,
        help_text="The number of the look that you agree to: next_look of the report.",
    )


@extend_schema(operation_id="alignments", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def alignments(request: Request, workspace: str, slug: str) -> ApiResponse:
    """The study's alignments, the newest first."""
    study = study_to_read(request, workspace, slug)
    rows = [
        {
            "id": row.public_id,
            "baseline": row.baseline.rater.label,
            "criterion": row.criterion,
            "created_at": row.created_at,
        }
        for row in study.alignments.select_related("baseline__rater")
    ]
    return ApiResponse({"alignments": rows})


@extend_schema(
    operation_id="begin_alignment", parameters=[KEY], request=WantedAlignmentSerializer, responses=OpenApiTypes.OBJECT
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def begin(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Split the study's instructions into training, validation and test (201); 400 where there are too few."""
    study = study_to_change(request, workspace, slug)
    given = checked(WantedAlignmentSerializer(data=request.data))
    try:
        made = begin_alignment(
            study,
            judge_named(study.workspace, given["baseline"]),
            criterion=given["criterion"],
            shares=given["shares"],
            seed=given["seed"],
            by=asking(request),
        )
    except UserError as error:
        raise Unusable(str(error)) from error
    return ApiResponse(stored(alignment_report(made)), status=201)


@extend_schema(operation_id="alignment", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def alignment(request: Request, public_id: str) -> ApiResponse:
    """What is known of every version; of the test part, what looks found: the output of `manage.py align --json`."""
    return ApiResponse(stored(alignment_report(alignment_to_read(request, public_id))))


@extend_schema(operation_id="add_version", request=WantedVersionSerializer, responses=OpenApiTypes.OBJECT)
@api_view(["POST"])
@needs(Scope.CHANGE)
def add(request: Request, public_id: str) -> ApiResponse:
    """Add a judge as a version (201 with the report); it is asked by an ordinary run."""
    found = _to_change(request, public_id)
    given = checked(WantedVersionSerializer(data=request.data))
    try:
        judge, draft = judge_named(found.study.workspace, given["judge"]), draft_named(found, given["draft"])
        add_version(found, judge, draft=draft, by=asking(request))
    except UserError as error:
        raise Unusable(str(error)) from error
    return ApiResponse(stored(alignment_report(found)), status=201)


@extend_schema(operation_id="alignment_drafts", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def drafts(request: Request, public_id: str) -> ApiResponse:
    """The prompts that models proposed, none of which is a judge; `fault` says why it could not be one as it is."""
    rows = [
        {
            "id": one.id,
            "rewrites": one.like.rater.label,
            "model": one.model,
            "at": one.at,
            "prompt": one.prompt,
            "fault": str(one.fault) if one.fault else "",
        }
        for one in drafts_of(alignment_to_read(request, public_id))
    ]
    return ApiResponse({"drafts": rows})


class WantedProposalSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(max_length=200, help_text="Name of the model that rewrites the prompt.")
    judge = serializers.CharField(
        max_length=150, default="", allow_blank=True, help_text="Whose prompt is rewritten; default: the baseline's."
    )
    price_only = serializers.BooleanField(default=False, help_text="Return what it would cost, and ask nothing.")


@extend_schema(
    operation_id="propose_prompt", parameters=[KEY], request=WantedProposalSerializer, responses=OpenApiTypes.OBJECT
)
@api_view(["POST"])
@needs(Scope.RUN)
@once
def propose(request: Request, public_id: str) -> ApiResponse:
    """Ask a model, once, to rewrite a prompt (201 with the generation run), or price the call; its reply is a draft."""
    found = _to_change(request, public_id)
    given = checked(WantedProposalSerializer(data=request.data))
    model = prompt_models(found).filter(name=given["model"]).first()
    if model is None:
        raise Unusable(f"There is no model {given['model']!r} with an endpoint in the workspace of this alignment.")
    try:
        judge = judge_named(found.study.workspace, given["judge"]) if given["judge"] else found.baseline
        if given["price_only"]:
            return ApiResponse(_price_json(price_of_proposal(found, judge, model)))
        made = ask_for_prompt(found, judge, model, by=asking(request))
    except UserError as error:
        raise Unusable(str(error)) from error
    return ApiResponse({"id": made.public_id, "status": made.status, "message": made.message}, status=201)


def _price_json(price: GenerationEstimate) -> dict[str, object]:
    most = price.most
    money = f"{most.money:f}" if price.priced else None
    return {
        "most": {"calls": most.calls, "tokens": most.tokens, "money": money},
        "unpriced": price.unpriced,
        "currency": price.currency,
    }


@extend_schema(operation_id="take_look", request=WantedLookSerializer, responses=OpenApiTypes.OBJECT)
@api_view(["POST"])
@needs(Scope.CHANGE)
def look(request: Request, public_id: str) -> ApiResponse:
    """Measure a version once on the test part (201 with the report); the look is counted and cannot be undone."""
    found = _to_change(request, public_id)
    given = checked(WantedLookSerializer(data=request.data))
    try:
        take_look(version_named(found, given["judge"]), confirmed=given["look"], by=asking(request))
    except UserError as error:
        raise Unusable(str(error)) from error
    return ApiResponse(stored(alignment_report(found)), status=201)


def alignment_to_read(request: Request, public_id: str) -> Alignment:
    message = f"There is no alignment {public_id!r} in your workspaces."
    return alignment_read_by(asking(request), public_id, message=message)


def _to_change(request: Request, public_id: str) -> Alignment:
    found = alignment_to_read(request, public_id)
    if not leads_workspace_of(asking(request), found.study):
        raise PermissionDenied("Only owners and leads of this workspace can change its alignments.")
    return found

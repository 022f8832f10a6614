"""REST API of judges: one judge's card, the table of all, and probes, which are priced, started and read."""

from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking
from accounts.api.repeated import KEY, once
from accounts.permissions import leads_workspace_of, workspaces_read_by
from annotation.api.studies import study_to_read
from annotation.models import Rater, Study
from calibration.reports.codec import stored
from calibration.reports.registry import stored_report
from core.errors import UserError
from core.web.access import visible_or_404
from generation.endpoints.pricing import currency_of
from generation.llm.protocol.prices import MOST_COUNTED, Ceiling
from judging.api.results import run_to_read, state_of
from judging.cards.card import judge_card
from judging.cards.table import TABLE, request_missing, table_settings, workspace_json, workspace_table
from judging.models import Judge
from judging.probes.planning import create_probe_run, price_of_probes
from judging.probes.request import USUAL_AUTHOR, USUAL_SIZE, Group, ProbeRequest, named_groups, usual_groups
from judging.probes.results import probe_report
from judging.runs.life_cycle import JUDGING, start_run


@extend_schema(operation_id="judge_card", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def card(request: Request, public_id: str) -> ApiResponse:
    """A judge's card: what it is, its agreement with people, biases, probes and costs; `manage.py judge_card --json`."""
    rater = judge_to_read(request, public_id)
    return ApiResponse(stored(judge_card(rater, currency_of(rater.workspace_id))))


def judge_to_read(request: Request, public_id: str) -> Rater:
    """Return the judge, for somebody who may read its results; else 404."""
    raters = Rater.objects.filter(kind=Rater.Kind.JUDGE, workspace__in=workspaces_read_by(asking(request)))
    return visible_or_404(raters.filter(public_id=public_id))


@extend_schema(operation_id="judge_table", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def table(request: Request, workspace: str, slug: str) -> ApiResponse:
    """All that was measured of a study's judges, a row for each: `manage.py judge_card --study STUDY --json`."""
    study = study_to_read(request, workspace, slug)
    return ApiResponse(stored_report(study, TABLE, table_settings(study)))


@extend_schema(operation_id="all_judges_table", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def all_judges(request: Request) -> ApiResponse:
    """All judges that you may read, as their studies' tables were last computed: `manage.py judge_card --all --json`.

    Judges of the studies in `without` are missing; with `being_computed` a worker computes them, so ask again in a moment.
    """
    found = workspace_table(workspaces_read_by(asking(request)))
    return ApiResponse(workspace_json(found, request_missing(found)))


@extend_schema(operation_id="run_probes", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def run_probes(request: Request, public_id: str) -> ApiResponse:
    """What a run of probes found so far: the output of `manage.py probe_judge --show RUN --json`."""
    try:
        return ApiResponse(stored(probe_report(run_to_read(request, public_id))))
    except UserError as error:
        raise Unusable(str(error)) from error


class WantedProbesSerializer(serializers.Serializer[Any]):
    study = serializers.CharField(max_length=200, help_text="Slug of the study whose responses are changed.")
    change = serializers.ListField(
        child=serializers.ChoiceField(choices=list(Group)), default=list, help_text="Default: all that is possible."
    )
    responses = serializers.IntegerField(default=USUAL_SIZE, help_text="How many responses, or pairs, are drawn.")
    author = serializers.CharField(default=USUAL_AUTHOR, help_text="The author that is claimed.")
    wordings = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        help_text="Up to three prompts in other words; default: offered ones.",
    )
    seed = serializers.IntegerField(default=0, min_value=0, max_value=MOST_COUNTED)
    budget_calls = serializers.IntegerField(min_value=1, max_value=MOST_COUNTED, default=None, allow_null=True)
    budget_tokens = serializers.IntegerField(min_value=1, max_value=MOST_COUNTED, default=None, allow_null=True)
    budget_money = serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=Decimal(0), default=None, allow_null=True
    )
    price_only = serializers.BooleanField(default=False, help_text="Return what it would cost, and start nothing.")


@extend_schema(
    operation_id="probe_judge", parameters=[KEY], request=WantedProbesSerializer, responses=OpenApiTypes.OBJECT
)
@api_view(["POST"])
@needs(Scope.RUN)
@once
def probe_judge(request: Request, public_id: str) -> ApiResponse:
    """Start a run of probes of a judge (201 with the run), or price it; 400 with a sentence if it cannot be probed."""
    user = asking(request)
    found = Judge.objects.filter(workspace__in=workspaces_read_by(user), rater__public_id=public_id)
    judge = visible_or_404(found.select_related("rater", "language_model__endpoint", "workspace"))
    if not leads_workspace_of(user, judge):
        raise PermissionDenied("Only owners and leads of this workspace can probe its judges.")
    wanted = WantedProbesSerializer(data=request.data)
    wanted.is_valid(raise_exception=True)
    given = wanted.validated_data
    study = Study.objects.filter(workspace=judge.workspace_id, slug=given["study"]).select_related("workspace").first()
    if study is None:
        raise Unusable(f"There is no study {given['study']!r} in the workspace of this judge.")
    try:
        asked = ProbeRequest(
            judge,
            study,
            groups=named_groups(given["change"]) if given["change"] else usual_groups(judge, given["wordings"]),
            size=given["responses"],
            author=given["author"],
            wordings=given["wordings"],
            seed=given["seed"],
            budget=Ceiling(given["budget_calls"], given["budget_tokens"], given["budget_money"]),
            user=user,
        )
        if given["price_only"]:
            return ApiResponse(price_of_probes(asked).as_json())
        with transaction.atomic():
            made = create_probe_run(asked)
            start_run(made, clock=timezone.now, user=user)
            JUDGING.hand_over(made)
    except UserError as error:
        raise Unusable(str(error)) from error
    return ApiResponse(state_of(made), status=201)

"""Generation runs for programs: planned and started by the form of the page, steered, and read with their counts."""

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, paged
from accounts.api.repeated import KEY, once
from accounts.permissions import leads_workspace_of
from generation.execution.states import NotPossible
from generation.library.access import benchmark_at, run_read_by, runs_read_by
from generation.models import MAIN_EXPERIMENT, GenerationRun
from generation.responses.plan import EXPERIMENTS, Prefill, default_parameters
from generation.responses.runs import GENERATION, cancel_run, pause_run, progress_of, retry_failed, start_run
from generation.web.budgets import BudgetSerializer, SpendSerializer, of_budget, set_budget
from generation.web.responses.pages import estimated, files_of, generation_form, planned, served_models, wanted_by
from generation.web.run_controls import download

NUMBER: dict[str, Any] = {"required": False, "allow_null": True, "min_value": 1}


class WantedGenerationSerializer(serializers.Serializer[Any]):
    """A generation run to be started; what is left out is as on the page."""

    models = serializers.ListField(
        child=serializers.CharField(max_length=200), min_length=1, max_length=200, help_text="Names."
    )
    samples = serializers.IntegerField(min_value=1, max_value=100, default=1)
    categories = serializers.ListField(child=serializers.CharField(max_length=100), required=False, default=list)
    tags = serializers.ListField(child=serializers.CharField(max_length=200), required=False, default=list)
    limit = serializers.IntegerField(**NUMBER, help_text="The most instructions.")
    experiment = serializers.ChoiceField(
        choices=list(EXPERIMENTS), default=MAIN_EXPERIMENT, help_text="The length asked."
    )
    temperature = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=2)
    max_tokens = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=1_000_000)
    prefill = serializers.ChoiceField(choices=[str(one) for one in Prefill], default=str(Prefill.CONTINUE))
    batch = serializers.BooleanField(default=False, help_text="Whether the endpoint's batch API is used.")
    budget_calls = serializers.IntegerField(**NUMBER)
    budget_tokens = serializers.IntegerField(**NUMBER)
    budget_money = serializers.DecimalField(required=False, allow_null=True, max_digits=12, decimal_places=6)
    price_only = serializers.BooleanField(default=False, help_text="Return what it would cost, and start nothing.")


class GenerationPriceSerializer(serializers.Serializer[Any]):
    """What a generation run would cost."""

    instructions = serializers.IntegerField()
    most = SpendSerializer(help_text="With every text at its longest.")
    usual = SpendSerializer(allow_null=True, help_text="By the models' earlier texts; null if one has none.")
    unpriced = serializers.ListField(child=serializers.CharField(), help_text="Models without a price.")
    currency = serializers.CharField()


class GenerationRunSerializer(serializers.ModelSerializer[GenerationRun]):
    id = serializers.CharField(source="public_id")
    workspace = serializers.CharField(source="benchmark.workspace.slug")
    benchmark = serializers.CharField(source="benchmark.slug")
    job = serializers.SerializerMethodField(help_text="Its id at jobs/ID/.")

    class Meta:
        model = GenerationRun
        fields = [
            "id",
            "job",
            "workspace",
            "benchmark",
            "name",
            "experiment",
            "status",
            "message",
            "budget_calls",
            "budget_tokens",
            "budget_money",
            "created_at",
            "started_at",
            "finished_at",
        ]

    def get_job(self, run: GenerationRun) -> str:
        return f"generation-{run.public_id}"


class ModelCountsSerializer(serializers.Serializer[Any]):
    """How far the run is with one model."""

    name = serializers.CharField()
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    waiting = serializers.IntegerField()


class GenerationProgressSerializer(GenerationRunSerializer):
    models = serializers.SerializerMethodField()
    calls = serializers.SerializerMethodField()
    input_tokens = serializers.SerializerMethodField()
    output_tokens = serializers.SerializerMethodField()
    money = serializers.SerializerMethodField(help_text="Spent so far, in the currency of the models' prices.")

    class Meta(GenerationRunSerializer.Meta):
        fields = [*GenerationRunSerializer.Meta.fields, "models", "calls", "input_tokens", "output_tokens", "money"]

    def to_representation(self, instance: GenerationRun) -> dict[str, Any]:
        self._progress = progress_of(instance, clock=timezone.now)
        return super().to_representation(instance)

    @extend_schema_field(ModelCountsSerializer(many=True))
    def get_models(self, _run: GenerationRun) -> Any:
        rows = [{**asdict(one), "waiting": one.waiting} for one in self._progress.models]
        return ModelCountsSerializer(rows, many=True).data

    def get_calls(self, _run: GenerationRun) -> int:
        return self._progress.calls

    def get_input_tokens(self, _run: GenerationRun) -> int:
        return self._progress.input_tokens

    def get_output_tokens(self, _run: GenerationRun) -> int:
        return self._progress.output_tokens

    def get_money(self, _run: GenerationRun) -> str:
        return f"{self._progress.money:f}"


RUN = OpenApiExample(
    "Two models", {"models": ["model-a", "model-b"], "limit": 50, "budget_money": "5.00"}, request_only=True
)


@extend_schema(
    operation_id="start_generation",
    parameters=[KEY],
    request=WantedGenerationSerializer,
    responses={200: GenerationPriceSerializer, 201: GenerationRunSerializer},
    examples=[RUN],
)
@api_view(["POST"])
@needs(Scope.RUN)
@once
def start_generation(request: Request, workspace: str, slug: str) -> Response:
    """Have models respond to a benchmark's instructions (for owners and leads; 201), or price it (200)."""
    benchmark = benchmark_at(asking(request), workspace, slug)
    if not leads_workspace_of(asking(request), benchmark):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
    asked = checked(WantedGenerationSerializer(data=request.data))
    served = dict(served_models(benchmark).values_list("name", "pk"))
    for name in asked["models"]:
        if name not in served:
            told = _("There is no model %(name)s with an endpoint in this workspace.")
            raise Unusable(told % {"name": repr(name[:50])})
    usual = {key: default_parameters(benchmark).get(key) for key in ("temperature", "max_tokens")}
    given = {name: value for name, value in asked.items() if value is not False and value not in (None, "", [])}
    form = generation_form(benchmark, {**usual, **given, "models": [served[name] for name in asked["models"]]})
    for name in ("categories", "tags"):
        if name in given and name not in form.fields:
            told = _("This benchmark has none to choose from.")
            raise Unusable(f"{name}: {told}")
    wanted = wanted_by(form, benchmark, asking(request)) if form.is_valid() else None
    if wanted is not None and asked["price_only"]:
        if (price := estimated(form, wanted)) is not None:
            return Response(price.as_json())
    elif wanted is not None and (run := planned(form, wanted)) is not None:
        return Response(GenerationRunSerializer(run).data, status=201)
    name, errors = next(iter(form.errors.items()))
    raise Unusable(str(errors[0]) if name == "__all__" else f"{name}: {errors[0]}")


@extend_schema(operation_id="generation_runs", parameters=[SIZE, CURSOR], responses=GenerationRunSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def generation_runs(request: Request) -> Response:
    """List the generation runs of the workspaces whose results you may read."""
    found = runs_read_by(asking(request)).select_related("benchmark__workspace").order_by()
    return paged(request, found, GenerationRunSerializer)


@extend_schema(operation_id="generation_run", responses=GenerationProgressSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def generation_run(request: Request, public_id: str) -> Response:
    """Return a generation run with its counts by model, tokens and cost."""
    return Response(GenerationProgressSerializer(run_read_by(asking(request), public_id)).data)


@extend_schema(
    operation_id="steer_generation",
    request=None,
    responses=GenerationRunSerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=["start", "pause", "cancel", "retry"])],
)
@api_view(["POST"])
@needs(Scope.CHANGE, start=Scope.RUN, retry=Scope.RUN)
def steer_generation(request: Request, public_id: str, verb: str) -> Response:
    """Start (or resume), pause or cancel a generation run, or ask again for what failed; 400 if its state forbids it."""
    user = asking(request)
    found = run_read_by(user, public_id)
    if not leads_workspace_of(user, found):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
    GENERATION.keep_logged(found)
    try:
        with transaction.atomic():
            if verb == "pause":
                pause_run(found, clock=timezone.now, user=user)
            elif verb == "cancel":
                cancel_run(found, clock=timezone.now, user=user)
            else:
                if verb == "retry":
                    retry_failed(found, clock=timezone.now, user=user)
                start_run(found, clock=timezone.now, user=user)
                GENERATION.hand_over(found)
    except NotPossible as error:
        raise Unusable(str(error)) from error
    found.refresh_from_db()
    return Response(GenerationRunSerializer(found).data)


@of_budget("generation_budget", "set_generation_budget")
def generation_budget(request: Request, public_id: str) -> Response:
    """Return what a generation run may spend, or set it (for owners and leads), also while it is running."""
    found = run_read_by(asking(request), public_id)
    if request.method != "PUT":
        return Response(BudgetSerializer(found).data)
    if not leads_workspace_of(asking(request), found):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
    return Response(set_budget(request, found))


@extend_schema(
    operation_id="generation_file",
    responses=OpenApiTypes.OBJECT,
    parameters=[OpenApiParameter("name", str, "path", enum=["manifest.json", "report.json"])],
)
@api_view(["GET"])
@needs(Scope.READ)
def generation_file(request: Request, public_id: str, name: str) -> HttpResponse:
    """Return a file of a generation run: its manifest, or its counts with the metrics of its texts."""
    found = run_read_by(asking(request), public_id)
    return download(found, name, files_of(found))

"""API endpoints that make judges and start their runs, by the forms of the pages."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.forms import Form
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, checked, workspace_to_change
from accounts.api.repeated import KEY, once
from accounts.models import Workspace
from accounts.permissions import leads_workspace_of
from annotation.api.studies import study_to_change
from generation.api import benchmark_to_read
from generation.models import MAIN_EXPERIMENT, LanguageModel
from generation.web.budgets import SpendSerializer
from judging.api.results import JudgeSerializer, RunSerializer
from judging.judges.making import needs_no_model, stock_prompt
from judging.methods.combining import How
from judging.methods.registry import OFFERED, PROMPTED
from judging.models import JudgeRun
from judging.runs.planning.request import Target
from judging.web.judges.forms import LONGEST_PROMPT, JudgeForm
from judging.web.judges.pages import judge_made
from judging.web.runs.forms import RunForm
from judging.web.runs.start import estimated, may_be_asked, started_run


class WantedJudgeSerializer(serializers.Serializer[Any]):
    """A judge to be made. It never changes afterwards; the same judge again is the judge that is there."""

    method = serializers.ChoiceField(choices=list(OFFERED))
    model = serializers.CharField(
        max_length=200, required=False, allow_blank=True, help_text="Name of a model with an endpoint."
    )
    name = serializers.CharField(max_length=150, required=False, allow_blank=True)
    prompt = serializers.CharField(
        max_length=LONGEST_PROMPT, required=False, trim_whitespace=False, help_text="Default: that of the method."
    )
    temperature = serializers.FloatField(required=False, allow_null=True, default=0.0, min_value=0, max_value=2)
    max_tokens = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=1_000_000)
    parameters = serializers.DictField(required=False, help_text='Other parameters, such as {"top_p": 0.9}.')


class WantedRunSerializer(serializers.Serializer[Any]):
    """A run to be started; what is left out is as on the page."""

    judges = serializers.ListField(child=serializers.CharField(), required=False, default=list, help_text="Names.")
    model = serializers.CharField(
        max_length=200, required=False, allow_blank=True, help_text="A model with the default prompt of method."
    )
    method = serializers.ChoiceField(choices=list(OFFERED), required=False)
    combine = serializers.ChoiceField(choices=[str(one) for one in How], required=False)
    both_orders = serializers.BooleanField(required=False, default=False)
    repeats = serializers.IntegerField(required=False, min_value=1, max_value=50, default=1)
    canaries = serializers.BooleanField(required=False, default=True)
    items = serializers.ChoiceField(choices=["all", "rated"], required=False, default="all")
    limit = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    fresh = serializers.BooleanField(required=False, default=False, help_text="Whether stored replies are not used.")
    budget_calls = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    budget_tokens = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    budget_money = serializers.DecimalField(required=False, allow_null=True, max_digits=12, decimal_places=6)
    experiment = serializers.CharField(
        required=False, max_length=50, default=MAIN_EXPERIMENT, help_text="Of a benchmark: which responses."
    )
    price_only = serializers.BooleanField(default=False, help_text="Return what it would cost, and start nothing.")


class RunPriceSerializer(serializers.Serializer[Any]):
    """What a run would cost."""

    tasks = serializers.IntegerField()
    canaries = serializers.IntegerField(help_text="Canary texts that are asked about as well.")
    unanswerable = serializers.FloatField(help_text="The share of questions that lack something, and cost no call.")
    most = SpendSerializer(help_text="With the longest answers, and without a reply that is stored.")
    usual = SpendSerializer(allow_null=True, help_text="By the judges' earlier replies; null if one has none.")
    unpriced = serializers.ListField(child=serializers.CharField(), help_text="Models without a price.")
    currency = serializers.CharField()


RUN = OpenApiExample("Budget", {"judges": ["gpt judge"], "budget_money": "5.00", "limit": 200}, request_only=True)


@extend_schema(
    operation_id="make_judge",
    parameters=[KEY],
    request=WantedJudgeSerializer,
    responses={201: JudgeSerializer},
    examples=[OpenApiExample("Checklist", {"method": "checklist", "model": "model-a"}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def make_judge(request: Request, workspace: str) -> Response:
    """Make a judge of a model, a method, a prompt and parameters (for owners and leads)."""
    found = workspace_to_change(request, workspace)
    asked = checked(WantedJudgeSerializer(data=request.data))
    form = judge_form(found, asked)
    made = judge_made(form, asked["method"], asking(request)) if form.is_valid() else None
    if made is None:
        raise refused(form)
    return Response(JudgeSerializer(made).data, status=201)


def judge_form(workspace: Workspace, asked: Mapping[str, Any]) -> JudgeForm:
    """Return the form of the page with what was asked for. Raises Unusable if there is no such model."""
    models, _judges = may_be_asked(workspace)
    method = asked["method"]
    sent = {name: asked.get(name) for name in ("name", "temperature", "max_tokens")}
    sent |= {"workspace": workspace.pk, "others": asked.get("parameters") or None}
    if not needs_no_model(method):
        sent["model"] = _model(models, asked.get("model", ""))
    if method in PROMPTED:
        sent["prompt"] = asked.get("prompt") or stock_prompt(method)
    own = Workspace.objects.filter(pk=workspace.pk)
    return JudgeForm(_as_sent(sent), method=method, workspaces=own, models=models)


@extend_schema(
    operation_id="run_on_study",
    parameters=[KEY],
    request=WantedRunSerializer,
    responses={200: RunPriceSerializer, 201: RunSerializer},
    examples=[RUN],
)
@api_view(["POST"])
@needs(Scope.RUN)
@once
def run_on_study(request: Request, workspace: str, slug: str) -> Response:
    """Start a run of judges over the tasks of a study (for owners and leads; 201), or price it (200)."""
    return _start(request, Target(study=study_to_change(request, workspace, slug)))


@extend_schema(
    operation_id="run_on_benchmark",
    parameters=[KEY],
    request=WantedRunSerializer,
    responses={200: RunPriceSerializer, 201: RunSerializer},
    examples=[RUN],
)
@api_view(["POST"])
@needs(Scope.RUN)
@once
def run_on_benchmark(request: Request, workspace: str, slug: str) -> Response:
    """Start a run of judges over all responses of a benchmark (for owners and leads; 201), or price it (200)."""
    benchmark = benchmark_to_read(request, workspace, slug)
    if not leads_workspace_of(asking(request), benchmark):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
    experiment = checked(WantedRunSerializer(data=request.data))["experiment"]
    if experiment != MAIN_EXPERIMENT and not benchmark.generation_runs.filter(experiment=experiment).exists():
        raise Unusable(_("This benchmark has no such experiment."))
    return _start(request, Target(benchmark=benchmark, experiment=experiment))


def _start(request: Request, target: Target) -> Response:
    asked = checked(WantedRunSerializer(data=request.data))
    models, judges = may_be_asked(target.workspace)
    known = {judge.rater.label: judge.pk for judge in judges} if asked["judges"] else {}
    for name in asked["judges"]:
        if name not in known:
            raise Unusable(_("There is no judge %(name)s in this workspace.") % {"name": repr(name[:50])})
    plain = ("method", "combine", "both_orders", "repeats", "canaries", "items", "limit", "fresh")
    sent = {name: asked.get(name) for name in (*plain, "budget_calls", "budget_tokens", "budget_money")}
    sent |= {"judges": [known[name] for name in asked["judges"]]}
    if asked.get("model"):
        sent["model"] = _model(models, asked["model"])
    sent["combine"] = sent["combine"] or str(How.MEDIAN)
    form = RunForm(_as_sent(sent), judges=judges.order_by("pk"), models=models, kinds=target.kinds)
    if asked["price_only"]:
        price = estimated(form, target, asking(request)) if form.is_valid() else None
        if price is None:
            raise refused(form)
        return Response(price.as_json())
    run = started_run(form, target, asking(request)) if form.is_valid() else None
    if run is None:
        raise refused(form)
    run = JudgeRun.objects.select_related("judge__rater", "study__workspace").get(pk=run.pk)
    return Response(RunSerializer(run).data, status=201)


def _model(models: "QuerySet[LanguageModel]", name: str) -> int:
    found = models.filter(name=name).first()
    if found is None:
        raise Unusable(_("There is no model %(name)s with an endpoint in this workspace.") % {"name": repr(name[:50])})
    return found.pk


def _as_sent(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as a browser sends a form: nothing for what is empty. A 0 is not empty."""
    return {name: value for name, value in values.items() if value is not False and value not in (None, "")}


def refused(form: Form) -> Unusable:
    """Return the first error of the form with its field."""
    name, errors = next(iter(form.errors.items()))
    said = str(errors[0])
    return Unusable(said if name == "__all__" else f"{name}: {said}")

"""REST API of trials: a version of a prompt asked about one or a few real answers, before any judge is made of it."""

from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, cast

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, checked, workspace_to_change
from accounts.api.repeated import KEY, once
from accounts.models import Workspace
from accounts.permissions import leads_workspace_of
from annotation.models import Study, Task
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.endpoints.pricing import currency_of
from generation.models import Benchmark
from judging.api.making import judge_form, refused
from judging.methods.registry import METHODS, OFFERED, PROMPTED
from judging.models import PromptTrial
from judging.runs.life_cycle import NotPossible, cancel_run
from judging.trials.access import trial_read_by
from judging.trials.chosen_tasks import BENCHMARK, STUDY, tasks_to_try
from judging.trials.records import KEPT, SIZES, TrialPrice, begin_trial, draft_judge, price_of_trial
from judging.trials.results import TriedAnswer, TriedCriterion, reason_of, result_of
from judging.web.judges.forms import LONGEST_PROMPT, JudgeForm


class WantedPromptSerializer(serializers.Serializer[Any]):
    """A version of a prompt, and an answer of a study or of a benchmark."""

    method = serializers.ChoiceField(choices=list(OFFERED))
    model = serializers.CharField(max_length=200, help_text="Name of a model with an endpoint.")
    prompt = serializers.CharField(
        max_length=LONGEST_PROMPT, required=False, trim_whitespace=False, help_text="Default: that of the method."
    )
    temperature = serializers.FloatField(required=False, allow_null=True, default=0.0, min_value=0, max_value=2)
    max_tokens = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=1_000_000)
    parameters = serializers.DictField(required=False, help_text='Other parameters, such as {"top_p": 0.9}.')
    study = serializers.CharField(max_length=100, required=False, help_text="Slug; or benchmark.")
    benchmark = serializers.CharField(max_length=100, required=False, help_text="Slug; or study.")
    number = serializers.IntegerField(
        min_value=1, max_value=999_999_999, default=1, help_text="The first answer; after the last comes the first."
    )


class WantedTrialSerializer(WantedPromptSerializer):
    """A trial to be begun, of answers of a study or of a benchmark."""

    answers = serializers.ChoiceField(
        choices=SIZES, default=SIZES[0], help_text="How many; several are spread evenly, those that people rated first."
    )
    agreed_money = serializers.DecimalField(
        max_digits=12,
        decimal_places=6,
        min_value=Decimal(0),
        required=False,
        allow_null=True,
        help_text="If the trial might cost more than this, it is refused.",
    )
    price_only = serializers.BooleanField(default=False, help_text="Return what it would cost, and ask nothing.")


class TrialSerializer(serializers.ModelSerializer[PromptTrial]):
    id = serializers.CharField(source="public_id")
    workspace = serializers.CharField(source="language_model.workspace.slug")
    model = serializers.CharField(source="language_model.name")
    answers = serializers.SerializerMethodField(help_text="How many are asked about.")
    settled = serializers.SerializerMethodField(help_text="How many came back.")
    unusable = serializers.SerializerMethodField(help_text="How many of them brought no usable verdict.")
    cost = serializers.SerializerMethodField(help_text="So far.")
    currency = serializers.SerializerMethodField()
    kept_until = serializers.SerializerMethodField()

    class Meta:
        model = PromptTrial
        fields = [
            "id",
            "workspace",
            "model",
            "method",
            "prompt",
            "prompt_hash",
            "parameters",
            "status",
            "message",
            "answers",
            "settled",
            "unusable",
            "cost",
            "currency",
            "budget_money",
            "created_at",
            "kept_until",
        ]

    def to_representation(self, instance: PromptTrial) -> dict[str, Any]:
        self._result = result_of(instance)
        return super().to_representation(instance)

    def get_answers(self, _trial: PromptTrial) -> int:
        return len(self._result.answers)

    def get_settled(self, _trial: PromptTrial) -> int:
        return self._result.settled

    def get_unusable(self, _trial: PromptTrial) -> int:
        return self._result.unusable

    def get_cost(self, _trial: PromptTrial) -> str:
        return f"{self._result.cost:f}"

    def get_currency(self, trial: PromptTrial) -> str:
        return currency_of(trial.workspace_id)

    def get_kept_until(self, trial: PromptTrial) -> str:
        return (trial.created_at + KEPT).isoformat()


class TriedCriterionSerializer(serializers.Serializer[TriedCriterion]):
    question = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="Null if the model was not asked about it.")
    reason = serializers.CharField()
    people = serializers.FloatField(allow_null=True, help_text="The mean of people's answers.")
    raters = serializers.IntegerField()
    difference = serializers.FloatField(allow_null=True)


class TriedAnswerSerializer(serializers.Serializer[TriedAnswer]):
    """An answer that was asked about, and what came back."""

    about = serializers.CharField(source="item.about", help_text="Its instruction and models.")
    task = serializers.CharField(source="item.task.public_id", default=None)
    response = serializers.CharField(source="item.response.public_id", default=None)
    status = serializers.CharField(source="item.status")
    reason = serializers.SerializerMethodField(help_text="Why there is no usable verdict; else empty.")
    reply = serializers.CharField(source="item.text", help_text="The last raw reply, whole.")
    finish_reason = serializers.CharField(source="item.finish_reason")
    input_tokens = serializers.IntegerField(source="item.input_tokens")
    output_tokens = serializers.IntegerField(source="item.output_tokens")
    seconds = serializers.FloatField(source="item.seconds")
    cost = serializers.FloatField(source="item.cost")
    distance = serializers.FloatField(allow_null=True, help_text="The mean absolute difference from people.")
    criteria = TriedCriterionSerializer(many=True)

    def get_reason(self, answer: TriedAnswer) -> str:
        return for_reader(reason_of(answer.item))


@extend_schema(
    operation_id="start_trial",
    parameters=[KEY],
    request=WantedTrialSerializer,
    responses={200: OpenApiTypes.OBJECT, 201: TrialSerializer},
    examples=[
        OpenApiExample(
            "Five answers",
            {"method": "checklist", "model": "model-a", "study": "essays", "answers": 5, "agreed_money": "0.10"},
            request_only=True,
        )
    ],
)
@api_view(["POST"])
@needs(Scope.RUN)
@once
def start_trial(request: Request, workspace: str) -> ApiResponse:
    """Try a version of a prompt on real answers (for owners and leads; 201), or price it: each answer is asked about once.

    Nothing of a trial is a result, and it is deleted after 90 days.
    """
    found = workspace_to_change(request, workspace)
    asked = checked(WantedTrialSerializer(data=request.data))
    form = prompt_form(found, asked)
    given = form.cleaned_data
    judge = draft_judge(given["model"], asked["method"], given["prompt"], form.parameters)
    source = source_of(found, asked)
    tasks = tasks_to_try(found, asked["method"], source, asked["number"], asked["answers"])
    if not tasks:
        raise Unusable(_("There is no answer there that this method can be asked about."))
    price = price_of_trial(judge, tasks)
    if asked["price_only"]:
        return ApiResponse(_price_json(price))
    agreed = asked.get("agreed_money")
    if agreed is not None and price.most.money > agreed:
        raise Unusable(
            _("The trial might cost %(most)s, which is more than agreed_money.") % {"most": f"{price.most.money:f}"}
        )
    try:
        made = begin_trial(
            judge, tasks, source=source, number=asked["number"], clock=timezone.now, user=asking(request)
        )
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return ApiResponse(TrialSerializer(made).data, status=201)


@extend_schema(operation_id="trial", responses=TrialSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def trial(request: Request, public_id: str) -> ApiResponse:
    """Return a trial: its state, its cost, and how many answers came back."""
    return ApiResponse(TrialSerializer(trial_read_by(asking(request), public_id)).data)


@extend_schema(operation_id="tried_answers", responses=TriedAnswerSerializer(many=True))
@api_view(["GET"])
@needs(Scope.RATINGS)
def tried_answers(request: Request, public_id: str) -> ApiResponse:
    """Return what came back of a trial, answer by answer, beside the means of people's answers about the same."""
    found = trial_read_by(asking(request), public_id)
    return ApiResponse(TriedAnswerSerializer(cast(Any, result_of(found).answers), many=True).data)


@extend_schema(operation_id="stop_trial", request=None, responses=TrialSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def stop_trial(request: Request, public_id: str) -> ApiResponse:
    """End a trial (for owners and leads); a call that is under way still comes back. One that has ended stays so."""
    found = trial_read_by(asking(request), public_id)
    if not leads_workspace_of(asking(request), found):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
    with suppress(NotPossible):
        cancel_run(found, clock=timezone.now, user=asking(request))
    return ApiResponse(TrialSerializer(trial_read_by(asking(request), public_id)).data)


def prompt_form(workspace: Workspace, asked: Mapping[str, Any]) -> JudgeForm:
    """Return the valid form of the page with a version of a prompt. Raises Unusable."""
    if asked["method"] not in PROMPTED:
        raise Unusable(_("The method %(method)s has no prompt to try.") % {"method": asked["method"]})
    form = judge_form(workspace, asked)
    if not form.is_valid():
        raise refused(form)
    return form


def source_of(workspace: Workspace, asked: Mapping[str, Any]) -> str:
    """Return what tasks_to_try takes for the study or the benchmark. Raises Unusable."""
    study, benchmark = asked.get("study", ""), asked.get("benchmark", "")
    if bool(study) == bool(benchmark):
        raise Unusable(_("Say of what the answers are: either study or benchmark."))
    if benchmark and METHODS[asked["method"]].task_kind != Task.Kind.SINGLE:
        raise Unusable(
            _("Responses of a benchmark are single; name a study whose tasks this method can be asked about.")
        )
    rows = Study.objects.filter(workspace=workspace) if study else Benchmark.objects.filter(workspace=workspace)
    pk = rows.filter(slug=study or benchmark).values_list("pk", flat=True).first()
    if pk is None:
        told = (
            _("There is no study %(name)s in this workspace.")
            if study
            else _("There is no benchmark %(name)s in this workspace.")
        )
        raise Unusable(told % {"name": repr(study or benchmark)})
    return f"{STUDY if study else BENCHMARK}:{pk}"


def _price_json(price: TrialPrice) -> dict[str, object]:
    def spent(one: Any) -> dict[str, object] | None:
        if one is None:
            return None
        return {"calls": one.calls, "tokens": one.tokens, "money": f"{one.money:f}" if price.priced else None}

    return {
        "answers": price.tasks,
        "most": spent(price.most),
        "likely": spent(price.likely),
        "problems": price.problems,
        "unpriced": price.unpriced,
        "currency": price.currency,
    }

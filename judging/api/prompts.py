"""REST API of prompts as they are sent: what a judge, a version of a prompt, or an item of a run asks a model.

Nothing is sent and nothing is stored.
"""

import json
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, checked, workspace_to_read
from accounts.permissions import workspaces_read_by
from core.errors import UserError
from core.messages.rendering import for_reader
from judging.api.results import run_to_read
from judging.api.trials import WantedPromptSerializer, prompt_form, source_of
from judging.judges.questions import Questions
from judging.methods.registry import PROMPTED
from judging.models import Judge
from judging.runs.aggregation import jurors_of
from judging.trials.records import draft_judge
from judging.web.judges.prompt_preview import PromptPreview, prompt_of, prompt_preview


class SentMessageSerializer(serializers.Serializer[Any]):
    role = serializers.CharField()
    content = serializers.CharField(trim_whitespace=False)


class PromptSerializer(serializers.Serializer[Any]):
    """What a model is asked about one answer, or why it cannot be asked."""

    about = serializers.CharField(help_text="The instruction and the models, which the messages do not name.")
    messages = SentMessageSerializer(many=True)
    parameters = serializers.DictField(help_text="Sent beside the messages.")
    schema = serializers.DictField(
        allow_null=True, help_text="The JSON schema sent beside the messages; null where it is part of them."
    )
    tokens = serializers.IntegerField(help_text="Of the messages, estimated.")
    problem = serializers.CharField(help_text="Why this answer cannot be judged, which costs no call; or empty.")


class NumberedPromptSerializer(PromptSerializer):
    number = serializers.IntegerField(help_text="Of the answer.")
    of = serializers.IntegerField(help_text="How many answers there are.")


class WhichAnswerSerializer(serializers.Serializer[Any]):
    """An answer of a study or of a benchmark, in the address."""

    study = serializers.CharField(max_length=100, required=False)
    benchmark = serializers.CharField(max_length=100, required=False)
    number = serializers.IntegerField(min_value=1, max_value=999_999_999, default=1)


@extend_schema(
    operation_id="preview_prompt",
    request=WantedPromptSerializer,
    responses=NumberedPromptSerializer,
    examples=[
        OpenApiExample("The second", {"method": "checklist", "model": "model-a", "study": "essays", "number": 2})
    ],
)
@api_view(["POST"])
@needs(Scope.READ)
def preview_prompt(request: Request, workspace: str) -> ApiResponse:
    """Return what a version of a prompt would ask a model about an answer, before any judge is made of it."""
    found = workspace_to_read(request, workspace)
    asked = checked(WantedPromptSerializer(data=request.data))
    form = prompt_form(found, asked)
    given = form.cleaned_data
    judge = draft_judge(given["model"], asked["method"], given["prompt"], form.parameters)
    return _about_answer(judge, source_of(found, asked), asked["number"])


@extend_schema(
    operation_id="judge_prompt",
    parameters=[
        OpenApiParameter("study", str, description="Slug of a study of the judge's workspace; or benchmark."),
        OpenApiParameter("benchmark", str, description="Slug; or study."),
        OpenApiParameter("number", int, description="Of the answer, from 1; after the last comes the first."),
    ],
    responses=NumberedPromptSerializer,
)
@api_view(["GET"])
@needs(Scope.READ)
def judge_prompt(request: Request, public_id: str) -> ApiResponse:
    """Return what a judge would ask its model about an answer of a study or of a benchmark."""
    found = Judge.objects.filter(workspace__in=workspaces_read_by(asking(request)), rater__public_id=public_id)
    judge = found.select_related("rater", "language_model__endpoint", "workspace").first()
    if judge is None:
        raise NotFound(_("Your workspaces have no such judge."))
    asked = checked(WhichAnswerSerializer(data=request.query_params))
    _check_prompted(judge)
    return _about_answer(judge, source_of(judge.workspace, {**asked, "method": judge.method}), asked["number"])


@extend_schema(operation_id="run_prompt", responses=PromptSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def run_prompt(request: Request, public_id: str, item: int) -> ApiResponse:
    """Return what a run asks, or asked, its model for the verdict of this number; a correction of a reply is not in it."""
    run = run_to_read(request, public_id)
    texts = ("task__study__guideline", "task__response_a__instruction", "task__response_a__model")
    found = run.items.select_related(*texts, "task__response_b__model").filter(pk=item).first()
    if found is None:
        raise NotFound(_("This run has no such verdict."))
    judge = jurors_of(run)[found.juror]
    _check_prompted(judge)
    try:
        shown = prompt_of(judge, found, Questions.of(judge, run.study))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return ApiResponse(_json(shown))


def _about_answer(judge: Judge, source: str, number: int) -> ApiResponse:
    try:
        shown = prompt_preview(judge, source=source, number=number)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    if shown is None:
        raise Unusable(_("There is no answer there that this method can be asked about."))
    return ApiResponse({**_json(shown), "number": shown.number, "of": shown.of})


def _check_prompted(judge: Judge) -> None:
    if judge.method not in PROMPTED or judge.language_model is None:
        raise Unusable(_("The judge %(judge)s sends no prompt of its own.") % {"judge": judge.rater.label})


def _json(shown: PromptPreview) -> dict[str, Any]:
    """Return the fields of PromptSerializer."""
    names = ("about", "messages", "parameters", "tokens", "problem")
    return {
        **{name: getattr(shown, name) for name in names},
        "schema": json.loads(shown.schema) if shown.schema else None,
    }

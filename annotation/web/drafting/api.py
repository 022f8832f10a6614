"""API endpoints for the checklists of single instructions that models draft and people approve."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, paged
from accounts.api.repeated import KEY, once
from accounts.permissions import leads_workspace_of
from annotation.drafting.checklists import approve, approved_in, ask_for_drafts, drafted, own_checklist
from annotation.rules.drafted_questions import MergedQuestion
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.library.access import benchmark_at
from generation.models import Benchmark, Instruction
from generation.web.curation.api import QuestionsBenchmarkSerializer, questions_of


class DraftedInstructionSerializer(serializers.ModelSerializer[Instruction]):
    """An instruction for which models drafted questions."""

    id = serializers.CharField(source="public_id")
    instruction = serializers.CharField(source="external_id")
    questions = serializers.IntegerField(default=0, help_text="Number of drafted questions, merged.")
    models = serializers.ListField(child=serializers.CharField(), default=list)
    approved = serializers.BooleanField(default=False, help_text="Whether a person approved a checklist for it.")

    class Meta:
        model = Instruction
        fields = ["id", "instruction", "questions", "models", "approved"]


class DraftSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    models = serializers.ListField(child=serializers.CharField(), help_text="That drafted it or one like it.")
    alike = serializers.ListField(child=serializers.CharField(), help_text="Wordings that were merged into it.")


class DraftedChecklistSerializer(serializers.Serializer[Any]):
    """The drafts for one instruction, and the questions of its own checklist."""

    id = serializers.CharField()
    instruction = serializers.CharField()
    questions = serializers.ListField(
        child=serializers.CharField(), help_text="Of its own checklist; none without one."
    )
    approved = serializers.BooleanField()
    drafts = DraftSerializer(many=True)


class WantedOwnChecklistSerializer(serializers.Serializer[Any]):
    questions = serializers.ListField(child=serializers.CharField(allow_blank=True))


@extend_schema(
    methods=["GET"],
    operation_id="drafted_checklists",
    parameters=[SIZE, CURSOR],
    responses=DraftedInstructionSerializer(many=True),
)
@extend_schema(
    methods=["POST"],
    operation_id="ask_for_drafts",
    parameters=[KEY],
    request=None,
    responses={201: QuestionsBenchmarkSerializer},
)
@api_view(["GET", "POST"])
@needs(Scope.READ, post=Scope.CHANGE)
@once
def drafted_checklists(request: Request, workspace: str, slug: str) -> Response:
    """List the instructions with drafts; or make the questions that ask models for drafts (for owners and leads).

    A generation run of the benchmark with these questions has models write the drafts.
    """
    benchmark = benchmark_at(asking(request), workspace, slug)
    if request.method == "POST":
        return questions_of(request, benchmark, ask_for_drafts)
    drafts, approved = drafted(benchmark), approved_in(benchmark)
    rows = benchmark.instructions.filter(external_id__in=list(drafts)).only("public_id", "external_id").order_by()
    page = paged(request, rows, DraftedInstructionSerializer)
    for row in page.data["results"]:
        found = drafts[row["instruction"]]
        models = sorted({model for one in found for model in one.models})
        row.update(questions=len(found), models=models, approved=row["id"] in approved)
    return page


@extend_schema(methods=["GET"], operation_id="drafted_checklist", responses=DraftedChecklistSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="approve_checklist",
    parameters=[IF_MATCH],
    request=WantedOwnChecklistSerializer,
    responses=DraftedChecklistSerializer,
    examples=[OpenApiExample("Two", {"questions": ["Is it on topic?", "Does it end well?"]}, request_only=True)],
)
@api_view(["GET", "PUT"])
@needs(Scope.READ, put=Scope.CHANGE)
def drafted_checklist(request: Request, workspace: str, slug: str, instruction: str) -> Response:
    """Return the drafts for an instruction, or approve questions as its own checklist (for owners and leads)."""
    benchmark = benchmark_at(asking(request), workspace, slug)
    found = benchmark.instructions.select_related("benchmark").filter(public_id=instruction).first()
    if found is None:
        raise NotFound(_("There is no such instruction in this benchmark."))
    if request.method == "PUT":
        if not leads_workspace_of(asking(request), benchmark):
            raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
        asked = checked(WantedOwnChecklistSerializer(data=request.data))
        with transaction.atomic():
            Instruction.objects.select_for_update().get(pk=found.pk)
            check_unchanged(request, _checklist(benchmark, found))
            try:
                approve(found, asked["questions"], by=asking(request))
            except UserError as problem:
                raise Unusable(for_reader(problem)) from problem
    return Response(_checklist(benchmark, found))


def _checklist(benchmark: Benchmark, instruction: Instruction) -> dict[str, Any]:
    drafts: list[MergedQuestion] = drafted(benchmark, instruction.external_id).get(instruction.external_id, [])
    said = {
        "id": instruction.public_id,
        "instruction": instruction.external_id,
        "questions": own_checklist(instruction),
        "approved": instruction.public_id in approved_in(benchmark),
        "drafts": drafts,
    }
    return dict(DraftedChecklistSerializer(said).data)

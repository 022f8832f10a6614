"""API endpoints for the curation of a benchmark: what its rules say, decisions of people, and the tag."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, first_problem, paged
from accounts.api.repeated import KEY, once
from accounts.permissions import leads_workspace_of
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.curation.applying import MOST_INSTRUCTIONS, apply_rules, is_large, number_tagged
from generation.curation.curating import Curation, ask_difficulty, curation_of
from generation.curation.reviews import VERBS, decide, decisions_of
from generation.curation.rules.filters import Reason
from generation.library.access import benchmark_at
from generation.models import Benchmark, Instruction
from generation.web.curation.forms import LEVELS, LONGEST_LIST, CurationForm, usual_values

STAYING = "stay"
DECISIONS = list(VERBS)


class WantedRulesSerializer(serializers.Serializer[Any]):
    """What passes; what is left out is the default of the page."""

    shortest = serializers.IntegerField(required=False, help_text="Minimum words of all that the user says.")
    longest = serializers.IntegerField(required=False, help_text="Maximum words; 0 means no limit.")
    most_turns = serializers.IntegerField(required=False, help_text="Maximum messages of the user; 0 means no limit.")
    languages = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST_LIST, help_text="Codes with commas between; empty: all."
    )
    without_tags = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST_LIST, help_text="Tags to leave out, with commas between."
    )
    last_of_user = serializers.BooleanField(required=False, help_text="Only the last conversation of each user.")
    difficulty = serializers.ChoiceField(
        choices=[level for level, _name in LEVELS],
        required=False,
        help_text="Leave out what all rate below it; 0: none.",
    )
    similarity = serializers.FloatField(required=False, help_text="From which on instructions repeat others; 0: none.")
    tag = serializers.CharField(required=False, help_text="Of the instructions that stay.")


RULES = [
    OpenApiParameter("shortest", int),
    OpenApiParameter("longest", int),
    OpenApiParameter("most_turns", int),
    OpenApiParameter("languages", str),
    OpenApiParameter("without_tags", str),
    OpenApiParameter("last_of_user", bool),
    OpenApiParameter("difficulty", int),
    OpenApiParameter("similarity", float),
    OpenApiParameter("tag", str),
]


class CurationSerializer(serializers.Serializer[Any]):
    """What the rules say of a benchmark's instructions. `kept` and what follows are null for a large benchmark."""

    instructions = serializers.IntegerField()
    tag = serializers.CharField()
    tagged = serializers.IntegerField(help_text="Instructions that have the tag now.")
    rules = serializers.JSONField()
    kept = serializers.IntegerField(allow_null=True, help_text="Instructions that would stay.")
    reasons = serializers.DictField(child=serializers.IntegerField(), allow_null=True, help_text="Number by reason.")
    unstated = serializers.DictField(
        child=serializers.IntegerField(), allow_null=True, help_text="Instructions that say nothing of this."
    )


class CuratedInstructionSerializer(serializers.ModelSerializer[Instruction]):
    """An instruction, why it would go, and what a person decided."""

    id = serializers.CharField(source="public_id")
    instruction = serializers.CharField(source="external_id")
    reason = serializers.CharField(default="", help_text="Why it goes; empty where it stays.")
    what = serializers.CharField(default="", help_text="The instruction that it repeats, or what was found.")
    similarity = serializers.FloatField(default=None)
    decision = serializers.CharField(default="", help_text="keep, drop, or empty where nobody decided.")
    decision_reason = serializers.CharField(default="")
    decided_by = serializers.CharField(default="")

    class Meta:
        model = Instruction
        fields = [
            "id",
            "instruction",
            "tags",
            "reason",
            "what",
            "similarity",
            "decision",
            "decision_reason",
            "decided_by",
        ]


class WantedDecisionSerializer(serializers.Serializer[Any]):
    """What a person decides about an instruction."""

    instruction = serializers.CharField(help_text="Its id.")
    decision = serializers.ChoiceField(choices=DECISIONS, help_text="undo takes the last decision back.")
    reason = serializers.CharField(required=False, allow_blank=True, default="", help_text="Needed to drop it.")


class DecisionSerializer(serializers.Serializer[Any]):
    instruction = serializers.CharField()
    decision = serializers.CharField(help_text="keep, drop, or empty where none stands.")
    reason = serializers.CharField()
    by = serializers.CharField()


class TaggedSerializer(serializers.Serializer[Any]):
    kept = serializers.IntegerField(help_text="Instructions that have the tag now.")
    added = serializers.IntegerField()
    removed = serializers.IntegerField()


class HandedOverSerializer(serializers.Serializer[Any]):
    detail = serializers.CharField()


class QuestionsBenchmarkSerializer(serializers.Serializer[Any]):
    """The benchmark whose instructions ask models about those of another one."""

    benchmark = serializers.CharField(help_text="Its slug; start a generation run of it.")
    instructions = serializers.IntegerField()


@extend_schema(operation_id="curation", parameters=RULES, responses=CurationSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def curation(request: Request, workspace: str, slug: str) -> Response:
    """Return what the rules say of a benchmark's instructions, and change nothing."""
    benchmark = benchmark_at(asking(request), workspace, slug)
    form = _rules(request.query_params.dict())
    tag = form.cleaned_data["tag"]
    said = {
        "instructions": benchmark.instructions.count(),
        "tag": tag,
        "tagged": number_tagged(benchmark, tag),
        "rules": asdict(form.rules),
        "kept": None,
        "reasons": None,
        "unstated": None,
    }
    if not is_large(benchmark):
        found = curation_of(benchmark, form.rules)
        reasons = {reason.value: count for reason, count in found.by_reason.items()}
        said |= {"kept": len(found.staying), "reasons": reasons, "unstated": found.unstated}
    return Response(said)


@extend_schema(
    operation_id="curated_instructions",
    parameters=[
        SIZE,
        CURSOR,
        OpenApiParameter(
            "show", str, enum=[STAYING, *(reason.value for reason in Reason)], description="Default: all."
        ),
        *RULES,
    ],
    responses=CuratedInstructionSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def curated_instructions(request: Request, workspace: str, slug: str) -> Response:
    """List a benchmark's instructions with why each would go by the rules, and what people decided."""
    benchmark = benchmark_at(asking(request), workspace, slug)
    form = _rules(request.query_params.dict())
    if is_large(benchmark):
        raise Unusable(
            _("This benchmark has more than %(n)s instructions, which only a worker curates. Apply the rules instead.")
            % {"n": f"{MOST_INSTRUCTIONS:,}"}
        )
    found, shown = curation_of(benchmark, form.rules), request.query_params.get("show", "")
    if shown not in ("", STAYING, *(reason.value for reason in Reason)):
        raise Unusable(_("show: There is no such reason; leave it out for all instructions."))
    return _listed(request, found, shown)


def _listed(request: Request, found: Curation, shown: str) -> Response:
    chosen = {
        row.public_id: row for row in found.rows if shown in ("", row.leaving.reason.value if row.leaving else STAYING)
    }
    rows = Instruction.objects.filter(pk__in=[row.pk for row in chosen.values()]).defer("messages", "reference")
    page, decisions = paged(request, rows.order_by(), CuratedInstructionSerializer), decisions_of(found.benchmark)
    for one in page.data["results"]:
        leaving, decided = chosen[one["id"]].leaving, decisions.get(one["id"])
        if leaving is not None:
            one.update(reason=leaving.reason.value, what=leaving.what, similarity=leaving.similarity or None)
        if decided is not None:
            kept = "keep" if decided.keep else "drop"
            one.update(decision=kept, decision_reason=decided.reason, decided_by=decided.by)
    return page


@extend_schema(
    operation_id="decide_on_instruction",
    request=WantedDecisionSerializer,
    responses=DecisionSerializer,
    examples=[
        OpenApiExample(
            "Drop", {"instruction": "abc", "decision": "drop", "reason": "It has no text."}, request_only=True
        )
    ],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def decide_on_instruction(request: Request, workspace: str, slug: str) -> Response:
    """Decide that an instruction stays or goes whatever the rules say, or take the decision back (for owners and leads)."""
    benchmark = _led(request, workspace, slug)
    asked = checked(WantedDecisionSerializer(data=request.data))
    chosen = benchmark.instructions.select_related("benchmark").filter(public_id=asked["instruction"]).first()
    if chosen is None:
        raise NotFound(_("There is no such instruction in this benchmark."))
    try:
        decide(chosen, asked["decision"], asked["reason"], user=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    stands = decisions_of(benchmark).get(chosen.public_id)
    kept = "" if stands is None else "keep" if stands.keep else "drop"
    said = {"reason": stands.reason if stands else "", "by": stands.by if stands else ""}
    return Response({"instruction": chosen.public_id, "decision": kept, **said})


@extend_schema(
    operation_id="apply_curation",
    request=WantedRulesSerializer,
    responses={200: TaggedSerializer, 202: HandedOverSerializer},
    examples=[OpenApiExample("Short ones", {"shortest": 5, "tag": "curated"}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def apply_curation(request: Request, workspace: str, slug: str) -> Response:
    """Give the tag to the instructions that stay and take it from the others (for owners and leads).

    A worker does so for a large benchmark; then the answer is 202.
    """
    benchmark = _led(request, workspace, slug)
    form = _rules(request.data)
    try:
        tagged = apply_rules(benchmark, form.rules, form.cleaned_data["tag"], by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    if tagged is None:
        return Response(
            {"detail": _("A worker applies the rules. Read the curation again in some minutes.")}, status=202
        )
    return Response(vars(tagged))


@extend_schema(
    operation_id="ask_difficulty", parameters=[KEY], request=None, responses={201: QuestionsBenchmarkSerializer}
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def ask_about_difficulty(request: Request, workspace: str, slug: str) -> Response:
    """Make the questions that ask models how difficult each instruction is (for owners and leads).

    A generation run of the benchmark with these questions has models answer them.
    """
    return questions_of(request, benchmark_at(asking(request), workspace, slug), ask_difficulty)


def questions_of(request: Request, benchmark: Benchmark, make: Callable[..., Benchmark]) -> Response:
    """Make the benchmark of the questions about another one. Raises Unusable and PermissionDenied."""
    _check_led(request, benchmark)
    try:
        made = make(benchmark, by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response({"benchmark": made.slug, "instructions": made.instructions.count()}, status=201)


def _rules(sent: Any) -> CurationForm:
    """Return the valid form with what was sent, and the page's values for the rest. Raises Unusable."""
    asked: Mapping[str, Any] = checked(WantedRulesSerializer(data=sent))
    values = {name: ("on" if value else "") if isinstance(value, bool) else value for name, value in asked.items()}
    form = CurationForm({**usual_values(), **values})
    if not form.is_valid():
        raise Unusable(first_problem(dict(form.errors.items())))
    return form


def _led(request: Request, workspace: str, slug: str) -> Benchmark:
    benchmark = benchmark_at(asking(request), workspace, slug)
    _check_led(request, benchmark)
    return benchmark


def _check_led(request: Request, benchmark: Benchmark) -> None:
    if not leads_workspace_of(asking(request), benchmark):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))

"""A workspace's phrases by which texts count as errors, for programs."""

from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import Unusable, asking, checked, workspace_to_change, workspace_to_read
from accounts.models import Workspace
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.library.error_phrases import (
    LONGEST,
    MOST_PHRASES,
    has_own_phrases,
    phrases_in,
    restore_phrases,
    rules_of,
    set_phrases,
)


def _phrases_field(told: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=LONGEST), max_length=MOST_PHRASES, help_text=told
    )


class WantedPhrasesSerializer(serializers.Serializer[Any]):
    """Both lists, whole."""

    refusals = _phrases_field("Openings of a refusal: a response that begins with one counts as a refusal.")
    meaningless = _phrases_field("A response that has one anywhere counts as meaningless.")


class PhrasesSerializer(WantedPhrasesSerializer):
    """The phrases that hold in a workspace, in lower case."""

    own = serializers.BooleanField(help_text="Whether the workspace has its own; else they are the installation's.")


@extend_schema(methods=["GET"], operation_id="error_phrases", responses=PhrasesSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="write_error_phrases",
    parameters=[IF_MATCH],
    request=WantedPhrasesSerializer,
    responses=PhrasesSerializer,
    examples=[
        OpenApiExample(
            "Two lists", {"refusals": ["i am sorry, but"], "meaningless": ["lorem ipsum"]}, request_only=True
        )
    ],
)
@extend_schema(methods=["DELETE"], operation_id="restore_error_phrases", parameters=[IF_MATCH], responses={204: None})
@api_view(["GET", "PUT", "DELETE"])
@needs(Scope.READ, put=Scope.CHANGE, delete=Scope.CHANGE)
def error_phrases(request: Request, workspace: str) -> Response:
    """Return the phrases by which texts count as errors, write others, or restore the usual ones (for owners and leads)."""
    if request.method not in ("PUT", "DELETE"):
        return Response(_phrases(workspace_to_read(request, workspace)))
    found = workspace_to_change(request, workspace)
    given = checked(WantedPhrasesSerializer(data=request.data)) if request.method == "PUT" else {}
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=found.pk)
        check_unchanged(request, _phrases(found))
        if request.method == "DELETE":
            restore_phrases(found, by=asking(request))
            return Response(status=204)
        lists = {name: _read(name, given[name]) for name in ("refusals", "meaningless")}
        set_phrases(found, refusals=lists["refusals"], meaningless=lists["meaningless"], by=asking(request))
    return Response(_phrases(found))


def _read(name: str, phrases: list[str]) -> tuple[str, ...]:
    """Return the phrases as they are matched. Raises Unusable."""
    if any(len(one.splitlines()) > 1 for one in phrases):
        raise Unusable(f"{name}: a phrase is one line; write each line as a phrase of its own.")
    try:
        return phrases_in("\n".join(phrases), opening=name == "refusals")
    except UserError as problem:
        raise Unusable(f"{name}: {for_reader(problem)}") from problem


def _phrases(workspace: Workspace) -> dict[str, Any]:
    """Return the phrases that hold. Raises Unusable if the installation's rules cannot be read."""
    try:
        rules = rules_of(workspace)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    own = has_own_phrases(workspace)
    return {"refusals": list(rules.refusals), "meaningless": list(rules.meaningless), "own": own}

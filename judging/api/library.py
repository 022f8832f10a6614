"""REST API of what comes with the program: its library of rubrics and guidelines, and the demonstration."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, workspace_to_change
from accounts.models import Workspace
from calibration.management.commands.load_library import load_library_once
from core.errors import UserError
from core.messages.rendering import for_reader
from judging.demonstration.background import ask_for_demonstration, state_of


class LoadedLibrarySerializer(serializers.Serializer[Any]):
    """What of the library was stored, and what was there already."""

    created = serializers.IntegerField()
    completed = serializers.IntegerField()
    already_there = serializers.IntegerField()


class DemonstrationSerializer(serializers.Serializer[Any]):
    """How far the demonstration of a workspace is."""

    study = serializers.CharField(allow_null=True, help_text="Its slug; null until its ratings are made.")
    fitted = serializers.BooleanField(help_text="Whether its weights are fitted and published.")
    run = serializers.CharField(allow_null=True, help_text="Id of its judge's run.")
    judged = serializers.IntegerField()
    to_judge = serializers.IntegerField()
    under_way = serializers.BooleanField()
    complete = serializers.BooleanField()


@extend_schema(operation_id="load_library", request=None, responses=LoadedLibrarySerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def load_library(request: Request, workspace: str) -> ApiResponse:
    """Load the rubrics, guidelines and categories that come with the program (for owners and leads).

    What is there already is not loaded again.
    """
    counts = load_library_once(workspace_to_change(request, workspace), by=asking(request))
    return ApiResponse({name: getattr(counts, name) for name in ("created", "completed", "already_there")})


@extend_schema(methods=["GET"], operation_id="demonstration", responses=DemonstrationSerializer)
@extend_schema(
    methods=["POST"], operation_id="make_demonstration", request=None, responses={202: DemonstrationSerializer}
)
@api_view(["GET", "POST"])
@needs(Scope.CHANGE)
def demonstration(request: Request, workspace: str) -> ApiResponse:
    """Return how far the demonstration of a workspace is (for owners and leads), or have a worker make it (202)."""
    found = workspace_to_change(request, workspace)
    if request.method != "POST":
        return ApiResponse(_said(found))
    try:
        ask_for_demonstration(found, by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return ApiResponse(_said(found), status=202)


def _said(workspace: Workspace) -> dict[str, object]:
    state = state_of(workspace)
    return {
        "study": state.study.slug if state.study else None,
        "fitted": state.fitted,
        "run": state.run.public_id if state.run else None,
        "judged": state.judged,
        "to_judge": state.to_judge,
        "under_way": state.is_under_way,
        "complete": state.is_complete,
    }

"""API endpoints for mappings of columns that a workspace saved. An upload is read by one at uploads/ID/mapping/."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, paged, workspace_to_change
from annotation.models import SavedMapping
from annotation.uploads.reading import preview
from annotation.uploads.saved_mappings import save_mapping
from annotation.web.uploads.api import uploaded_to
from core.errors import UserError
from core.messages.rendering import for_reader


class SavedMappingSerializer(serializers.ModelSerializer[SavedMapping]):
    """What the columns of a file hold, under a name."""

    number = serializers.IntegerField(source="pk", help_text="By which an upload is read by it, and it is removed.")
    file_columns = serializers.ListField(
        child=serializers.CharField(), help_text="All columns of the files that it is for, sorted."
    )
    columns = serializers.DictField(child=serializers.CharField(), help_text="What each column that is read holds.")
    options = serializers.DictField(child=serializers.CharField())
    by = serializers.CharField(source="created_by.username", default=None)

    class Meta:
        model = SavedMapping
        fields = ["number", "name", "kind", "file_columns", "columns", "options", "by", "created_at"]


class WantedSavedMappingSerializer(serializers.Serializer[Any]):
    """The mapping of an uploaded table, to be saved."""

    upload = serializers.CharField(max_length=32, help_text="The id of the upload.")
    name = serializers.CharField(max_length=100, help_text="A mapping that has this name is replaced.")


@extend_schema(
    methods=["GET"],
    operation_id="saved_mappings",
    parameters=[SIZE, CURSOR],
    responses=SavedMappingSerializer(many=True),
)
@extend_schema(
    methods=["POST"],
    operation_id="save_mapping",
    request=WantedSavedMappingSerializer,
    responses={201: SavedMappingSerializer},
    examples=[OpenApiExample("Exports of our tool", {"upload": "Zm9v", "name": "Our marks"}, request_only=True)],
)
@api_view(["GET", "POST"])
@needs(Scope.CHANGE)
def saved_mappings(request: Request, workspace: str) -> Response:
    """List the saved mappings of a workspace (for owners and leads), or save how an uploaded table is read.

    The next file with the same columns is read by it.
    """
    found = workspace_to_change(request, workspace)
    if request.method == "GET":
        rows = SavedMapping.objects.filter(workspace=found).select_related("created_by")
        return paged(request, rows.order_by(), SavedMappingSerializer)
    asked = checked(WantedSavedMappingSerializer(data=request.data))
    upload = uploaded_to(found, asked["upload"])
    shown = preview(upload).first
    try:
        saved = save_mapping(upload, asked["name"], shown.columns if shown else [], by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response(SavedMappingSerializer(saved).data, status=201)


@extend_schema(operation_id="remove_mapping", responses={204: None})
@api_view(["DELETE"])
@needs(Scope.CHANGE)
def remove_mapping(request: Request, workspace: str, pk: int) -> Response:
    """Remove a saved mapping (for owners and leads); files that were read by it stay as they are."""
    removed, _by_model = SavedMapping.objects.filter(workspace=workspace_to_change(request, workspace), pk=pk).delete()
    if not removed:
        raise NotFound(_("There is no such mapping in this workspace."))
    return Response(status=204)

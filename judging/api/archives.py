"""API endpoints for archives of studies: upload with a check, loading with its progress, and removal.

They take the same steps as the pages, by the same functions, and refuse in the same sentences. Undo is that of every import.
"""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, workspace_to_change
from accounts.models import Workspace
from accounts.permissions import workspaces_led_by
from annotation.uploads.remedies import on_page
from annotation.uploads.study_archives import ENDINGS, StudyArchive, begin_loading, keep_archive, known_archive
from annotation.web.uploads.api import sent_file
from core.errors import UserError
from core.messages.message import from_value
from core.messages.rendering import for_reader

NAME = OpenApiParameter("name", str, required=True, description="The file's name, which ends in .zip.")


class StudyArchiveSerializer(serializers.Serializer[Any]):
    """An uploaded archive of a study, and how far its check or its loading is."""

    id = serializers.CharField()
    workspace = serializers.CharField()
    file = serializers.CharField()
    state = serializers.ChoiceField(choices=["checking", "checked", "loading", "loaded", "refused"])
    study = serializers.CharField(help_text="Slug of the study; empty until the archive has been checked.")
    rows = serializers.DictField(
        child=serializers.IntegerField(), help_text="Rows by table that loading would store, or has stored."
    )
    done = serializers.IntegerField(help_text="Rows that were checked or stored so far.")
    total = serializers.IntegerField(help_text="Rows in all; 0 until a worker has begun.")
    problem = serializers.CharField(help_text="Why the archive cannot be loaded, or empty.")
    imported = serializers.IntegerField(allow_null=True, help_text="The import, by which it can be undone.")


@extend_schema(
    parameters=[NAME],
    request={"application/octet-stream": OpenApiTypes.BINARY},
    responses={201: StudyArchiveSerializer},
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def upload_archive(request: Request, workspace: str) -> Response:
    """Upload an archive of a study, whose bytes are the body; a worker says what loading would store."""
    found = workspace_to_change(request, workspace)
    sent = sent_file(request, ENDINGS)
    try:
        upload = keep_archive(workspace=found, user=asking(request), sent=sent, clock=timezone.now)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response(_said(upload), status=201)


@extend_schema(responses=StudyArchiveSerializer)
@api_view(["GET"])
@needs(Scope.CHANGE)
def uploaded_archive(request: Request, public_id: str) -> Response:
    """Return how far the check or the loading of an archive is, and what came of it."""
    return Response(_said(_found(request, public_id)))


@extend_schema(request=None, responses=StudyArchiveSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def load_archive(request: Request, public_id: str) -> Response:
    """Ask a worker to load an archive that has been checked: all of it or nothing."""
    try:
        return Response(_said(begin_loading(_found(request, public_id))))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem


@extend_schema(request=None, responses={204: None})
@api_view(["POST"])
@needs(Scope.CHANGE)
def discard_archive(request: Request, public_id: str) -> Response:
    """Remove an uploaded archive that no worker reads; what was loaded from it stays."""
    upload = _found(request, public_id)
    if upload.is_at_work:
        raise Unusable(_("A worker is reading this file. Wait until it is done."))
    upload.discard()
    return Response(status=204)


def _found(request: Request, public_id: str) -> StudyArchive:
    found = known_archive(public_id)
    if found is None or not workspaces_led_by(asking(request)).filter(pk=found.workspace).exists():
        raise NotFound(_("There is no such upload."))
    return found


def _said(upload: StudyArchive) -> dict[str, object]:
    """Return the fields of StudyArchiveSerializer."""
    return {
        "id": upload.public_id,
        "workspace": Workspace.objects.values_list("slug", flat=True).get(pk=upload.workspace),
        **{name: getattr(upload, name) for name in ("file", "state", "study", "rows", "done", "total", "imported")},
        "problem": on_page(from_value(upload.problem)),
    }

"""REST API of benchmarks' own files, uploaded as an archive, which a worker loads. Undo is that of every import."""

from contextlib import nullcontext
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, checked, workspace_to_change
from accounts.models import Workspace
from accounts.permissions import workspaces_led_by
from annotation.web.uploads.api import BadRowSerializer, no_upload, sent_file, uploaded_to
from annotation.web.uploads.machine import bad_rows_shown, problem_shown
from core.errors import UserError
from core.messages.rendering import for_reader
from core.uploads.kept_files import Sent
from judging.importing.archives import ENDINGS
from judging.importing.registry import BENCHMARKS
from judging.importing.uploads import Upload, keep_upload, known_upload

TASKS = (
    "Only where the benchmark publishes its tasks apart from its results: the id of their file, which was sent to uploads/ "
    "before. It is removed there once the archive is taken."
)


class WantedLoadingSerializer(serializers.Serializer[Any]):
    """What is uploaded, in the address, because the body is the archive."""

    name = serializers.CharField(max_length=300, help_text="The file's name: " + ", ".join(ENDINGS) + ".")
    benchmark = serializers.ChoiceField(choices=list(BENCHMARKS), help_text="Whose files the archive holds.")
    leave_out_bad_rows = serializers.BooleanField(
        default=False, help_text="Also unreadable files; otherwise loading stops at the first."
    )
    tasks = serializers.CharField(max_length=32, default="", allow_blank=True, help_text=TASKS)


class BenchmarkFilesSerializer(serializers.Serializer[Any]):
    """An uploaded archive of a benchmark's own files, and how far its loading is."""

    id = serializers.CharField()
    workspace = serializers.CharField()
    file = serializers.CharField()
    benchmark = serializers.CharField()
    tasks = serializers.CharField(help_text="Name of the file of tasks, or empty.", allow_blank=True)
    state = serializers.ChoiceField(choices=["waiting", "loading", "loaded", "refused"])
    part = serializers.CharField(help_text="The file that is being read, or empty.", allow_blank=True)
    done = serializers.IntegerField(help_text="Bytes that were read so far.")
    total = serializers.IntegerField()
    result = serializers.DictField(help_text="Counts by kind of record, and what was absent, unknown or differs.")
    problem = serializers.CharField(help_text="Why loading stopped, or empty.", allow_blank=True)
    bad = serializers.IntegerField(help_text="Number of bad rows.")
    first_bad_rows = BadRowSerializer(many=True)
    imported = serializers.IntegerField(allow_null=True, help_text="The import, by which it can be undone.")


@extend_schema(
    operation_id="upload_benchmark_files",
    parameters=[
        OpenApiParameter("name", str, required=True, description="The file's name: " + ", ".join(ENDINGS) + "."),
        OpenApiParameter("benchmark", str, required=True, enum=list(BENCHMARKS), description="Whose files it holds."),
        OpenApiParameter(
            "leave_out_bad_rows", bool, description="Also unreadable files; otherwise loading stops at the first."
        ),
        OpenApiParameter("tasks", str, description=TASKS),
    ],
    request={"application/octet-stream": OpenApiTypes.BINARY},
    responses={201: BenchmarkFilesSerializer},
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def upload_benchmark_files(request: Request, workspace: str) -> Response:
    """Upload an archive of a benchmark's own files, whose bytes are the body (for owners and leads); a worker loads it."""
    found = workspace_to_change(request, workspace)
    asked = checked(WantedLoadingSerializer(data=request.query_params))
    archive = sent_file(request, ENDINGS)
    tasks = uploaded_to(found, asked["tasks"]) if asked["tasks"] else None
    try:
        with tasks.path.open("rb") if tasks else nullcontext() as file:
            upload = keep_upload(
                workspace=found,
                user=asking(request),
                benchmark=asked["benchmark"],
                archive=archive,
                tasks=Sent(file=file, name=tasks.file) if tasks and file else None,
                skip=asked["leave_out_bad_rows"],
            )
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    except FileNotFoundError as problem:  # discarded by somebody else in this moment
        raise no_upload(asked["tasks"]) from problem
    if tasks:
        tasks.discard()
    return Response(_said(upload), status=201)


@extend_schema(operation_id="uploaded_benchmark_files", responses=BenchmarkFilesSerializer)
@api_view(["GET"])
@needs(Scope.CHANGE)
def uploaded_benchmark_files(request: Request, public_id: str) -> Response:
    """Return how far the loading of an archive is, and what came of it."""
    found = known_upload(public_id)
    if found is None or not workspaces_led_by(asking(request)).filter(pk=found.workspace).exists():
        raise NotFound(_("There is no such upload."))
    return Response(_said(found))


def _said(upload: Upload) -> dict[str, object]:
    """Return the fields of BenchmarkFilesSerializer."""
    names = ("file", "benchmark", "tasks", "state", "part", "done", "total", "result", "bad", "imported")
    rows = [{"line": line, "reason": why, "remedy": remedy} for _file, line, why, remedy in bad_rows_shown(upload)]
    return {
        "id": upload.public_id,
        "workspace": Workspace.objects.values_list("slug", flat=True).get(pk=upload.workspace),
        **{name: getattr(upload, name) for name in names},
        "problem": problem_shown(upload),
        "first_bad_rows": rows,
    }

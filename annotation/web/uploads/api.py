"""API endpoints for uploaded tables: upload, recognition, mapping, check, loading with its progress, and undo.

They take the same steps as the pages, by the same functions, and refuse in the same sentences.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import IO, Any, cast

from django.conf import settings
from django.http import HttpResponse
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
from accounts.api.lists import Unusable, asking, checked, workspace_to_change
from accounts.models import Workspace
from accounts.permissions import workspaces_led_by
from annotation.importing.undo import dependents_in_words, plan_undo, undo_import as undo
from annotation.uploads.asked import (
    DUPLICATES,
    OPTIONS,
    begin_check,
    begin_loading,
    described,
    described_format,
    in_format,
)
from annotation.uploads.format_requests import request_of
from annotation.uploads.kept_files import ENDINGS, NEW, TableUpload, keep_table, known_table
from annotation.uploads.kinds import CRITERION, KINDS
from annotation.uploads.loading import ENCODINGS, SEPARATORS
from annotation.uploads.reading import preview, recognise, recognise_table
from annotation.uploads.remedies import on_page
from annotation.uploads.saved_mappings import mappings_for, with_mapping
from annotation.web.uploads.machine import bad_rows_shown, bad_rows_table
from core.errors import UserError
from core.messages.message import from_value
from core.messages.rendering import for_reader
from core.uploads.kept_files import Sent
from generation.importers.formats.registry import FORMATS
from generation.models import Import

BAD_ROWS_SHOWN = 100
FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")
NAME = OpenApiParameter(
    "name", str, required=True, description=f"The file's name, with one of the endings {', '.join(ENDINGS)}."
)


class BadRowSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField()
    reason = serializers.CharField()
    remedy = serializers.CharField()


class TableUploadSerializer(serializers.Serializer[Any]):
    """An uploaded table: how it is read and how far it is."""

    id = serializers.CharField()
    workspace = serializers.CharField()
    file = serializers.CharField()
    sha256 = serializers.CharField()
    format = serializers.CharField(
        help_text="The format of another tool in which the file is written; empty for a table."
    )
    recognised_by = serializers.CharField(help_text="What the format was recognised by, or empty.")
    state = serializers.ChoiceField(choices=["new", "checking", "checked", "loading", "loaded", "refused"])
    kind = serializers.CharField(help_text=f"What the table holds: {', '.join(KINDS)}; empty if it is not recognised.")
    columns = serializers.DictField(child=serializers.CharField(), help_text="What each column that is read holds.")
    mapping = serializers.CharField(help_text="Name of the saved mapping by which the columns are read, or empty.")
    into = serializers.CharField(help_text="Slug of the study or benchmark into which the table is loaded.")
    options = serializers.DictField(child=serializers.CharField())
    encoding = serializers.CharField()
    separator = serializers.CharField()
    file_columns = serializers.ListField(child=serializers.CharField())
    first_rows = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    rows = serializers.IntegerField(help_text="Rows that were read so far.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="What was, or would be, stored.")
    problem = serializers.CharField(help_text="Why the table cannot be read or loaded, or empty.")
    remarks = serializers.ListField(
        child=serializers.CharField(), help_text="What the last check or load says of the values."
    )
    bad = serializers.IntegerField(help_text="Number of bad rows.")
    first_bad_rows = BadRowSerializer(many=True, help_text=f"The first {BAD_ROWS_SHOWN} of them.")
    imported = serializers.IntegerField(allow_null=True, help_text="The import, by which it can be undone.")


class MappingSerializer(serializers.Serializer[Any]):
    """How a table is read; what is left out stays as it is."""

    format = serializers.ChoiceField(
        choices=["", *FORMATS], required=False, help_text="The format of another tool, or empty for a table."
    )
    mapping = serializers.IntegerField(
        required=False,
        min_value=1,
        help_text="Number of a saved mapping for files with these columns; it says kind, columns and options; anything "
        "else that is sent takes precedence over it.",
    )
    kind = serializers.ChoiceField(choices=list(KINDS), required=False)
    columns = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        help_text=f"Names of columns with what they hold; {CRITERION} for a column of ratings that is a criterion.",
    )
    into = serializers.CharField(max_length=100, required=False, allow_blank=True)
    options = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        required=False,
        help_text=f"Any of {', '.join(OPTIONS)}; duplicates is one of {', '.join(DUPLICATES)}.",
    )
    encoding = serializers.ChoiceField(choices=["", *ENCODINGS], required=False)
    separator = serializers.ChoiceField(choices=["", *SEPARATORS], required=False)


class LoadingSerializer(serializers.Serializer[Any]):
    leave_out_bad_rows = serializers.BooleanField(required=False, default=False)


class UndoneSerializer(serializers.Serializer[Any]):
    removed = serializers.DictField(child=serializers.IntegerField(), help_text="Number of rows by kind.")


class UndoPlanSerializer(UndoneSerializer):
    kept = serializers.DictField(child=serializers.IntegerField(), help_text="Rows that stay: something uses them.")
    restored = serializers.DictField(child=serializers.IntegerField(), help_text="Rows that lose what was added.")
    stays = serializers.CharField(help_text="Why it cannot be undone any more, or empty.", allow_blank=True)


def sent_file(request: Request, endings: tuple[str, ...]) -> Sent:
    """Return the body as a file.

    Raises Unusable for another ending of its name, and for more than the installation takes (413).
    """
    name = request.query_params.get("name", "")
    if not name.lower().endswith(endings):
        raise Unusable(
            _("Say in name what the file is called; it must end in %(endings)s.") % {"endings": ", ".join(endings)}
        )
    if (request.content_type or "").partition(";")[0].strip() in FORMS:
        raise Unusable(_("Send the file itself as the body, with the content type application/octet-stream."))
    if int(request.META.get("CONTENT_LENGTH") or 0) > settings.UPLOAD_MOST:
        most = f"{settings.UPLOAD_MOST / 1024 / 1024:g}"
        raise Unusable(
            _("The file is larger than %(n)s MB, the most that this installation takes.") % {"n": most}, status=413
        )
    return Sent(file=cast("IO[bytes]", request._request), name=name)


@extend_schema(
    parameters=[NAME], request={"application/octet-stream": OpenApiTypes.BINARY}, responses={201: TableUploadSerializer}
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def upload_file(request: Request, workspace: str) -> Response:
    """Upload a table, whose bytes are the body, and return what its columns probably hold. Nothing is stored yet."""
    user = asking(request)
    found = workspace_to_change(request, workspace)
    sent = sent_file(request, ENDINGS)
    try:
        upload = keep_table(workspace=found, user=user, sent=sent, clock=timezone.now)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response(_said(recognise(upload)), status=201)


@extend_schema(responses=TableUploadSerializer)
@api_view(["GET"])
@needs(Scope.CHANGE)
def uploaded_file(request: Request, public_id: str) -> Response:
    """Return how an uploaded table is read, how far a check or its loading is, and what came of it."""
    return Response(_said(_found(request, public_id)))


@extend_schema(operation_id="bad_rows", responses={(200, "text/csv"): OpenApiTypes.BINARY})
@api_view(["GET"])
@needs(Scope.CHANGE)
def bad_rows(request: Request, public_id: str) -> HttpResponse:
    """Return all bad rows of the last check or load as CSV: file, line, reason and remedy."""
    return bad_rows_table(_found(request, public_id))


@extend_schema(request=MappingSerializer, responses=TableUploadSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def map_file(request: Request, public_id: str) -> Response:
    """Say what the columns of an uploaded table hold, how the file is read and into what it is loaded."""
    upload = _found(request, public_id)
    if upload.is_at_work or upload.is_over:
        raise Unusable(_("A worker is reading this file, or it has been loaded. Nothing has changed."))
    given = checked(MappingSerializer(data=request.data))
    if given.get("format", upload.format) or upload.format:
        return Response(_said(_mapped_format(upload, given)))
    read = replace(upload, **{name: given[name] for name in ("encoding", "separator") if name in given})
    shown = preview(read).first
    for column in given.get("columns", {}):
        if shown is not None and column not in shown.columns:
            raise Unusable(_("The file has no column %(column)s.") % {"column": repr(column)})
    before = _by_saved_mapping(read, given["mapping"], shown.columns if shown else []) if "mapping" in given else read
    try:
        changed = described(
            before,
            kind=given.get("kind", before.kind) or "ratings",
            columns=given.get("columns", before.columns),
            into=given.get("into", before.into),
            options=given.get("options", before.options),
            encoding=before.encoding,
            separator=before.separator,
        )
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    if (changed.kind, changed.columns, changed.options) != (before.kind, before.columns, before.options):
        changed = replace(changed, mapping="")
    changed = replace(changed, problem="", counts={}, bad=0, bad_rows=[], state=NEW)
    changed.save()
    reread = (changed.encoding, changed.separator) != (upload.encoding, upload.separator)
    said_itself = "columns" in given or "mapping" in given
    return Response(_said(recognise(changed) if reread and not said_itself else changed))


def _by_saved_mapping(upload: TableUpload, number: int, columns: list[str]) -> TableUpload:
    """Return the upload as the saved mapping says. Raises Unusable if it is none for files with these columns."""
    found = next((one for one in mappings_for(upload.workspace, columns) if one.pk == number), None)
    if found is None:
        raise Unusable(_("This mapping is not for files with these columns, or it has been removed."))
    return with_mapping(upload, found)


def _mapped_format(upload: TableUpload, given: Mapping[str, Any]) -> TableUpload:
    """Store what is said of a file in another tool's format, or that it is a table after all."""
    if "mapping" in given:
        raise Unusable(_("A saved mapping is for tables. Send an empty format first, so that the file is read as one."))
    try:
        name = given.get("format", upload.format)
        changed = in_format(upload, name) if name != upload.format else upload
        if not name:
            return recognise_table(changed)
        into, options = given.get("into", changed.into), given.get("options", changed.options)
        changed = described_format(changed, into=into, options=options)
        request_of(changed, changed.path)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    changed.save()
    return changed


@extend_schema(request=None, responses=TableUploadSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def check_file(request: Request, public_id: str) -> Response:
    """Ask a worker what loading would store, and which rows are bad. Nothing is stored."""
    try:
        return Response(_said(begin_check(_found(request, public_id))))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem


@extend_schema(request=LoadingSerializer, responses=TableUploadSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def load_file(request: Request, public_id: str) -> Response:
    """Ask a worker to load the table: all of it or nothing, or with leave_out_bad_rows what is not bad."""
    upload = _found(request, public_id)
    given = checked(LoadingSerializer(data=request.data))
    try:
        if not upload.format:
            upload = described(
                upload,
                kind=upload.kind,
                columns=upload.columns,
                into=upload.into,
                options=upload.options,
                encoding=upload.encoding,
                separator=upload.separator,
            )
        return Response(_said(begin_loading(replace(upload, skip=given["leave_out_bad_rows"]))))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem


@extend_schema(request=None, responses={204: None})
@api_view(["POST"])
@needs(Scope.CHANGE)
def discard_file(request: Request, public_id: str) -> Response:
    """Remove an uploaded file that no worker reads; what was loaded from it stays."""
    upload = _found(request, public_id)
    if upload.is_at_work:
        raise Unusable(_("A worker is reading this file. Wait until it is done."))
    upload.discard()
    return Response(status=204)


@extend_schema(methods=["GET"], operation_id="what_undo_removes", responses=UndoPlanSerializer)
@extend_schema(methods=["POST"], operation_id="undo_loading", request=None, responses=UndoneSerializer)
@api_view(["GET", "POST"])
@needs(Scope.CHANGE)
def undo_loading(request: Request, pk: int) -> Response:
    """Undo an import, all or nothing; 400 with what depends on it where it cannot be undone any more.

    GET says what that would do.
    """
    found = Import.objects.filter(pk=pk, workspace__in=workspaces_led_by(asking(request))).first()
    if found is None:
        raise NotFound(_("There is no such import."))
    if request.method != "POST":
        planned = plan_undo(found)
        lists = {name: getattr(planned, name) for name in ("removed", "kept", "restored")}
        return Response({**lists, "stays": dependents_in_words(planned) if planned.dependents else ""})
    if found.undone_at is None and (plan := plan_undo(found)).dependents:
        raise Unusable(dependents_in_words(plan))
    try:
        return Response({"removed": undo(found, by=asking(request), clock=timezone.now).removed})
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem


def uploaded_to(workspace: Workspace, public_id: str) -> TableUpload:
    """Return a file that was uploaded to the workspace. Raises Unusable where it has none that can still be read."""
    found = known_table(public_id)
    if found is None or found.workspace != workspace.pk or found.is_over:
        raise no_upload(public_id)
    if found.is_at_work:
        raise Unusable(_("A worker is reading this file. Wait until it is done."))
    return found


def no_upload(public_id: str) -> Unusable:
    """The refusal of an id of which the workspace has no uploaded file."""
    text = _("This workspace has no uploaded file %(id)s. Send it to uploads/ first, and name its id.")
    return Unusable(text % {"id": repr(public_id)})


def _found(request: Request, public_id: str) -> TableUpload:
    found = known_table(public_id)
    if found is None or not workspaces_led_by(asking(request)).filter(pk=found.workspace).exists():
        raise NotFound(_("There is no such upload."))
    return found


def _said(upload: TableUpload) -> dict[str, Any]:
    """Return the fields of TableUploadSerializer."""
    names = (
        "file",
        "sha256",
        "format",
        "state",
        "kind",
        "columns",
        "mapping",
        "into",
        "options",
        "encoding",
        "separator",
    )
    shown = None if upload.is_at_work or upload.is_over or upload.format else preview(upload)
    unreadable = on_page(str(shown.problem)) if shown and shown.problem else ""
    first = shown.first if shown else None
    return {
        "id": upload.public_id,
        "workspace": Workspace.objects.values_list("slug", flat=True).get(pk=upload.workspace),
        **{name: getattr(upload, name) for name in names},
        "recognised_by": for_reader(from_value(upload.recognised_by)),
        "file_columns": first.columns if first else [],
        "first_rows": first.rows if first else [],
        "rows": upload.rows,
        "counts": upload.counts,
        "problem": on_page(from_value(upload.problem)) or unreadable,
        "remarks": [on_page(from_value(remark)) for remark in upload.remarks],
        "bad": upload.bad,
        "first_bad_rows": _first_bad_rows(upload) if upload.bad else [],
        "imported": upload.imported,
    }


def _first_bad_rows(upload: TableUpload) -> list[dict[str, Any]]:
    rows = bad_rows_shown(upload)[:BAD_ROWS_SHOWN]
    return [{"line": line, "reason": reason, "remedy": remedy} for _file, line, reason, remedy in rows]

"""Pages on which a lead uploads a table, says what its columns hold, checks it and loads it."""

from dataclasses import replace
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by
from annotation.models import MailedInvitation, SavedMapping, Study
from annotation.uploads.asked import (
    DUPLICATES,
    OPTIONS,
    begin_check,
    begin_loading,
    described,
    described_format,
    in_format,
)
from annotation.uploads.fixes import fixes_for
from annotation.uploads.format_requests import holds_answers
from annotation.uploads.kept_files import CHECKED, CHECKING, ENDINGS, NEW, TableUpload, keep_table, known_table
from annotation.uploads.kinds import CRITERION, KINDS, NEEDS_BENCHMARK, NEEDS_STUDY
from annotation.uploads.loading import ENCODINGS, SEPARATORS, guessed_encoding
from annotation.uploads.reading import preview, recognise, recognise_table
from annotation.uploads.recognition import recognised_columns
from annotation.uploads.remedies import on_page
from annotation.uploads.saved_mappings import mappings_for, save_mapping, with_mapping
from annotation.uploads.study_archives import ENDINGS as ARCHIVE_ENDINGS, is_archive, keep_archive
from annotation.web.uploads.machine import (
    Result,
    UploadForm,
    bad_rows_file,
    bad_rows_shown,
    found_upload,
    leads,
    problem_shown,
    state_part,
    take_file,
)
from core.db.created_rows import ids_in
from core.errors import UserError
from core.messages.message import Message, from_value
from core.messages.rendering import for_reader
from core.tables.messages import BAD_ROW
from core.uploads.kept_files import LOADED, Sent
from core.web.uploaded_files import takes_files
from generation.importers.formats.registry import FORMATS, format_named
from generation.models import Import

COUNTS = {
    "created": gettext_lazy("Created"),
    "completed": gettext_lazy("Completed"),
    "already_there": gettext_lazy("Already there"),
    "skipped": gettext_lazy("Left out"),
    "unscored": gettext_lazy("Unusable answers"),
    "empty": gettext_lazy("Empty"),
}
DUPLICATE_WORDS = {
    "refuse": gettext_lazy("refuse them as bad rows"),
    "repeat": gettext_lazy("keep them as repeated answers"),
    "drop": gettext_lazy("keep the first of them"),
}
ENCODING_WORDS = {"": "UTF-8", "utf-16": "UTF-16", "gb18030": "GB 18030 (GBK)", "cp1252": "Windows-1252"}
SEPARATOR_WORDS = {
    "": gettext_lazy("by the ending of the file's name"),
    "semicolon": gettext_lazy("semicolons"),
    "tab": gettext_lazy("tabs"),
    "bar": gettext_lazy("vertical bars"),
}
assert set(DUPLICATE_WORDS) == set(DUPLICATES) and set(ENCODING_WORDS) == {"", *ENCODINGS}
assert set(SEPARATOR_WORDS) == {"", *SEPARATORS}


class TableForm(UploadForm):
    """A table, and the workspace into which it goes."""

    FILE, ENDINGS = "table", (*ENDINGS, *ARCHIVE_ENDINGS)
    WRONG = gettext_lazy("Choose a file whose name ends in .csv, .tsv, .jsonl, .json, .parquet, .xlsx, .eval or .gz.")

    table = forms.FileField(
        allow_empty_file=True,  # which its reader says, as it says all else of a file
        label=gettext_lazy("File"),
        help_text=gettext_lazy(
            "Choose a file or drop it here: CSV, TSV, JSON, JSON Lines (also .gz), Parquet, .xlsx or .eval."
        ),
        widget=forms.ClearableFileInput(attrs={"accept": ",".join((*ENDINGS, *ARCHIVE_ENDINGS))}),
    )


@takes_files(leads)
@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def upload_table(request: HttpRequest) -> HttpResponse:
    """Take a table, and recognise what it holds."""
    saved = SavedMapping.objects.filter(workspace__in=workspaces_led_by(cast(User, request.user)))
    context = {"saved_mappings": saved.select_related("workspace")}
    return take_file(request, TableForm, _keep, "annotation/upload_table.html", context)


def _keep(user: User, sent: dict[str, Any]) -> str:
    """Keep a table; an archive of a study is checked on the page for those. Raises UserError for another .zip."""
    file: Sent = sent["table"]
    if is_archive(file):
        archive = keep_archive(workspace=sent["workspace"], user=user, sent=file, clock=timezone.now)
        return reverse("judging:study_archive", args=[archive.public_id])
    if (file.name or "").lower().endswith(ARCHIVE_ENDINGS):
        raise UserError(
            _(
                "This .zip is no archive of a study. Upload the files of a benchmark on its own page, and a table as a "
                "file of its own."
            )
        )
    upload = keep_table(workspace=sent["workspace"], user=user, sent=sent["table"], clock=timezone.now)
    recognise(upload)
    return reverse("annotation:table", args=[upload.public_id])


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def table(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show what is known of an uploaded table, and take what the lead says of it and wants done."""
    upload, problem, status = found_upload(request, TableUpload, public_id), "", 200
    if request.method == "POST":
        do = request.POST.get("do", "")
        if do == "discard":
            upload.discard()
            messages.success(request, _("The file has been removed."))
            return redirect("annotation:imports")
        try:
            upload = _act(upload, request.POST, do)
            if do == "keep":
                _keep_mapping(request, upload)
        except UserError as refusal:
            problem, status = for_reader(refusal), 422
        else:
            return redirect("annotation:table", upload.public_id)
    return render(request, "annotation/table.html", _context(upload, problem), status=status)


def _act(upload: TableUpload, sent: QueryDict, do: str) -> TableUpload:
    """Store what the form says, and begin what its button asks for. Raises UserError."""
    if upload.is_at_work or upload.is_over:
        raise UserError(_("A worker is reading this file, or it has been loaded. Nothing has changed."))
    if fix := sent.get("fix"):
        return _fixed(upload, fix)
    if (asked := sent.get("format", upload.format)) != upload.format:
        changed = in_format(upload, asked)
        changed.save()
        return changed if asked else recognise_table(changed)
    if upload.format:
        return _act_on_format(upload, sent, do)
    kind = sent.get("kind", upload.kind)
    shown = preview(upload).first
    names = shown.columns if shown else []
    if do == "use":
        return _with_asked_mapping(upload, sent.get("mapping", ""), names)
    columns = {name: sent.get(f"column-{place}", "") for place, name in enumerate(names)}
    if kind != upload.kind and kind in KINDS and shown:
        chosen = {column: name for column, name in columns.items() if KINDS[kind].field(name) is not None}
        columns = recognised_columns(KINDS[kind], shown) | chosen
    encoding, separator = sent.get("encoding", upload.encoding), sent.get("separator", upload.separator)
    what, _colon, way = sent.get("read_as", "").partition(":")
    encoding, separator = (way, separator) if what == "encoding" else (encoding, separator)
    encoding, separator = (encoding, way) if what == "separator" else (encoding, separator)
    reread = (encoding, separator) != (upload.encoding, upload.separator)
    if do in ("load", "load_without") and upload.columns and not names:
        columns = upload.columns
    changed = described(
        upload,
        kind=kind or "ratings",
        columns=columns,
        into=sent.get("into", upload.into),
        options={name: sent.get(name, "") for name in OPTIONS},
        encoding=encoding,
        separator=separator,
        skip=do == "load_without",
    )
    changed = replace(changed, problem="", counts={}, bad=0, bad_rows=[], state=NEW)
    if (changed.kind, changed.columns, changed.options) != (upload.kind, upload.columns, upload.options):
        changed = replace(changed, mapping="")
    changed.save()
    if reread:
        return recognise(changed)
    if do == "check":
        return begin_check(changed)
    if do in ("load", "load_without"):
        return begin_loading(changed)
    return changed


def _act_on_format(upload: TableUpload, sent: QueryDict, do: str) -> TableUpload:
    """Store what the form says of a file in another tool's format, and begin what its button asks for. Raises UserError."""
    options = {name: sent.get(name, "") for name in OPTIONS}
    changed = described_format(upload, into=sent.get("into", upload.into), options=options, skip=do == "load_without")
    changed = replace(changed, problem="", counts={}, bad=0, bad_rows=[], state=NEW)
    changed.save()
    if do == "check":
        return begin_check(changed)
    return begin_loading(changed) if do in ("load", "load_without") else changed


def _fixed(upload: TableUpload, asked: str) -> TableUpload:
    """Set the option that the program offers to set, and check again. Raises UserError."""
    fix = next((one for one in fixes_for(upload) if f"{one.option}:{one.value}" == asked), None)
    if fix is None:
        raise UserError(_("This is not offered any more. Check the file again."))
    changed = replace(upload, options={**upload.options, fix.option: fix.value}, mapping="", state=NEW)
    changed.save()
    return begin_check(changed)


def _keep_mapping(request: HttpRequest, upload: TableUpload) -> None:
    """Save the mapping under the name that the form gives. Raises UserError."""
    shown = preview(upload).first
    name = request.POST.get("mapping_name", "")
    saved = save_mapping(upload, name, shown.columns if shown else [], by=cast(User, request.user))
    messages.success(
        request, _("The mapping %(name)s is used for the next file with these columns.") % {"name": saved.name}
    )


def _with_asked_mapping(upload: TableUpload, asked: str, columns: list[str]) -> TableUpload:
    """Read the upload as one of the mappings of such files says. Raises UserError."""
    found = [one for one in mappings_for(upload.workspace, columns) if str(one.pk) == asked]
    if not found:
        raise UserError(_("This mapping is not for files with these columns, or it has been removed."))
    changed = with_mapping(upload, found[0])
    changed.save()
    return changed


@results_page
@require_POST
def remove_mapping(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a saved mapping; files that were read with it stay as they are."""
    led = workspaces_led_by(cast(User, request.user))
    mapping = get_object_or_404(SavedMapping, pk=pk, workspace__in=led)
    mapping.delete()
    messages.success(request, _("The mapping %(name)s has been removed.") % {"name": mapping.name})
    upload = known_table(request.POST.get("upload", ""))
    if upload is not None and led.filter(pk=upload.workspace).exists():
        return redirect("annotation:table", upload.public_id)
    return redirect("annotation:upload_table")


@results_page
@never_cache
@require_safe
def table_state(request: HttpRequest, public_id: str) -> HttpResponse:
    """The part of the page that changes."""
    upload = found_upload(request, TableUpload, public_id)
    return state_part(request, upload, "annotation/table.html", _context(upload, ""))


@results_page
@never_cache
@require_safe
def bad_rows(request: HttpRequest, public_id: str) -> HttpResponse:
    """The bad rows of the last check or load, as a CSV file."""
    return bad_rows_file(found_upload(request, TableUpload, public_id))


def _result(upload: TableUpload, problem: str) -> Result:
    """What the page says of the last check or load."""
    shown = number_format(upload.rows, force_grouping=True)
    working = (
        ngettext(
            "The file is being checked: %(shown)s row so far. You can leave this page.",
            "The file is being checked: %(shown)s rows so far. You can leave this page.",
            upload.rows,
        )
        if upload.state == CHECKING
        else ngettext(
            "The file is being loaded: %(shown)s row so far. You can leave this page.",
            "The file is being loaded: %(shown)s rows so far. You can leave this page.",
            upload.rows,
        )
    )
    notes = {
        CHECKED: _("This is what loading would store. Nothing has been stored yet."),
        LOADED: _("The file has been loaded.") if upload.imported else _("Nothing has changed."),
    }
    return Result(
        state_url=reverse("annotation:table_state", args=[upload.public_id]),
        working=working % {"shown": shown},
        problem=problem or problem_shown(upload),
        note=notes.get(upload.state, ""),
        counts=[(COUNTS[name], [n]) for name, n in upload.counts.items() if name in COUNTS],
        bad=upload.bad,
        bad_rows=bad_rows_shown(upload),
        remarks=[on_page(from_value(remark)) for remark in upload.remarks],
        bad_rows_url=reverse("annotation:table_bad_rows", args=[upload.public_id]),
    )


def _context(upload: TableUpload, problem: str) -> dict[str, Any]:
    kind = KINDS.get(upload.kind)
    context: dict[str, Any] = {
        "upload": upload,
        "result": _result(upload, problem),
        "needs_existing": upload.kind in (*NEEDS_STUDY, *NEEDS_BENCHMARK),
        "into_study": holds_answers(upload) if upload.format else kind is not None and kind.into == "study",
        "formats": [(each.key, each.name) for each in FORMATS.values()],
    }
    if upload.is_over and upload.imported and context["into_study"]:
        context |= _destination(upload)
    if upload.is_at_work or upload.is_over:
        return context
    if upload.format:
        return context | _of_format(upload)
    shown = preview(upload)
    if shown.problem:  # which says what is wrong first
        context["result"] = replace(context["result"], problem="")
    stored, fixes = from_value(upload.problem), fixes_for(upload)
    stopped_at_row = isinstance(stored, Message) and stored.code == BAD_ROW.code
    choices = [(field.name, field.label) for field in kind.fields] if kind else []
    if upload.kind == "ratings":
        choices.append((CRITERION, _("A criterion: its answers are in this column")))
    context |= {
        "unreadable": on_page(str(shown.problem)) if shown.problem else "",
        "columns": [
            {"place": place, "name": name, "held": upload.columns.get(name, ""), "values": values}
            for place, (name, values) in enumerate(shown.by_column)
        ],
        "choices": choices,
        "kinds": [(one.key, one.label) for one in KINDS.values()],
        "encodings": ENCODING_WORDS.items(),
        "separators": SEPARATOR_WORDS.items(),
        "guessed": guessed_encoding(upload.path) if not upload.encoding else "",
        "guessed_words": ENCODING_WORDS.get(guessed_encoding(upload.path), ""),
        "guessed_separator": shown.separator if not upload.separator else "",
        "guessed_separator_words": SEPARATOR_WORDS.get(shown.separator, ""),
        "duplicates": DUPLICATE_WORDS.items(),
        "fixes": fixes,
        "can_leave_out": bool(upload.bad) or (stopped_at_row and not fixes),
        "saved_mappings": mappings_for(upload.workspace, shown.first.columns) if shown.first else [],
        "before": Import.objects.filter(workspace=upload.workspace, sha256=upload.sha256, undone_at=None).first(),
    }
    return context


def _of_format(upload: TableUpload) -> dict[str, Any]:
    """What the page shows of a file in another tool's format that can still be checked and loaded."""
    stored, fixes = from_value(upload.problem), fixes_for(upload)
    stopped_at_row = isinstance(stored, Message) and stored.code == BAD_ROW.code
    return {
        "duplicates": DUPLICATE_WORDS.items(),
        "fixes": fixes,
        "can_leave_out": bool(upload.bad) or (stopped_at_row and not fixes),
        "format_name": format_named(upload.format).name,
        "recognised_by": for_reader(from_value(upload.recognised_by)),
        "before": Import.objects.filter(workspace=upload.workspace, sha256=upload.sha256, undone_at=None).first(),
    }


def _destination(upload: TableUpload) -> dict[str, Any]:
    """The study into which the table was loaded, and for a list of people the page with their links."""
    study = Study.objects.filter(workspace=upload.workspace, slug=upload.into).first()
    found = Import.objects.filter(pk=upload.imported or 0, undone_at=None).first()
    people = ids_in((found.created if found else {}).get(MailedInvitation._meta.label, ()))
    invitation = MailedInvitation.objects.filter(pk=min(people, default=0)).first()
    if study is None or invitation is None:
        return {"study": study}
    return {"study": study, "people_url": reverse("annotation:mail_invitations", args=[study, invitation.cohort_id])}

"""Pages on which a lead uploads a table, says what its columns hold, checks it and loads it."""

from dataclasses import replace
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User, Workspace
from accounts.permissions import results_page, workspaces_led_by
from annotation.models import SavedMapping, Study
from annotation.uploads.asked import DUPLICATES, OPTIONS, begin_check, begin_loading, described
from annotation.uploads.bad_rows import were_sought, write_bad_rows
from annotation.uploads.fixes import fixes_for
from annotation.uploads.kept_files import ENDINGS, Sent, TableUpload, discard, keep_table, known_table
from annotation.uploads.kinds import CRITERION, KINDS, NEEDS_STUDY
from annotation.uploads.loading import ENCODINGS, SEPARATORS, WITH_OUR_COLUMNS, guessed_encoding
from annotation.uploads.reading import preview, recognise
from annotation.uploads.recognition import recognised_columns
from annotation.uploads.remedies import on_page
from annotation.uploads.saved_mappings import mappings_for, save_mapping, with_mapping
from core.errors import UserError
from core.messages.message import Message, from_value
from core.messages.rendering import for_reader
from core.tables.messages import BAD_ROW
from core.web.uploaded_files import takes_files
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


class TableForm(forms.Form):
    """A table, and the workspace into which it goes."""

    workspace = forms.ModelChoiceField(Workspace.objects.none(), empty_label=None, label=gettext_lazy("Workspace"))
    table = forms.FileField(
        allow_empty_file=True,  # which its reader says, as it says all else of a file
        label=gettext_lazy("File"),
        help_text=gettext_lazy(
            "Choose a file or drop it here: CSV, TSV, JSON, JSON Lines (also .gz), Parquet or .xlsx."
        ),
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(ENDINGS)}),
    )

    def __init__(self, workspaces: QuerySet[Workspace], *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.fields["workspace"].queryset = workspaces  # type: ignore[attr-defined]
        if len(workspaces) == 1:
            self.fields["workspace"].widget = forms.HiddenInput()
            self.initial["workspace"] = workspaces[0].pk

    def clean_table(self) -> Sent:
        table: Sent = self.cleaned_data["table"]
        if not (table.name or "").lower().endswith(ENDINGS):
            raise forms.ValidationError(
                _("Choose a file whose name ends in .csv, .tsv, .jsonl, .json, .parquet, .xlsx or .gz.")
            )
        return table


def _leads(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and workspaces_led_by(request.user).exists()


@takes_files(_leads)
@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def upload_table(request: HttpRequest) -> HttpResponse:
    """Take a table, and recognise what it holds."""
    user = cast(User, request.user)
    workspaces = workspaces_led_by(user)
    if not workspaces.exists():
        raise Http404
    form = TableForm(workspaces, *([request.POST, request.FILES] if request.method == "POST" else []))
    if request.method == "POST" and form.is_valid():
        sent = form.cleaned_data["table"]
        try:
            upload = keep_table(workspace=form.cleaned_data["workspace"], user=user, sent=sent, clock=timezone.now)
        except UserError as problem:
            form.add_error("table", for_reader(problem))
        else:
            recognise(upload)
            return redirect("annotation:table", upload.public_id)
    context = {
        "form": form,
        "most": settings.UPLOAD_MOST,
        "saved_mappings": SavedMapping.objects.filter(workspace__in=workspaces).select_related("workspace"),
    }
    return render(request, "annotation/upload_table.html", context, status=422 if request.method == "POST" else 200)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def table(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show what is known of an uploaded table, and take what the lead says of it and wants done."""
    upload, problem, status = _found(request, public_id), "", 200
    if request.method == "POST":
        do = request.POST.get("do", "")
        if do == "discard":
            discard(upload)
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
    kind = sent.get("kind", upload.kind)
    shown = preview(upload).first
    names = shown.columns if shown else []
    if fix := sent.get("fix"):
        return _fixed(upload, fix)
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
    changed = replace(changed, problem="", counts={}, bad=0, state="new")
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


def _fixed(upload: TableUpload, asked: str) -> TableUpload:
    """Set the option that the program offers to set, and check again. Raises UserError."""
    fix = next((one for one in fixes_for(upload) if f"{one.option}:{one.value}" == asked), None)
    if fix is None:
        raise UserError(_("This is not offered any more. Check the file again."))
    changed = replace(upload, options={**upload.options, fix.option: fix.value}, mapping="", state="new")
    changed.save()
    return begin_check(changed)


def _keep_mapping(request: HttpRequest, upload: TableUpload) -> None:
    """Save the mapping under the name that the form gives. Raises UserError."""
    shown = preview(upload).first
    name = request.POST.get("mapping_name", "")
    saved = save_mapping(upload, name, shown.columns if shown else [], by=cast(User, request.user))
    replace(upload, mapping=saved.name).save()
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
    upload = _found(request, public_id)
    response = render(request, "annotation/table.html#state", _context(upload, ""))
    if not upload.is_at_work:
        response["HX-Refresh"] = "true"
    return response


@results_page
@never_cache
@require_safe
def bad_rows(request: HttpRequest, public_id: str) -> HttpResponse:
    """The bad rows of the last check or load, as a CSV file in the reader's language."""
    upload = _found(request, public_id)
    if not were_sought(upload):
        raise Http404(_("This file has not been checked."))
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="bad_rows.csv"'
    write_bad_rows(upload, response)
    return response


def _found(request: HttpRequest, public_id: str) -> TableUpload:
    found = known_table(public_id)
    led = workspaces_led_by(cast(User, request.user))
    if found is None or not led.filter(pk=found.workspace).exists():
        raise Http404(_("There is no such upload."))
    return found


def _context(upload: TableUpload, problem: str) -> dict[str, Any]:
    context: dict[str, Any] = {
        "upload": upload,
        "problem": problem or on_page(from_value(upload.problem)),
        "remarks": [on_page(from_value(remark)) for remark in upload.remarks],
        "counts": [(COUNTS[name], n) for name, n in upload.counts.items() if name in COUNTS],
        "needs_study": upload.kind in NEEDS_STUDY,
        "into_study": upload.kind in KINDS and KINDS[upload.kind].into == "study",
    }
    if upload.is_over and upload.imported and context["into_study"]:
        context["study"] = Study.objects.filter(workspace=upload.workspace, slug=upload.into).first()
    if upload.is_at_work or upload.is_over:
        return context
    shown = preview(upload)
    if shown.problem:  # which says what is wrong first
        context["problem"] = ""
    stored, fixes = from_value(upload.problem), fixes_for(upload)
    stopped_at_row = isinstance(stored, Message) and stored.code == BAD_ROW.code
    kind = KINDS.get(upload.kind)
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
        "can_leave_out": bool(upload.bad) or (stopped_at_row and not fixes and upload.kind not in WITH_OUR_COLUMNS),
        "saved_mappings": mappings_for(upload.workspace, shown.first.columns) if shown.first else [],
        "before": Import.objects.filter(workspace=upload.workspace, sha256=upload.sha256, undone_at=None).first(),
    }
    return context

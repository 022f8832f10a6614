"""What all pages have on which a lead uploads a file: who may, the form, how far it is, and what came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar, cast

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from accounts.models import User, Workspace
from accounts.permissions import workspaces_led_by
from annotation.uploads.remedies import on_page
from core.errors import UserError
from core.messages.message import from_value
from core.messages.rendering import for_reader
from core.tables.formula_cells import CsvWriter
from core.uploads.kept_files import KeptUpload, Sent

AnyUpload = TypeVar("AnyUpload", bound=KeptUpload)
Counted = Sequence[tuple[object, Sequence[int]]]


class UploadForm(forms.Form):
    """A file, and the workspace into which it goes. A form of a kind of upload adds its field, named FILE."""

    FILE: ClassVar[str]
    ENDINGS: ClassVar[tuple[str, ...]]
    """The endings of a file's name, one of which it must have."""
    WRONG: ClassVar[str | Promise]
    """What to do about another one."""

    workspace = forms.ModelChoiceField(Workspace.objects.none(), empty_label=None, label=gettext_lazy("Workspace"))

    def __init__(self, workspaces: QuerySet[Workspace], *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.fields["workspace"].queryset = workspaces  # type: ignore[attr-defined]
        if len(workspaces) == 1:
            self.fields["workspace"].widget = forms.HiddenInput()
            self.initial["workspace"] = workspaces[0].pk

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        sent: Sent | None = data.get(self.FILE)
        if sent is not None and not (sent.name or "").lower().endswith(self.ENDINGS):
            self.add_error(self.FILE, str(self.WRONG))
        return data


@dataclass(frozen=True)
class Result:
    """What a page shows of an upload beside its own controls: the part that changes while a worker reads it.

    `working` says what the worker does now, with `done` of `total` bytes where that is known, or, if `amount` says how many
    there are in words, of whatever that counts. Afterwards `problem` says why it
    stopped, else `note` what became of it, and `remarks` what is odd about the values; `counts` are numbers by name under
    the names in `heads`, `bad_rows` the first bad rows as (file, line, reason, remedy), and `lists` what else there is to
    know, each under a title.
    """

    state_url: str
    working: str = ""
    detail: str = ""
    done: int = 0
    total: int = 0
    amount: str = ""
    problem: str = ""
    note: str = ""
    remarks: Sequence[str] = ()
    heads: Sequence[str] = ()
    counts: Counted = ()
    bad: int = 0
    bad_rows: Sequence[tuple[str, int, str, str]] = ()
    bad_rows_url: str = ""
    lists: Sequence[tuple[str, Sequence[str]]] = field(default_factory=tuple)


def leads(request: HttpRequest) -> bool:
    """Whether the request may send files at all."""
    return isinstance(request.user, User) and workspaces_led_by(request.user).exists()


def take_file(
    request: HttpRequest,
    form_class: type[UploadForm],
    keep: Callable[[User, dict[str, Any]], str],
    template: str,
    context: Mapping[str, Any],
) -> HttpResponse:
    """Show the form and take what is sent. `keep` keeps it and returns the address of its page; it raises UserError."""
    user = cast(User, request.user)
    workspaces = workspaces_led_by(user)
    if not workspaces.exists():
        raise Http404
    sent = request.method == "POST"
    form = form_class(workspaces, *([request.POST, request.FILES] if sent else []))
    if sent and form.is_valid():
        try:
            return redirect(keep(user, form.cleaned_data))
        except UserError as problem:
            form.add_error(form.FILE, for_reader(problem))
    shown = {"form": form, "most": settings.UPLOAD_MOST, **context}
    return render(request, template, shown, status=422 if sent else 200)


def found_upload(request: HttpRequest, kind: type[AnyUpload], public_id: str) -> AnyUpload:
    """Return the upload of a workspace that the user leads. Raises Http404 as if there were no other."""
    found = kind.known(public_id)
    led = workspaces_led_by(cast(User, request.user))
    if found is None or not led.filter(pk=found.workspace).exists():
        raise Http404(_("There is no such upload."))
    return found


def state_part(request: HttpRequest, upload: KeptUpload, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """Return the part of the page that changes; the whole page is asked for again when no worker is at work any more."""
    response = render(request, f"{template}#state", dict(context))
    if not upload.is_at_work:
        response["HX-Refresh"] = "true"
    return response


def bad_rows_file(upload: KeptUpload) -> HttpResponse:
    """Return the bad rows of the last check or load, as a CSV file in the reader's language. Raises Http404."""
    if not upload.bad_rows_file.is_file():
        raise Http404(_("No row of this file was found to be bad."))
    return bad_rows_table(upload)


def bad_rows_table(upload: KeptUpload) -> HttpResponse:
    """Return the same file; it has only its heading where no row was found to be bad."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="bad_rows.csv"'
    writer = CsvWriter(response)
    writer.writerow(["file", "line", "reason", "remedy"])
    for row in map(_in_words, upload.all_bad_rows() if upload.bad_rows_file.is_file() else ()):
        writer.writerow(row)
    return response


def bad_rows_shown(upload: KeptUpload) -> list[tuple[str, int, str, str]]:
    """Return the first bad rows for the page, in the active language."""
    return [_in_words(row) for row in upload.bad_rows]


def _in_words(row: Sequence[Any]) -> tuple[str, int, str, str]:
    file, line, reason, remedy = row
    return file, line, on_page(from_value(reason)), on_page(from_value(remedy))


def problem_shown(upload: KeptUpload) -> str:
    """Return why the file cannot be loaded, in the active language, or ''."""
    return on_page(from_value(upload.problem))

"""Pages on which a lead uploads a benchmark's own files as an archive, and sees what becomes of it."""

from typing import cast

from django import forms
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User, Workspace
from accounts.permissions import results_page, workspaces_led_by
from core.errors import UserError
from core.messages.message import from_value
from core.messages.rendering import for_reader
from core.web.uploaded_files import takes_files
from judging.importing.archives import ENDINGS
from judging.importing.registry import BENCHMARKS
from judging.importing.uploads import Sent, Upload, keep_upload, known_upload


class UploadForm(forms.Form):
    """An archive, the benchmark whose files it holds, and the workspace that they are loaded into."""

    workspace = forms.ModelChoiceField(Workspace.objects.none(), empty_label=None, label=gettext_lazy("Workspace"))
    benchmark = forms.ChoiceField(label=gettext_lazy("Benchmark"))
    archive = forms.FileField(
        label=gettext_lazy("Archive"),
        help_text=gettext_lazy("A .zip or .tar.gz of the benchmark's repository or folder of files."),
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(ENDINGS)}),
    )
    tasks = forms.FileField(
        required=False,
        label=gettext_lazy("File of tasks"),
        help_text=gettext_lazy("Only where the benchmark publishes its tasks apart from its results."),
    )
    skip = forms.BooleanField(
        required=False,
        label=gettext_lazy("Leave out bad rows and unreadable files"),
        help_text=gettext_lazy("Otherwise loading stops at the first; the files before it stay loaded."),
    )

    def __init__(self, workspaces: QuerySet[Workspace], *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.fields["workspace"].queryset = workspaces  # type: ignore[attr-defined]
        self.fields["benchmark"].choices = [(one.slug, one.title) for one in BENCHMARKS.values()]  # type: ignore[attr-defined]
        if len(workspaces) == 1:
            self.fields["workspace"].widget = forms.HiddenInput()
            self.initial["workspace"] = workspaces[0].pk

    def clean_archive(self) -> Sent:
        archive: Sent = self.cleaned_data["archive"]
        if not (archive.name or "").lower().endswith(ENDINGS):
            raise forms.ValidationError(_("Choose a .zip or .tar.gz file."))
        return archive


def _leads(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and workspaces_led_by(request.user).exists()


@takes_files(_leads)
@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def upload_benchmark(request: HttpRequest) -> HttpResponse:
    """Take an archive; a worker loads it."""
    user = cast(User, request.user)
    workspaces = workspaces_led_by(user)
    if not workspaces.exists():
        raise Http404
    form = UploadForm(workspaces, *([request.POST, request.FILES] if request.method == "POST" else []))
    if request.method == "POST" and form.is_valid():
        try:
            upload = keep_upload(user=user, **form.cleaned_data)
        except UserError as problem:
            form.add_error("archive", for_reader(problem))
        else:
            return redirect("judging:upload", upload.public_id)
    status = 422 if request.method == "POST" else 200
    return render(request, "judging/upload_benchmark.html", {"form": form}, status=status)


@results_page
@never_cache
@require_safe
def upload(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show how far an upload is and what became of it."""
    return render(request, "judging/upload.html", _context(request, public_id))


@results_page
@never_cache
@require_safe
def upload_state(request: HttpRequest, public_id: str) -> HttpResponse:
    """The part of the page that changes."""
    return render(request, "judging/upload.html#state", _context(request, public_id))


def _context(request: HttpRequest, public_id: str) -> dict[str, object]:
    found = known_upload(public_id)
    led = workspaces_led_by(cast(User, request.user))
    if found is None or not led.filter(pk=found.workspace).exists():
        raise Http404(_("There is no such upload."))
    return {
        "upload": found,
        "benchmark": BENCHMARKS.get(found.benchmark),
        "counts": _counts(found),
        "problem": for_reader(from_value(found.problem)),
        "bad_rows": [(row[0], row[1], *(for_reader(from_value(said)) for said in row[2:])) for row in found.bad_rows],
    }


def _counts(upload: Upload) -> list[tuple[str, dict[str, int]]]:
    """(kind of record, its counts) of what was loaded."""
    return [(kind, one) for kind, one in upload.result.items() if isinstance(one, dict) and "created" in one]

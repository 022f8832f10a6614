"""Pages on which a lead uploads a benchmark's own files as an archive, and sees what becomes of it."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User, Workspace
from accounts.permissions import results_page
from annotation.uploads.study_archives import is_archive, keep_archive
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
from core.uploads.kept_files import LOADED, REFUSED
from core.web.uploaded_files import takes_files
from judging.importing.archives import ENDINGS
from judging.importing.registry import BENCHMARKS
from judging.importing.uploads import Upload, keep_upload


class ArchiveForm(UploadForm):
    """An archive, the benchmark whose files it holds, and the workspace that they are loaded into."""

    FILE, ENDINGS = "archive", ENDINGS
    WRONG = gettext_lazy("Choose a .zip or .tar.gz file.")

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
        help_text=gettext_lazy("Otherwise loading stops at the first, and nothing of the archive is loaded."),
    )

    def __init__(self, workspaces: QuerySet[Workspace], *args: object) -> None:
        super().__init__(workspaces, *args)
        self.fields["benchmark"].choices = [(one.slug, one.title) for one in BENCHMARKS.values()]  # type: ignore[attr-defined]


@takes_files(leads)
@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def upload_benchmark(request: HttpRequest) -> HttpResponse:
    """Take an archive; a worker loads it."""
    return take_file(request, ArchiveForm, _keep, "judging/upload_benchmark.html", {})


def _keep(user: User, sent: dict[str, Any]) -> str:
    """Keep an archive of a benchmark's files; one of a study is checked on the page for those."""
    if is_archive(sent["archive"]):
        archive = keep_archive(workspace=sent["workspace"], user=user, sent=sent["archive"], clock=timezone.now)
        return reverse("judging:study_archive", args=[archive.public_id])
    return reverse("judging:upload", args=[keep_upload(user=user, **sent).public_id])


@results_page
@never_cache
@require_safe
def upload(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show how far an upload is and what became of it."""
    return render(request, "judging/upload.html", _context(found_upload(request, Upload, public_id)))


@results_page
@never_cache
@require_safe
def upload_state(request: HttpRequest, public_id: str) -> HttpResponse:
    """The part of the page that changes."""
    found = found_upload(request, Upload, public_id)
    return state_part(request, found, "judging/upload.html", _context(found))


@results_page
@never_cache
@require_safe
def upload_bad_rows(request: HttpRequest, public_id: str) -> HttpResponse:
    """The bad rows that were left out, as a CSV file."""
    return bad_rows_file(found_upload(request, Upload, public_id))


def _context(found: Upload) -> dict[str, object]:
    return {"upload": found, "benchmark": BENCHMARKS.get(found.benchmark), "result": _result(found)}


def _after(found: Upload) -> str:
    """What a stop left behind: nothing, but where somebody uses what was loaded before it, or the worker was stopped."""
    if found.imported:
        return _("The files before it are loaded. Correct the file and upload again, or undo the import.")
    return _("Nothing of the archive was loaded.")


def _result(found: Upload) -> Result:
    note = _("Nothing has changed.") if found.state == LOADED and not found.imported else ""
    stopped = _("Loading stopped: %(problem)s") % {"problem": problem_shown(found)} if found.state == REFUSED else ""
    kept = {
        _("Absent, empty or not understood"): found.result.get("absent", []),
        _("Fields that are not read"): [f"{name} ({n:,})" for name, n in found.result.get("unknown", {}).items()],
        _("Stored with another text or reference, which stays"): found.result.get("differing", []),
    }
    return Result(
        state_url=reverse("judging:upload_state", args=[found.public_id]),
        working=_("The archive waits for a worker. You can leave this page."),
        detail=found.part if found.is_at_work else _after(found) if stopped else "",
        done=found.done,
        total=found.total,
        problem=stopped,
        note=note,
        heads=[
            _("Records"),
            _("Rows created"),
            _("Rows completed"),
            _("Already there"),
            _("Unusable answers"),
            _("Rows left out"),
        ],
        counts=_counts(found),
        bad=found.bad,
        bad_rows=bad_rows_shown(found),
        bad_rows_url=reverse("judging:upload_bad_rows", args=[found.public_id]),
        lists=[(title, entries) for title, entries in kept.items() if entries],
    )


KINDS = {
    "rubrics": gettext_lazy("rubrics"),
    "checklists": gettext_lazy("checklists"),
    "weights": gettext_lazy("published weights"),
    "instructions": gettext_lazy("instructions"),
    "responses": gettext_lazy("responses"),
    "verdicts": gettext_lazy("verdicts"),
    "ratings": gettext_lazy("ratings"),
    "preferences": gettext_lazy("preferences"),
    "checks": gettext_lazy("checks of instructions"),
    "published counts": gettext_lazy("published counts"),
    "lines": gettext_lazy("rows left out"),
}
"""Kinds of records as the loader names them, and what the page calls them."""


def _counts(found: Upload) -> list[tuple[object, list[int]]]:
    """(kind of record, its counts) of what was loaded; a kind of which there is nothing is left out."""
    names = ("created", "completed", "already_there", "unscored", "skipped")
    rows = [
        (KINDS.get(kind, kind), [one.get(name, 0) for name in names])
        for kind, one in found.result.items()
        if isinstance(one, dict) and "created" in one
    ]
    return [row for row in rows if any(row[1])]

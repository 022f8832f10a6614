"""The page from which a study's data are taken: its answers as one table, and the archive of everything.

A worker makes the files. The page says how far each one is and offers it for a day.
"""

import tempfile
from typing import cast

from django import forms
from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Study
from annotation.monitoring.exclusion import excluded_in
from annotation.monitoring.progress import tally_of
from annotation.privacy.reads import note_reading
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.report_store.state import scores_of
from calibration.reports.cache import current_reports
from core.errors import UserError
from core.messages.message import from_value
from core.messages.rendering import for_reader
from judging.archive.answer_table import CSV, JSONL, PARQUET, answer_count
from judging.archive.export import export_study
from judging.archive.made_files import ARCHIVE, MADE, MadeFile, ask_for, files_of, known_file, remove
from judging.formats.registry import WRITERS, writers_for

LARGEST = 400_000
"""Scores up to which the archive is made while the reader waits; beyond, only a worker makes it."""
FORMATS = [
    (CSV, gettext_lazy("CSV (for spreadsheets)")),
    (JSONL, gettext_lazy("JSON Lines")),
    (PARQUET, gettext_lazy("Parquet")),
]


class FileForm(forms.Form):
    """What a worker is to make: the archive, or the answers as a table or in another tool's format."""

    kind = forms.ChoiceField(choices=[*FORMATS, (ARCHIVE, ARCHIVE), *((name, name) for name in WRITERS)])
    texts = forms.BooleanField(required=False)
    criterion = forms.CharField(required=False, max_length=100)
    judge = forms.CharField(required=False, max_length=200)


@require_safe
@results_page
def export(request: HttpRequest, slug: str) -> HttpResponse:
    """What the export holds."""
    study = study_read_by(cast(User, request.user), slug)
    context: dict[str, object] = {
        **_files(study),
        "answers": answer_count(study),
        "formats": FORMATS,
        "writers": [(each.key, each.name) for each in writers_for(pairs=study.kind == Study.Kind.PAIR)],
        "provenance": provenance_of(study),
        "scores": scores_of(study),
        "left_out": excluded_in(task__study=study),
        "raters": len(tally_of(study).work),
        "tasks": study.tasks.count(),
        "fits": study.fits.count(),
        "reports": [_report_name(one.kind) for one in current_reports(study)],
    }
    return render(request, "judging/export.html", context)


@require_safe
@results_page  # type: ignore[arg-type]
def export_file(request: HttpRequest, slug: str) -> FileResponse:
    """The zip itself; 404 for a study so large that only a worker makes it."""
    study = study_read_by(cast(User, request.user), slug)
    if scores_of(study) > LARGEST:
        raise Http404(gettext("This study is large. Create its archive on the page Export."))
    note_reading(study, cast(User, request.user), clock=timezone.now, verb="export_study")
    # Closed by the response when it has been sent.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    export_study(study, file)
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=f"{study.slug}.plumbline.zip")


@require_POST
@results_page
def make_file(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask a worker for a file, which the page then shows."""
    study = study_read_by(cast(User, request.user), slug)
    form = FileForm(request.POST)
    if form.is_valid():
        try:
            ask_for(study, cast(User, request.user), **form.cleaned_data)
        except UserError as problem:
            messages.error(request, for_reader(problem))
    return redirect("judging:export", study)


@never_cache
@require_safe
@results_page
def made_files(request: HttpRequest, slug: str) -> HttpResponse:
    """The part of the page that says how far the files are."""
    return render(request, "judging/export.html#files", _files(study_read_by(cast(User, request.user), slug)))


@never_cache
@require_safe
@results_page  # type: ignore[arg-type]
def made_file(request: HttpRequest, slug: str, public_id: str) -> FileResponse:
    """A file that has been made."""
    study = study_read_by(cast(User, request.user), slug)
    made = _file_of(study, public_id)
    if made.state != MADE:
        raise Http404
    verb = "export_study" if made.kind == ARCHIVE else "export_answers"
    note_reading(study, cast(User, request.user), clock=timezone.now, verb=verb)
    return FileResponse(made.path.open("rb"), as_attachment=True, filename=made.name)


@require_POST
@results_page
def remove_file(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Remove a file, or stop its making."""
    study = study_read_by(cast(User, request.user), slug)
    remove(_file_of(study, public_id))
    return redirect("judging:export", study)


def _files(study: Study) -> dict[str, object]:
    files = files_of(study)
    problems = {one.public_id: for_reader(from_value(one.problem)) for one in files if one.problem}
    shown = [(one, problems.get(one.public_id, "")) for one in files]
    return {"study": study, "files": shown, "under_way": any(not one.is_over for one in files)}


def _file_of(study: Study, public_id: str) -> MadeFile:
    made = known_file(public_id)
    if made is None or made.study != study.pk:
        raise Http404(gettext("This file is not there any more. Create it again."))
    return made


def _report_name(kind: str) -> str:
    names = {
        "agreement": gettext("agreement"),
        "agreement by group": gettext("agreement by group"),
        "raters": gettext("raters"),
        "rankings": gettext("rankings"),
        "judge against people": gettext("judge against people"),
        "weights in depth": gettext("weights in depth"),
        "judges in depth": gettext("judges in depth"),
    }
    return names.get(kind, kind)

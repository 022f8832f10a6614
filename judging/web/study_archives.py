"""Pages on which a lead uploads an archive of a study, sees what loading would store, loads it, and can undo it."""

from dataclasses import replace
from typing import Any

from django import forms
from django.apps import apps
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Study
from annotation.studies.nouns import in_words
from annotation.uploads.kept_files import CHECKED, CHECKING
from annotation.uploads.study_archives import ENDINGS, StudyArchive, begin_loading, is_archive, keep_archive
from annotation.web.uploads.machine import Result, UploadForm, found_upload, leads, problem_shown, state_part, take_file
from core.errors import UserError
from core.messages.rendering import for_reader
from core.uploads.kept_files import LOADED
from core.web.uploaded_files import takes_files
from judging.archive.importing import NO_ARCHIVE


class StudyArchiveForm(UploadForm):
    """An archive of a study, and the workspace into which it goes."""

    FILE, ENDINGS = "archive", ENDINGS
    WRONG = gettext_lazy("Choose the .zip file that the page Export made.")

    archive = forms.FileField(
        label=gettext_lazy("Archive of a study"),
        help_text=gettext_lazy("Choose a file or drop it here: a .zip that the page Export made, with texts."),
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(ENDINGS)}),
    )


@takes_files(leads)
@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def upload_archive(request: HttpRequest) -> HttpResponse:
    """Take an archive; a worker says what loading it would store."""
    return take_file(request, StudyArchiveForm, _keep, "judging/upload_archive.html", {})


def _keep(user: User, sent: dict[str, Any]) -> str:
    if not is_archive(sent["archive"]):
        raise UserError(NO_ARCHIVE(file=sent["archive"].name))
    upload = keep_archive(workspace=sent["workspace"], user=user, sent=sent["archive"], clock=timezone.now)
    return reverse("judging:study_archive", args=[upload.public_id])


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_archive(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show what loading would store, or has stored, and load or remove the file."""
    upload, problem, status = found_upload(request, StudyArchive, public_id), "", 200
    if request.method == "POST":
        if request.POST.get("do") == "discard" and not upload.is_at_work:
            upload.discard()
            messages.success(request, _("The file has been removed."))
            return redirect("annotation:imports")
        try:
            begin_loading(upload)
        except UserError as refusal:
            problem, status = for_reader(refusal), 422
        else:
            return redirect("judging:study_archive", upload.public_id)
    return render(request, "judging/study_archive.html", _context(upload, problem), status=status)


@results_page
@never_cache
@require_safe
def study_archive_state(request: HttpRequest, public_id: str) -> HttpResponse:
    """The part of the page that changes."""
    upload = found_upload(request, StudyArchive, public_id)
    return state_part(request, upload, "judging/study_archive.html", _context(upload))


def _context(upload: StudyArchive, problem: str = "") -> dict[str, object]:
    study = Study.objects.filter(workspace=upload.workspace, slug=upload.study).first() if upload.imported else None
    result = _result(upload)
    return {
        "upload": upload,
        "study": study,
        "result": replace(result, problem=problem) if problem else result,
        "can_load": upload.state == CHECKED,
    }


def _result(upload: StudyArchive) -> Result:
    working = (
        _("The archive is being checked. You can leave this page.")
        if upload.state == CHECKING
        else _("The study is being loaded. You can leave this page.")
    )
    amount = ngettext("%(done)s of %(total)s row", "%(done)s of %(total)s rows", upload.total) % {
        name: number_format(getattr(upload, name), force_grouping=True) for name in ("done", "total")
    }
    notes = {
        CHECKED: _("This is an archive of the study %(study)s. Loading would store these rows; nothing is stored yet.")
        % {"study": upload.study},
        LOADED: _("The study %(study)s has been loaded.") % {"study": upload.study},
    }
    return Result(
        state_url=reverse("judging:study_archive_state", args=[upload.public_id]),
        working=working,
        detail=working if upload.is_at_work else "",
        done=upload.done,
        total=upload.total if upload.is_at_work else 0,
        amount=amount,
        problem=problem_shown(upload),
        note=notes.get(upload.state, ""),
        counts=[(noun, [n]) for noun, n in in_words(_by_label(upload))],
    )


def _by_label(upload: StudyArchive) -> dict[str, int]:
    """The rows by the labels of their tables; `in_words` tells them with capitals."""
    return {apps.get_model(label)._meta.label: n for label, n in upload.rows.items()}

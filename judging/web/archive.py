"""The page a study's export is taken from: what it holds, what stays behind, and how to check it."""

import tempfile
from typing import cast

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Score
from annotation.monitoring.exclusion import excluded_in
from annotation.privacy.reads import note_reading
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.reports.cache import current_reports
from judging.archive.export import export_study

LARGEST = 400_000
"""Scores up to which the file is made while the reader waits; beyond, the command does it."""


@require_safe
@results_page
def export(request: HttpRequest, slug: str) -> HttpResponse:
    """What the export holds."""
    study = study_read_by(cast(User, request.user), slug)
    scores = Score.objects.filter(assignment__task__study=study).count()
    context: dict[str, object] = {
        "study": study,
        "provenance": provenance_of(study),
        "scores": scores,
        "left_out": excluded_in(task__study=study),
        "raters": study.tasks.values("assignments__rater").exclude(assignments__rater=None).distinct().count(),
        "tasks": study.tasks.count(),
        "fits": study.fits.count(),
        "reports": [_report_name(one.kind) for one in current_reports(study)],
        "too_large": scores > LARGEST,
    }
    return render(request, "judging/export.html", context)


@require_safe
@results_page  # type: ignore[arg-type]
def export_file(request: HttpRequest, slug: str) -> FileResponse:
    """The zip itself; 404 for a study so large that only the command makes it."""
    study = study_read_by(cast(User, request.user), slug)
    if Score.objects.filter(assignment__task__study=study).count() > LARGEST:
        raise Http404(gettext("This study is too large to export on this page. Use the command instead."))
    note_reading(study, cast(User, request.user), clock=timezone.now, verb="export_study")
    # Closed by the response when it has been sent.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    export_study(study, file)
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=f"{study.slug}.plumbline.zip")


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

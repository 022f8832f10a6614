"""The part of a rater's page with agreement, pace and behaviour, from the report that the dashboard shows."""

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Rater
from annotation.monitoring.exclusion import standing_exclusion
from annotation.monitoring.progress import rater_row, tally_of
from annotation.studies.access import study_read_by
from calibration.web.dashboard import ask_again, raters_known, refresh_small
from calibration.web.desk.behaviour import NOTHING, behaviours, reasons_of
from calibration.web.desk.dots import rater_pages


@require_safe
@results_page
@never_cache
def rater_figures(request: HttpRequest, slug: str, rater_id: str) -> HttpResponse:
    """Show how a rater compares, as last computed for the dashboard, and why the dashboard names them."""
    study = study_read_by(cast(User, request.user), slug)
    raters = Rater.objects.filter(study=study, kind=Rater.Kind.PERSON).select_related("cohort", "standing")
    rater = get_object_or_404(raters, public_id=rater_id)
    refresh_small(study)
    tally = tally_of(study)
    known = raters_known(study, tally)
    if known.outdated:
        ask_again(study)
    alone = rater_pages(study).get(rater.name) == rater.public_id
    behaviour = NOTHING
    if alone and known.report is not None:
        behaviour = behaviours(known.report).get(rater.name, NOTHING)
    row = rater_row(rater, tally)
    context = {
        "study": study,
        "rater": rater,
        "row": row,
        "known": known,
        "behaviour": behaviour,
        "reasons": [] if standing_exclusion(rater) else reasons_of(behaviour, row),
        "alone": alone,
    }
    return render(request, "calibration/_rater_figures.html", context)

"""The page of one rater: the numbers that the dashboard has, what a lead can do, and the latest answers.

The numbers are the rater's row of the dashboard; pace, agreement and behaviour come from the same report as there.
"""

from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.assignment.rater_status import cause_words
from annotation.models import Assignment, Flag, LateChange, Rater
from annotation.monitoring.exclusion import standing_exclusion
from annotation.monitoring.progress import rater_row, tally_of
from annotation.studies.access import study_led_by, study_read_by
from annotation.studies.life_cycle import release_rater
from annotation.studies.provenance import provenance_of
from annotation.web.monitoring.returning import back_to_dashboard_or

LATEST_SHOWN = 30
ACTIONS = ("pause", "message", "release")
"""What ?do= opens on the page: a link of the dashboard asks there first."""


@results_page
@never_cache
@require_safe
def rater_page(request: HttpRequest, slug: str, rater_id: str) -> HttpResponse:
    """Show one rater's work, how it compares, and their latest answers."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    raters = Rater.objects.filter(study=study, kind=Rater.Kind.PERSON).select_related("cohort", "standing")
    rater = get_object_or_404(raters, public_id=rater_id)
    row = rater_row(rater, tally_of(study))
    own = Assignment.objects.filter(rater=rater)
    latest = (
        own.exclude(status=Assignment.Status.OPEN)
        .select_related("task__response_a__instruction__category", "check_outcome")
        .order_by("-submitted_at", "-pk")[:LATEST_SHOWN]
    )
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": leads_workspace_of(user, study),
        "rater": rater,
        "own_provenance": [rater.provenance] if rater.provenance else [],
        "standing": getattr(rater, "standing", None),
        "cause": cause_words(getattr(rater, "standing", None)),
        "row": row,
        "rates_here": study.seats.exists(),
        "repeats": own.filter(status=Assignment.Status.SUBMITTED, repeat__gt=0).count(),
        "opened": request.GET.get("do") if request.GET.get("do") in ACTIONS else "",
        "from_desk": request.GET.get("next") == "desk",
        "late_changes": LateChange.objects.filter(assignment__rater=rater).count(),
        "exclusion": standing_exclusion(rater),
        "latest": latest,
        "notes": Flag.objects.filter(rater=rater, task__study=study).select_related("task")[:20],
    }
    return render(request, "annotation/rater.html", context)


@results_page
@require_POST
def take_back(request: HttpRequest, slug: str, rater_id: str) -> HttpResponse:
    """Release the rater's open tasks to others."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    rater = get_object_or_404(Rater, study=study, kind=Rater.Kind.PERSON, public_id=rater_id)
    freed = release_rater(study, rater.pk, by=user)
    if freed:
        told = ngettext("%(n)s task has been released.", "%(n)s tasks have been released.", freed)
        messages.success(request, told % {"n": freed})
    else:
        messages.info(request, _("This rater has no open tasks."))
    return back_to_dashboard_or(request, study, "annotation:rater", rater.public_id)

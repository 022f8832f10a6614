"""A lead's message to one rater, whose pages show it until the rater has confirmed it."""

from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.permissions import results_page
from annotation.assignment.rater_notes import LONGEST_NOTE, confirm_note, write_note
from annotation.models import Assignment, Rater
from annotation.recruitment.participation import rater_known, rater_page, study_to_rate
from annotation.studies.access import study_led_by
from annotation.web.monitoring.returning import back_to_dashboard_or
from core.text import storable


@results_page
@require_POST
def message_rater(request: HttpRequest, slug: str, rater_id: str) -> HttpResponse:
    """Write to a rater; a later message replaces one that is not confirmed yet."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    rater = get_object_or_404(Rater, study=study, kind=Rater.Kind.PERSON, public_id=rater_id)
    text = storable(str(request.POST.get("text", ""))).strip()
    if not text or len(text) > LONGEST_NOTE:
        messages.error(request, _("Write a message of 1 to %(n)s characters.") % {"n": LONGEST_NOTE})
    else:
        write_note(rater, text, by=user, clock=timezone.now)
        messages.success(request, _("The rater sees the message on the next page, until they confirm it."))
    return back_to_dashboard_or(request, study, "annotation:rater", rater.public_id)


@rater_page
@require_POST
def confirm_message(request: HttpRequest, slug: str) -> HttpResponse:
    """Remove the message that the rater was shown, and go back to the task or the rater's page."""
    study = study_to_rate(request, slug)
    rater = rater_known(request, study)
    if rater is not None:
        confirm_note(rater, shown=str(request.POST.get("at", "")))
        task = storable(str(request.POST.get("assignment", "")))
        if Assignment.objects.filter(rater=rater, public_id=task).exists():
            return redirect("annotation:rate", task)
    return redirect("annotation:done", study)

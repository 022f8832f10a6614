"""The page that asks before a study is closed, and says what closing means."""

from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Study
from annotation.monitoring.closing import closing_of
from annotation.studies.access import study_led_by
from annotation.studies.life_cycle import StudyRefused, set_status
from annotation.studies.provenance import provenance_of
from core.messages.rendering import for_reader


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def close_study(request: HttpRequest, slug: str) -> HttpResponse:
    """Say what closing the study means, and close it once the lead has confirmed (`confirmed`)."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    if study.status not in (Study.Status.OPEN, Study.Status.PAUSED):
        messages.info(request, _("The study is not running, so there is nothing to close."))
        return redirect("annotation:desk", study)
    unconfirmed = request.method == "POST" and request.POST.get("confirmed") != "yes"
    if request.method == "POST" and not unconfirmed:
        try:
            set_status(study, Study.Status.CLOSED, by=user)
        except StudyRefused as problem:
            messages.error(request, for_reader(problem))
        else:
            messages.success(request, _("The study is closed. You can open it again on this page."))
        return redirect("annotation:desk", study)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": True,
        "closing": closing_of(study),
        "unconfirmed": unconfirmed,
    }
    return render(request, "annotation/close_study.html", context, status=422 if unconfirmed else 200)

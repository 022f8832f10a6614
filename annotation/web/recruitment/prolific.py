"""The page of a cohort's study at Prolific: draft or attach it, see its submissions, approve and reject."""

from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Cohort, ProlificStudy, Study
from annotation.privacy.reads import note_reading
from annotation.prolific.client import ProlificError, Submission, is_prolific_set_up, submissions_of
from annotation.prolific.studies import AWAITING, CATEGORIES, MOST_PLACES, SHORTEST_MESSAGE, attach, draft_for, review
from annotation.studies.access import study_led_by
from annotation.studies.provenance import provenance_of
from core.text import storable


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def prolific_study(request: HttpRequest, slug: str, cohort_id: int) -> HttpResponse:
    """Show the cohort's study at Prolific; POST drafts or attaches one, asks for a confirmation, or carries it out."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    crowd = study.cohorts.filter(kind=Cohort.Kind.CROWD).select_related("study__workspace")
    cohort = get_object_or_404(crowd, pk=cohort_id)
    attached = ProlificStudy.objects.select_related("cohort__study").filter(cohort=cohort).first()
    if request.method != "POST":
        return _page(request, study, cohort, attached)
    action, do = request.POST.get("action", ""), request.POST.get("do")
    try:
        if do == "draft" or do == "attach":
            _take_up(request, cohort)
        elif attached is None or action not in ("approve", "reject"):
            raise Http404
        elif do == "ask" and request.POST.getlist("chosen"):
            return _page(request, study, cohort, attached, action=action)
        elif do == "confirm":
            _carry_out(request, attached, action)
    except ProlificError as error:
        messages.error(request, str(error))
    return redirect("annotation:prolific_study", study, cohort.pk)


def _take_up(request: HttpRequest, cohort: Cohort) -> None:
    user = cast(User, request.user)
    address = request.build_absolute_uri(reverse("annotation:join", args=[cohort.entry_token]))
    if request.POST["do"] == "attach":
        attach(cohort, request.POST.get("study_id", "").strip(), address=address, by=user, clock=timezone.now)
        messages.success(request, _("The study at Prolific has been attached."))
        return
    places = request.POST.get("places", "")
    if not places.isdecimal() or not 1 <= int(places) <= MOST_PLACES:
        raise ProlificError(_("Enter the number of participants, from 1 to %(n)s.") % {"n": MOST_PLACES})
    draft_for(cohort, address=address, places=int(places), by=user, clock=timezone.now)
    messages.success(request, _("The draft has been created. Check it at Prolific and publish it there."))


def _carry_out(request: HttpRequest, attached: ProlificStudy, action: str) -> None:
    result = review(
        attached,
        set(request.POST.getlist("chosen")),
        action,
        by=cast(User, request.user),
        category=request.POST.get("category", ""),
        message=str(storable(request.POST.get("message", ""))).strip()[:2000],
    )
    if action == "approve":
        told = ngettext("%(n)s submission has been approved.", "%(n)s submissions have been approved.", result.done)
    else:
        told = ngettext("%(n)s submission has been rejected.", "%(n)s submissions have been rejected.", result.done)
    messages.success(request, told % {"n": result.done})
    if result.gone:
        told = ngettext("%(n)s no longer awaited review.", "%(n)s no longer awaited review.", result.gone)
        messages.info(request, told % {"n": result.gone})
    for refusal in result.refused[:10]:
        messages.error(request, refusal)


def _page(
    request: HttpRequest, study: Study, cohort: Cohort, attached: ProlificStudy | None, *, action: str = ""
) -> HttpResponse:
    found: list[Submission] = []
    problem = ""
    if attached is not None and is_prolific_set_up():
        try:
            found = sorted(submissions_of(attached.external_id), key=lambda one: (one.status != AWAITING, one.id))
        except ProlificError as error:
            problem = str(error)
    if found:
        note_reading(study, cast(User, request.user), clock=timezone.now)
    chosen = set(request.POST.getlist("chosen")) if action else set()
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "cohort": cohort,
        "attached": attached,
        "is_set_up": is_prolific_set_up(),
        "submissions": [one for one in found if not action or (one.id in chosen and one.status == AWAITING)],
        "awaiting": AWAITING,
        "problem": problem,
        "action": action,
        "categories": CATEGORIES,
        "shortest": SHORTEST_MESSAGE,
    }
    return render(request, "annotation/prolific_study.html", context)

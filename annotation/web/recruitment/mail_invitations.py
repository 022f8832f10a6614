"""The page on which a lead invites people to a cohort by e-mail."""

from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Cohort, MailedInvitation, Study
from annotation.privacy.reads import note_reading
from annotation.recruitment.mailing import (
    MailRefused,
    addresses_in,
    erase_address,
    invite,
    is_mail_set_up,
    left_today,
    resend_failed,
)
from annotation.studies.access import study_led_by
from annotation.studies.provenance import provenance_of
from core.text import storable

AT_ONCE = 100
LONGEST_LIST = 60_000
"""Characters of a list of addresses."""


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def mail_invitations(request: HttpRequest, slug: str, cohort_id: int) -> HttpResponse:
    """Show the invitations that were sent by e-mail; POST adds some, sends failed ones again, or erases an address."""
    study = study_led_by(cast(User, request.user), slug)
    mailed = study.cohorts.exclude(kind=Cohort.Kind.CROWD).select_related("study__workspace")
    cohort = get_object_or_404(mailed, pk=cohort_id)
    if request.method != "POST":
        return _page(request, study, cohort)
    user = cast(User, request.user)
    match request.POST.get("do"):
        case "invite":
            entered = str(storable(str(request.POST.get("addresses", ""))))[:LONGEST_LIST]
            try:
                origin = request.build_absolute_uri("/")
                new, known = invite(cohort, addresses_in(entered), origin=origin, by=user, clock=timezone.now)
            except MailRefused as refusal:
                return _page(request, study, cohort, entered=entered, error=str(refusal), status=422)
            _told(request, new, known)
        case "resend":
            count = resend_failed(cohort, by=user)
            messages.success(
                request,
                ngettext("%(n)s message is sent again.", "%(n)s messages are sent again.", count) % {"n": count},
            )
        case "erase":
            row = request.POST.get("row", "")
            if not row.isdecimal() or not erase_address(cohort, int(row), by=user):
                raise Http404
            messages.success(request, _("The address has been erased."))
        case _:
            raise Http404
    return redirect("annotation:mail_invitations", study, cohort.pk)


def _told(request: HttpRequest, new: int, known: int) -> None:
    if new:
        words = ngettext("%(n)s invitation will be sent.", "%(n)s invitations will be sent.", new)
        messages.success(request, words % {"n": new})
    if known:
        words = ngettext(
            "%(n)s address was invited before and gets no second message.",
            "%(n)s addresses were invited before and get no second message.",
            known,
        )
        messages.info(request, words % {"n": known})


def _page(
    request: HttpRequest, study: Study, cohort: Cohort, *, entered: str = "", error: str = "", status: int = 200
) -> HttpResponse:
    rows = cohort.mailed_invitations.order_by("-pk")
    page = Paginator(rows, AT_ONCE).get_page(request.GET.get("page"))
    if any(row.address for row in page):
        note_reading(study, cast(User, request.user), clock=timezone.now)
    counted = dict(rows.order_by().values_list("state").annotate(n=Count("pk")))
    failed = rows.filter(state=MailedInvitation.State.FAILED, used_at=None).exclude(address="")
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "cohort": cohort,
        "is_set_up": is_mail_set_up(),
        "page": page,
        "sent": counted.get("sent", 0),
        "waiting": counted.get("waiting", 0) + counted.get("sending", 0),
        "failed": failed.count(),
        "joined": rows.exclude(used_at=None).count(),
        "left": left_today(cohort, clock=timezone.now),
        "entered": entered,
        "error": error,
    }
    return render(request, "annotation/mail_invitations.html", context, status=status)

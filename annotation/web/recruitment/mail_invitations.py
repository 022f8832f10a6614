"""The page of the people whom a lead invites one by one: by e-mail, or from an uploaded list with their links."""

from io import StringIO
from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Cohort, MailedInvitation, Study
from annotation.privacy.reads import note_reading
from annotation.recruitment.mailing import (
    addresses_in,
    erase_address,
    held,
    invite,
    is_mail_set_up,
    left_today,
    resend_failed,
    send_held,
)
from annotation.studies.access import study_led_by
from annotation.studies.provenance import provenance_of
from core.errors import UserError
from core.tables.formula_cells import CsvWriter
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
            except UserError as refusal:
                return _page(request, study, cohort, entered=entered, error=str(refusal), status=422)
            _told(request, new, known)
        case "send":
            try:
                _send(request, cohort, user)
            except UserError as refusal:
                return _page(request, study, cohort, refused=str(refusal), status=422)
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


def _send(request: HttpRequest, cohort: Cohort, user: User) -> None:
    """Send what the lead has confirmed, to as many people as they were shown. Raises UserError."""
    shown = request.POST.get("people", "")
    if not request.POST.get("confirmed") or not (shown.isdecimal() and shown.isascii() and len(shown) < 10):
        raise UserError(_("Confirm that the messages are to be sent. None has been sent."))
    origin = request.build_absolute_uri("/")
    sent = send_held(cohort, expected=int(shown), origin=origin, by=user, clock=timezone.now)
    _told(request, sent, 0)


@results_page
@never_cache
@require_safe
def links(request: HttpRequest, slug: str, cohort_id: int) -> HttpResponse:
    """Serve the people who were invited, each with the link of their own, as CSV. It names people: the read is logged."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    cohort = get_object_or_404(study.cohorts.exclude(kind=Cohort.Kind.CROWD), pk=cohort_id)
    note_reading(study, user, clock=timezone.now)
    file = StringIO()
    writer = CsvWriter(file)
    writer.writerow(["name", "email", "cohort", "link", "state", "joined"])
    for one in cohort.mailed_invitations.exclude(address="", name="").order_by("pk"):
        link = request.build_absolute_uri(reverse("annotation:join", args=[one.token]))
        joined = one.used_at.isoformat(timespec="seconds") if one.used_at else ""
        writer.writerow([one.name, one.address, cohort.name, link, one.state, joined])
    response = HttpResponse(file.getvalue(), content_type="text/csv; charset=utf-8")
    name = slugify(f"{study.slug}-{cohort.name}-links") or "links"
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


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
    request: HttpRequest,
    study: Study,
    cohort: Cohort,
    *,
    entered: str = "",
    error: str = "",
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    rows = cohort.mailed_invitations.order_by("-pk")
    page = Paginator(rows, AT_ONCE).get_page(request.GET.get("page"))
    if any(row.address or row.name for row in page):
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
        "held": held(cohort).count(),
        "listed": rows.exclude(name="", address="").exists(),
        "refused": refused,
        "left": left_today(cohort, clock=timezone.now),
        "entered": entered,
        "error": error,
    }
    return render(request, "annotation/mail_invitations.html", context, status=status)

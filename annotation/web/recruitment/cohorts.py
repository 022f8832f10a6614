"""A lead's page of cohorts and raters: entry links, joins, stopped raters, and tasks that nobody could rate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db import IntegrityError
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.members.changes import NewAccount, PeopleRefused
from accounts.models import User
from accounts.permissions import results_page
from accounts.sign_in.client_address import is_internal
from annotation.assignment.leases import GIVEN
from annotation.assignment.rater_status import APPEAL, cause_words, pause, resume
from annotation.counters.work import work_of
from annotation.models import (
    Assignment,
    BrowserRequest,
    CheckOutcome,
    Cohort,
    Flag,
    Rater,
    RefusedAddress,
    Standing,
    Study,
    Task,
)
from annotation.monitoring import skipped_tasks
from annotation.policies.policies import CONTROL, GOLD, Policies
from annotation.policies.quality_checks import QUALIFICATION, check_policies
from annotation.privacy.erasure import erase_rater
from annotation.privacy.reads import note_reading
from annotation.recruitment import minimum
from annotation.recruitment.cohorts import (
    LONGEST_CODE,
    OUTCOMES,
    change_codes,
    change_platform_workspace,
    erase_identity,
    make_accounts,
    make_cohort,
    renew_link,
    revoke_link,
)
from annotation.recruitment.join_limits import JOINS_AN_HOUR, MOST_JOINS_AN_HOUR, change_join_limit, waiting_at
from annotation.recruitment.participants import settle, waiting_requests
from annotation.recruitment.qr_codes import qr_code
from annotation.studies.access import study_led_by
from annotation.studies.provenance import provenance_of
from annotation.web.monitoring.returning import back_to_dashboard_or
from annotation.web.rating.forms import (
    SKIP_REASONS,
    AccountsForm,
    CohortForm,
    JoinLimitForm,
    MinimumForm,
    SignedLinksForm,
)
from core.errors import UserError
from core.text import storable

RATERS_A_PAGE = 100


@dataclass
class Door:
    """One cohort as the page shows it."""

    cohort: Cohort
    address: str
    is_open: bool
    number: str
    """The place of the cohort on the page, for the ids of its fields."""
    joined: int = 0
    rating: int = 0
    stopped: int = 0
    screened_out: int = 0
    waiting: int = 0
    refused: list[RefusedAddress] = field(default_factory=list)

    @property
    def twice_as_many(self) -> int:
        """The doubled limit that the page offers as a button."""
        return min(MOST_JOINS_AN_HOUR, 2 * (self.cohort.joins_per_hour or 0))

    @property
    def qr(self) -> str:
        """The entry link as a QR code in SVG."""
        return qr_code(self.address, str(_("QR code of the entry link")))

    @property
    def refused_inside(self) -> bool:
        """Whether a refused address belongs to the server's own network, perhaps an unlisted proxy."""
        return any(is_internal(row.address) for row in self.refused)


@dataclass
class Person:
    """One rater as the page shows it; `checks` is (passed, answered) of gold items and attention checks."""

    rater: Rater
    state: str
    state_name: str
    cause: str
    answered: int
    skipped: int
    checks: tuple[int, int]
    qualification: tuple[int, int]
    appeal: str
    known_as: str


def doors(request: HttpRequest, study: Study) -> list[Door]:
    """The study's cohorts with the number of raters in each, and the addresses that their limits refused."""
    state = Standing.State
    counted = (
        Cohort.objects.filter(study=study)
        .prefetch_related("refused_addresses")
        .annotate(
            joined=Count("raters"),
            rating=Count("raters", filter=Q(raters__standing__state=state.RATING)),
            stopped=Count("raters", filter=Q(raters__standing__state__in=[state.PAUSED, state.FAILED])),
            screened_out=Count("raters", filter=Q(raters__standing__state=state.SCREENED_OUT)),
        )
    )
    now = timezone.now()
    found = []
    for number, cohort in enumerate(counted, 1):
        address = request.build_absolute_uri(reverse("annotation:join", args=[cohort.entry_token]))
        is_open = cohort.revoked_at is None and (cohort.expires_at is None or cohort.expires_at > now)
        counts = {name: getattr(cohort, name) for name in ("joined", "rating", "stopped", "screened_out")}
        waiting = waiting_at(cohort, now).count()
        refused = list(cohort.refused_addresses.all())
        found.append(Door(cohort, address, is_open, str(number), waiting=waiting, refused=refused, **counts))
    return found


def people_of(study: Study, number: str | None = None) -> tuple[Page[Person], int]:
    """One page of the study's raters, first those who need a decision, and the number of open appeals.

    At most eight queries for any number of raters.
    """
    appeals = dict(Flag.objects.filter(rater__study=study, kind=APPEAL, resolved_at=None).values_list("rater", "text"))
    given = _answers_given(study)
    waiting = (Standing.State.PAUSED, Standing.State.FAILED)
    states = Rater.objects.filter(study=study, kind=Rater.Kind.PERSON).values_list("pk", "standing__state")
    order = sorted(
        states, key=lambda row: (row[0] not in appeals, row[1] not in waiting, -given.get(row[0], 0), row[0])
    )
    page: Page[Any] = Paginator(order, RATERS_A_PAGE).get_page(number)
    keys = [pk for pk, _state in page.object_list]
    raters = Rater.objects.select_related("standing", "cohort", "identity", "user").in_bulk(keys)
    work = {
        row["rater"]: row
        for row in Assignment.objects.filter(rater__in=keys)
        .order_by()
        .values("rater")
        .annotate(answered=Count("pk", filter=GIVEN), skipped=Count("pk", filter=Q(status=Assignment.Status.SKIPPED)))
    }
    checks: dict[tuple[int, bool], tuple[int, int]] = {}
    outcomes = CheckOutcome.objects.filter(assignment__rater__in=keys, purpose__in=[GOLD, CONTROL, QUALIFICATION])
    counted = outcomes.order_by().values_list("assignment__rater", "purpose", "passed").annotate(n=Count("pk"))
    for rater, purpose, passed, n in counted:
        right, of = checks.get((rater, purpose == QUALIFICATION), (0, 0))
        checks[rater, purpose == QUALIFICATION] = right + n * passed, of + n
    page.object_list = [_person(raters[pk], work.get(pk, {}), checks, appeals.get(pk, "")) for pk in keys]
    return page, len(appeals)


def _answers_given(study: Study) -> dict[int, int]:
    """About how many answers each rater gave, by which the page is ordered: from the kept counts where there are any."""
    kept = work_of(study)
    if kept is not None:
        return {pk: row["given"] - row["skipped"] for pk, row in kept.raters.items()}
    given = Assignment.objects.filter(GIVEN, rater__study=study).order_by()
    return dict(given.values_list("rater").annotate(Count("pk")))


def _person(
    rater: Rater, work: Mapping[str, Any], checks: dict[tuple[int, bool], tuple[int, int]], appealed: str
) -> Person:
    standing = getattr(rater, "standing", None)
    identity = getattr(rater, "identity", None)
    known = [str(rater.user)] if rater.user else []
    if identity is not None:
        known += [part for part in (identity.name, identity.key) if part and part not in known]
    return Person(
        rater=rater,
        state=standing.state if standing else Standing.State.RATING,
        state_name=str(standing.get_state_display() if standing else Standing.State.RATING.label),
        cause=cause_words(standing),
        answered=work.get("answered", 0),
        skipped=work.get("skipped", 0),
        checks=checks.get((rater.pk, False), (0, 0)),
        qualification=checks.get((rater.pk, True), (0, 0)),
        appeal=appealed,
        known_as=" · ".join(known),
    )


def _render(
    request: HttpRequest,
    study: Study,
    *,
    form: CohortForm | None = None,
    accounts: list[NewAccount] | None = None,
    known: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    reasons = dict(SKIP_REASONS)
    nobody = [
        (item, [(reasons.get(reason, reason), n) for reason, n in item.reasons])
        for item in skipped_tasks.skipped_by_all(study)
    ]
    (people, appeals), policies = people_of(study, request.GET.get("page")), Policies.of(study)
    if any(person.known_as for person in people):
        note_reading(study, cast(User, request.user), clock=timezone.now)
    shown = doors(request, study)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "doors": shown,
        "page": people,
        "waiting": appeals,
        "browsers": waiting_requests(study),
        "minimum": minimum.minimum_of(study),
        "stated": policies.minimum,
        "quota": policies.quota,
        "nobody": nobody,
        "form": form or CohortForm(initial={"joins_per_hour": JOINS_AN_HOUR}),
        "refused": sum(row.refused for door in shown for row in door.refused),
        "accounts": accounts or [],
        "known_accounts": known or [],
        "plan": check_policies(study),
    }
    return render(request, "annotation/cohorts.html", context, status=status)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def cohorts(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the study's cohorts and raters; POST creates a cohort."""
    study = study_led_by(cast(User, request.user), slug)
    if request.method != "POST":
        return _render(request, study)
    form = CohortForm(request.POST)
    if not form.is_valid():
        return _render(request, study, form=form, status=422)
    days = form.cleaned_data["days"]
    try:
        make_cohort(
            study,
            form.cleaned_data["name"],
            form.cleaned_data["kind"],
            consents=form.consents(),
            expires_at=timezone.now() + timedelta(days=days) if days else None,
            joins_per_hour=form.cleaned_data["joins_per_hour"],
            by=cast(User, request.user),
        )
    except IntegrityError:
        form.add_error("name", _("The study already has a cohort with this name. Choose another name."))
        return _render(request, study, form=form, status=422)
    messages.success(request, _("The cohort has been created. Its entry link is shown below."))
    return redirect("annotation:cohorts", study)


@results_page
@require_POST
def change_cohort(request: HttpRequest, slug: str, cohort_id: int) -> HttpResponse:
    """Revoke or renew a link, change a cohort's codes or join limit, or create accounts for it."""
    study = study_led_by(cast(User, request.user), slug)
    user = cast(User, request.user)
    cohort = get_object_or_404(study.cohorts.select_related("study"), pk=cohort_id)
    match request.POST.get("do"):
        case "revoke":
            revoke_link(cohort, clock=timezone.now, by=user)
            messages.success(request, _("The link has been revoked. Raters who have already joined can continue."))
        case "renew":
            renew_link(cohort, expires_at=timezone.now() + timedelta(days=30), by=user)
            messages.success(request, _("The cohort has a new link, which is valid for 30 days."))
        case "codes":
            codes = {name: storable(str(request.POST.get(name, ""))).strip()[:LONGEST_CODE] for name in OUTCOMES}
            change_codes(cohort, {name: code for name, code in codes.items() if code}, by=user)
            messages.success(request, _("The completion codes have been changed."))
        case "signed":
            _change_signed(request, cohort)
        case "joins":
            limit = JoinLimitForm(request.POST)
            if limit.is_valid():
                change_join_limit(cohort, limit.cleaned_data["joins_per_hour"], by=user)
                messages.success(
                    request, _("The limit for joining has been changed. People who were refused can try again now.")
                )
            else:
                messages.error(request, str(limit.errors["joins_per_hour"][0]))
        case "accounts":
            form = AccountsForm(request.POST)
            if not form.is_valid():
                messages.error(request, str(form.errors["usernames"][0]))
                return redirect("annotation:cohorts", study)
            try:
                made, known = make_accounts(cohort, form.cleaned_data["usernames"], by=user)
            except PeopleRefused as refusal:
                messages.error(request, str(refusal))
                return redirect("annotation:cohorts", study)
            return _render(request, study, accounts=made, known=known)
        case _:
            raise Http404
    return redirect("annotation:cohorts", study)


def _change_signed(request: HttpRequest, cohort: Cohort) -> None:
    """Accept only links signed by Prolific, or any link."""
    form = SignedLinksForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("A Prolific workspace ID contains only letters and digits."))
        return
    workspace = form.cleaned_data["workspace"]
    try:
        change_platform_workspace(cohort, workspace, by=cast(User, request.user))
    except UserError as problem:
        messages.error(request, str(problem))
        return
    if workspace:
        messages.success(request, _("The cohort now accepts only links signed by Prolific."))
    else:
        messages.success(request, _("The cohort now also accepts unsigned links."))


@results_page
@require_POST
def change_minimum(request: HttpRequest, slug: str) -> HttpResponse:
    """Set the minimum for completion."""
    study = study_led_by(cast(User, request.user), slug)
    form = MinimumForm(request.POST)
    if form.is_valid():
        minimum.change_minimum(study, minimum.stated_in(form.cleaned_data), by=cast(User, request.user))
        messages.success(request, _("The minimum for completion has been changed."))
    else:
        messages.error(
            request, _("Nothing was changed. Enter whole numbers, and a percentage of checks from 1 to 100.")
        )
    return redirect("annotation:cohorts", study)


@results_page
@require_POST
def answer_browser(request: HttpRequest, slug: str, request_id: int) -> HttpResponse:
    """Allow or refuse a request to continue as a rater in another browser."""
    study = study_led_by(cast(User, request.user), slug)
    asked = get_object_or_404(
        BrowserRequest.objects.select_related("participant__rater"), participant__study=study, pk=request_id
    )
    admit = request.POST.get("do") == "admit"
    if not admit and request.POST.get("do") != "refuse":
        raise Http404
    named = {"rater": asked.participant.rater.name, "number": asked.number}
    if not settle(asked, admit=admit, by=cast(User, request.user)):
        messages.info(request, _("Request %(number)s has already been answered.") % named)
    elif admit:
        messages.success(request, _("The other browser can now continue as %(rater)s.") % named)
    else:
        messages.success(request, _("Request %(number)s has been refused.") % named)
    return redirect("annotation:cohorts", study)


@results_page
@require_POST
def change_rater(request: HttpRequest, slug: str, rater_id: str) -> HttpResponse:
    """Pause or resume a rater, or erase their identity."""
    study = study_led_by(cast(User, request.user), slug)
    user = cast(User, request.user)
    rater = get_object_or_404(Rater, study=study, kind=Rater.Kind.PERSON, public_id=rater_id)
    name = {"rater": rater.name}
    match request.POST.get("do"):
        case "pause":
            pause(rater, message=storable(str(request.POST.get("message", "")))[:1000], by=user)
            messages.success(request, _("%(rater)s has been paused.") % name)
        case "resume":
            resume(rater, clock=timezone.now, by=user)
            messages.success(request, _("%(rater)s can continue.") % name)
        case "erase":
            erase_identity(rater, by=user)
            messages.success(request, _("The identity of %(rater)s has been erased. Their ratings are kept.") % name)
        case "erase_all":
            erase_rater(rater, by=user)
            messages.success(
                request, _("All personal data of %(rater)s has been erased. Their ratings are kept.") % name
            )
        case _:
            raise Http404
    return back_to_dashboard_or(request, study, "annotation:cohorts")


@results_page
@require_POST
def set_aside(request: HttpRequest, slug: str, task_id: str) -> HttpResponse:
    """Remove a task that nobody could rate from the study."""
    study = study_led_by(cast(User, request.user), slug)
    task = get_object_or_404(Task.objects.select_related("study"), study=study, public_id=task_id)
    skipped_tasks.set_aside(task, by=cast(User, request.user))
    messages.success(request, _("The task has been removed from the study. Its skips are kept."))
    return back_to_dashboard_or(request, study, "annotation:cohorts")

"""Who is rating, in which study, and how far they are. Every page for raters asks this module and no other.

A rater is identified by the account they signed in with or, without an account, by a signed cookie that names the
raters as whom this browser has joined.
"""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.signing import BadSignature
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers

from accounts.models import User, Workspace
from annotation.models import GIVEN, Assignment, Cohort, Rater, Seat, Study, still_admitted
from core.web.access import visible_or_404
from core.web.addresses import of_full_slug

COOKIE = "plumbline-rater"
COOKIE_SALT = "annotation.recruitment.participation"
CAME_COOKIE = "plumbline-came-in"
CAME_SECONDS = 60
BROWSER_COOKIE = "plumbline-browser"
COOKIE_SECONDS = 180 * 86400
MOST_RATERS_A_BROWSER = 12
NAME_ATTEMPTS = 200


@dataclass(frozen=True)
class Participation:
    """One study as the rater's home page shows it."""

    study: Study
    submitted: int
    has_open: bool


def browser_raters(request: HttpRequest) -> list[str]:
    """Return the public ids of the raters without an account as whom this browser joined, the latest last.

    The list is empty for a forged cookie.
    """
    try:
        named = request.get_signed_cookie(COOKIE, "", salt=COOKIE_SALT, max_age=COOKIE_SECONDS)
    except BadSignature:
        return []
    return [name for name in str(named).split(" ") if name]


def _set_names(response: HttpResponse, cookie: str, value: str, seconds: int) -> None:
    secure = settings.SESSION_COOKIE_SECURE
    response.set_signed_cookie(
        cookie, value, salt=COOKIE_SALT, max_age=seconds, httponly=True, samesite="Lax", secure=secure
    )


def remember_rater(
    request: HttpRequest, response: HttpResponse, rater: Rater, *, forget: Iterable[str] = ()
) -> HttpResponse:
    """Make the browser return as this rater too, and no longer as those in `forget`."""
    left_out = {rater.public_id, *forget}
    names = [name for name in browser_raters(request) if name not in left_out] + [rater.public_id]
    _set_names(response, COOKIE, " ".join(names[-MOST_RATERS_A_BROWSER:]), COOKIE_SECONDS)
    return response


def raters_held(request: HttpRequest, study: Study) -> list[Rater]:
    """Return the study's raters without an account as whom this browser joined, the latest first."""
    names = browser_raters(request)
    if not names:
        return []
    found = Rater.objects.filter(study=study, user=None, public_id__in=names)
    return list(found.select_related("standing", "cohort").order_by("-pk"))


def end_sessions(request: HttpRequest, response: HttpResponse, raters: Iterable[Rater]) -> HttpResponse:
    """Make the browser forget these raters and that they began in it."""
    ended = {rater.public_id for rater in raters}
    names = [name for name in browser_raters(request) if name not in ended]
    _set_names(response, COOKIE, " ".join(names), COOKIE_SECONDS)
    response.delete_cookie(CAME_COOKIE)
    return keep_secret(response, secrets.token_urlsafe(24))


def browser_secret(request: HttpRequest) -> str:
    """Return the secret that identifies this browser, or '' if it has none yet."""
    try:
        kept = request.get_signed_cookie(BROWSER_COOKIE, "", salt=COOKIE_SALT, max_age=COOKIE_SECONDS)
    except BadSignature:
        return ""
    return str(kept)


def keep_secret(response: HttpResponse, secret: str = "") -> HttpResponse:  # nosec B107 # a new one is drawn
    """Store a secret in the browser, a new one if none is given; it identifies nobody by name."""
    _set_names(response, BROWSER_COOKIE, secret or secrets.token_urlsafe(24), COOKIE_SECONDS)
    return response


def note_coming(response: HttpResponse, rater: Rater, address: str) -> HttpResponse:
    """Note for the next page who sent the form, so that it does not ask who is there."""
    _set_names(response, CAME_COOKIE, f"{rater.public_id} {address}", CAME_SECONDS)
    return response


def is_coming(request: HttpRequest, rater: Rater) -> bool:
    """Return whether this rater came from a form of the previous page; a page that relies on the note removes it."""
    try:
        named = request.get_signed_cookie(CAME_COOKIE, "", salt=COOKIE_SALT, max_age=CAME_SECONDS)
    except BadSignature:
        return False
    return bool(named == f"{rater.public_id} {request.get_full_path()}")


def is_mine(request: HttpRequest, prefix: str = "") -> Q:
    """Return a filter for the raters for whom this request acts; `prefix` leads to them ("rater__").

    An account that was removed from a workspace acts for its raters there only where it joined by a public or crowd link.
    """
    names = browser_raters(request)
    mine = Q(**{f"{prefix}public_id__in": names, f"{prefix}user": None}) if names else Q(pk__in=[])
    if isinstance(request.user, User):
        by_account = Q(**{f"{prefix}user": request.user}) & still_admitted(prefix)
        return by_account | mine if names else by_account
    return mine


def rater_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view for people with an account or a rater's cookie; everybody else is told how to come back."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated or browser_raters(request):
            return view(request, *args, **kwargs)
        return way_back(request, str(kwargs.get("assignment_id", "")))

    return guarded


def way_back(request: HttpRequest, assignment_id: str = "") -> HttpResponse:
    """Ask whoever has an account to sign in, and show everybody else the way back by the link they came in by.

    The page is the same for every task and study, whether or not there is one, and names no link: only this browser may
    remember the public link by which somebody joined.
    """
    if assignment_id and Assignment.objects.filter(public_id=assignment_id, rater__user__isnull=False).exists():
        return redirect_to_login(request.get_full_path())
    response = render(request, "annotation/way_back.html", status=403)
    add_never_cache_headers(response)
    return response


def may_rate(user: User) -> Q:
    """Return the studies of the workspaces to which a user belongs and those that they joined by a link."""
    return Q(workspace__in=Workspace.objects.filter(memberships__user=user)) | Q(
        pk__in=Rater.objects.filter(still_admitted(), user=user, study__isnull=False).values("study")
    )


def studies_to_rate(request: HttpRequest) -> QuerySet[Study]:
    """Return the studies in which the visitor may rate."""
    allowed = Q(pk__in=Rater.objects.filter(is_mine(request), study__isnull=False).values("study"))
    if isinstance(request.user, User):
        allowed |= may_rate(request.user)
    return Study.objects.filter(allowed).exclude(status=Study.Status.DRAFT).select_related("guideline", "workspace")


def study_to_rate(request: HttpRequest, slug: str) -> Study:
    """Return the study of this full slug if the visitor may rate in it. Raises Http404 as if it did not exist."""
    return visible_or_404(of_full_slug(studies_to_rate(request), slug))


def rater_known(request: HttpRequest, study: Study) -> Rater | None:
    """Return the visitor's rater in the study, by account first and otherwise the one as whom this browser joined last."""
    found = Rater.objects.filter(is_mine(request), study=study).select_related("standing", "cohort", "participant")
    return max(found, key=lambda rater: (rater.user_id is not None, rater.pk), default=None)


def rater_for(request: HttpRequest, study: Study) -> Rater:
    """Return the visitor's rater in the study, created on first use for a member of the workspace. Raises Http404."""
    rater = rater_known(request, study)
    if rater is not None:
        return rater
    if not isinstance(request.user, User):
        raise Http404
    return rater_in(study, request.user)


def make_rater(study: Study, *, user: User | None = None, cohort: Cohort | None = None) -> Rater:
    """Create a new rater of the study, named R1, R2, ...; the identity is stored separately (RaterIdentity).

    Raises IntegrityError if the user is a rater of the study already.
    """
    number = Rater.objects.filter(study=study, kind=Rater.Kind.PERSON).count() + 1
    for further in range(NAME_ATTEMPTS):
        name = f"R{number + further}"
        try:
            with transaction.atomic():
                return Rater.objects.create(
                    workspace_id=study.workspace_id, study=study, user=user, cohort=cohort, label=name, pseudonym=name
                )
        except (
            IntegrityError
        ):  # the name is taken by a simultaneous request or by a rater in the data, or the user is a rater already
            if user is not None and Rater.objects.filter(study=study, user=user).exists():
                raise
    raise IntegrityError(f"No name is free for another rater of study {study.slug}.")


def rater_in(study: Study, user: User) -> Rater:
    """Return the user's rater in the study, created on first use."""
    rater = Rater.objects.filter(study=study, user=user).first()
    if rater is not None:
        return rater
    try:
        return make_rater(study, user=user)
    except IntegrityError:  # another tab created it
        return Rater.objects.get(study=study, user=user)


def participations(user: User) -> list[Participation]:
    """Return the user's open studies, those with work in progress first; two queries, however many there are."""
    seats = Seat.objects.filter(study=OuterRef("pk"))
    open_studies = Study.objects.filter(may_rate(user), Exists(seats), status=Study.Status.OPEN, archived_at=None)
    studies = list(open_studies.select_related("workspace").order_by("-created_at"))
    status = Assignment.Status
    own = {
        row["rater__study"]: row
        for row in Assignment.objects.filter(rater__user=user, rater__study__in=studies)
        .values("rater__study")
        .annotate(submitted=Count("pk", filter=Q(status__in=GIVEN)), opened=Count("pk", filter=Q(status=status.OPEN)))
    }
    none: dict[str, int] = {"submitted": 0, "opened": 0}
    found = [
        Participation(study, own.get(study.pk, none)["submitted"], bool(own.get(study.pk, none)["opened"]))
        for study in studies
    ]
    return sorted(found, key=lambda participation: not participation.has_open)

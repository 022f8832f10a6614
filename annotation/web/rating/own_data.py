"""What a person gave, as a file, and its erasure: for an account, and for a rater who came by a link."""

from typing import Any, cast

from django.contrib.auth import authenticate, logout
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Event, User
from annotation.models import Rater
from annotation.privacy.erasure import erase_account, erase_rater, what_account_loses
from annotation.privacy.own_data import data_of, own_data_of, raters_of
from annotation.recruitment.participation import end_sessions, rater_known, rater_page, study_to_rate
from annotation.studies.nouns import in_words
from core.errors import UserError

CONFIRMED = "erase"
FRESH_SECONDS = 600
"""An account without a password, such as one of OpenID Connect, erases itself within so long after signing in."""


def _file(data: dict[str, Any], name: str) -> HttpResponse:
    response = JsonResponse(data, json_dumps_params={"indent": 2, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response


@login_required
@never_cache
@require_safe
def account_data(request: HttpRequest) -> HttpResponse:
    """Everything that the account and its raters gave."""
    return _file(own_data_of(cast(User, request.user)), "plumbline-my-data")


@rater_page
@never_cache
@require_safe
def rater_data(request: HttpRequest, slug: str) -> HttpResponse:
    """Everything that one rater of a study gave."""
    rater = _rater(request, slug)
    Event.objects.create(
        workspace_id=rater.workspace_id,
        actor=rater.user,
        verb="export_own_data",
        object_type="rater",
        object_id=rater.public_id,
    )
    return _file(data_of(None, [rater]), f"plumbline-{slug.rpartition('/')[2]}")


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def erase_own_account(request: HttpRequest) -> HttpResponse:
    """Erase one's own account, confirmed by the password, or soon after signing in where the account has none."""
    user = cast(User, request.user)
    error, status = "", 200
    if request.method == "POST":
        error, status = _why_not(request, user), 422
        if not error:
            try:
                erase_account(user, by=user)
            except UserError as problem:
                error, status = str(problem), 409
            else:
                logout(request)
                return render(request, "annotation/erased.html")
    lost = in_words(what_account_loses(user))
    context = {"error": error, "lost": lost, "raters": len(raters_of(user)), "asks": user.has_usable_password()}
    return render(request, "annotation/erase_account.html", context, status=status)


def _why_not(request: HttpRequest, user: User) -> str:
    """Why this person is not known to be the owner of the account; '' where they are."""
    if not user.has_usable_password():
        signed_in = user.last_login
        fresh = signed_in is not None and (timezone.now() - signed_in).total_seconds() < FRESH_SECONDS
        return "" if fresh else _("Sign in again and then erase your account within ten minutes.")
    # Counted as an attempt to sign in, so that an open session does not let anybody guess the password.
    known = authenticate(request, username=user.username, password=request.POST.get("password", ""))
    return "" if known is not None and known.pk == user.pk else _("This is not your password.")


@rater_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def erase_own(request: HttpRequest, slug: str) -> HttpResponse:
    """Erase who a rater without an account is; their browser's cookie is what identifies them."""
    rater = _rater(request, slug)
    if rater.user_id is not None:
        return redirect("annotation:erase_own_account")
    if request.method == "POST" and request.POST.get("confirm") == CONFIRMED:
        erase_rater(rater, by=None)
        return end_sessions(request, render(request, "annotation/erased.html"), [rater])
    context = {"study": rater.study, "error": request.method == "POST"}
    return render(request, "annotation/erase_own.html", context, status=422 if context["error"] else 200)


def _rater(request: HttpRequest, slug: str) -> Rater:
    rater = rater_known(request, study_to_rate(request, slug))
    if rater is None:
        raise Http404
    return rater

"""The rule that owners, leads and administrators must have a second factor, where the operator turns it on."""

from collections.abc import Callable
from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.permissions import LEADING, roles_of
from core.web.api_errors import for_program, told

KNOWN = "second_factor"
"""The session's note that its account has a second factor."""


class SecondFactorMiddleware:
    """Lead people who must have a second factor, and have none, to the page where they add one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, options: Any
    ) -> HttpResponse | None:
        user = request.user
        if not isinstance(user, User) or _is_open(request.path) or not _lacks(request, user):
            return None
        sentence = _("Your role requires a second factor. Add one to go on.")
        if for_program(request):
            return told(sentence, 403)
        messages.warning(request, sentence)
        return redirect("mfa_index")


def _is_open(path: str) -> bool:
    """Return whether the page is needed to add a second factor, or to leave."""
    pages = ("mfa_index", "account_reauthenticate", "account_logout", "accounts:change_password", "set_language")
    return any(path.startswith(reverse(page)) for page in pages)


def _lacks(request: HttpRequest, user: User) -> bool:
    if request.session.get(KNOWN):
        return False
    if not user.is_staff and roles_of(user).isdisjoint(LEADING):
        return False
    if not is_mfa_enabled(user):
        return True
    request.session[KNOWN] = True
    return False

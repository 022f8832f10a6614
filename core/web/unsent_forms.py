"""Forms that were not accepted because their page is older than the current sign-in or the session had ended.

The entries are offered again, to be sent by a click and never automatically. Only what a page of this site sent is
offered, only to a signed-in user, and never a password or a file. The entries travel through the browser and are stored
nowhere.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import requires_csrf_token

from core.web.notices import asks_for_part, notice

PACKED = "unsent"
"""The field of the sign-in form that carries the form that was not accepted."""
KEPT_SECONDS = 24 * 3600
LINE = 80
TOKEN = "csrfmiddlewaretoken"  # nosec B105 # the name of a field
SECRET = re.compile("password|secret", re.IGNORECASE)
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True)
class UnsentForm:
    """A form with the `address` to which it was sent (path and query string) and its `fields` (names and values)."""

    address: str
    fields: tuple[tuple[str, str], ...]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The long entries."""
        return [field for field in self.fields if _is_long(field[1])]

    @property
    def others(self) -> list[tuple[str, str]]:
        return [field for field in self.fields if not _is_long(field[1])]

    @property
    def packed(self) -> str:
        """The signed form, so that what is offered after signing in is what was kept before."""
        return signing.dumps([self.address, self.fields], salt=__name__, compress=True)

    @classmethod
    def unpacked(cls, packed: str) -> Self | None:
        """Return the form, or None if this site did not pack the text or packed it too long ago."""
        try:
            address, fields = signing.loads(packed, salt=__name__, max_age=KEPT_SECONDS)
        except signing.BadSignature:
            return None
        return cls(address, tuple((name, value) for name, value in fields))


def unsent_form(request: HttpRequest) -> UnsentForm | None:
    """Return the form that the request sent or carries, or None if it may not be offered again."""
    if request.method != "POST" or request.content_type not in FORMS or not from_own_page(request):
        return None
    try:
        sent = request.POST
    except OSError:  # the client has disconnected
        return None
    if PACKED in sent:
        return UnsentForm.unpacked(sent[PACKED])
    if request.path == reverse("set_language"):  # it returns to the page that sent it, which would be the offer itself
        return None
    if request.FILES or any(SECRET.search(name) for name in sent):
        return None
    fields = ((name, str(value)) for name, values in sent.lists() if name != TOKEN for value in values)
    return UnsentForm(request.get_full_path(), tuple(fields))


def from_own_page(request: HttpRequest) -> bool:
    """Return whether the browser says that a page of this site sent the request; False if it says nothing."""
    try:
        said = urlsplit(request.headers.get("Origin") or request.headers.get("Referer", ""))
    except ValueError:
        return False
    own = (f"{request.scheme}://{request.get_host()}", *settings.CSRF_TRUSTED_ORIGINS)
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    return site == "same-origin" and f"{said.scheme}://{said.netloc}" in own


@requires_csrf_token
def form_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form whose CSRF token does not belong to the current sign-in; Django logs the `reason`."""
    if asks_for_part(request):
        return notice(
            request,
            _(
                "You have signed in again since you opened this page, so nothing was changed. Open the page again and "
                "retry."
            ),
        )
    # For a person without an account, or a browser without cookies, the page alone is enough.
    form = unsent_form(request) if request.user.is_authenticated else None
    if form is not None:
        return offer_again(request, form, status=403)
    context = {"own": from_own_page(request), "page": _page_before(request)}
    return _uncached(render(request, "403_form.html", context, status=403))


def offer_again(request: HttpRequest, form: UnsentForm, *, status: int = 200) -> HttpResponse:
    """Return the page that holds the form, to be sent again; it has sign-in fields if the reader is not signed in."""
    return _uncached(render(request, "accounts/unsent_form.html", {"unsent": form}, status=status))


class KeepFormMiddleware:
    """If a form leads to signing in because the session had ended, keep what was typed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not _leads_to_sign_in(request, response) or asks_for_part(request):
            return response
        form = unsent_form(request)
        return response if form is None else offer_again(request, form, status=403)


def _leads_to_sign_in(request: HttpRequest, response: HttpResponse) -> bool:
    """Return whether the response redirects a form to the sign-in page and the browser will show that page.

    A script that sends a form waits for the address instead and does not show the page.
    """
    if request.method != "POST" or response.status_code != 302:
        return False
    to = urlsplit(response["Location"])
    back = parse_qs(to.query).get("next", [""])[0]
    shown = request.headers.get("Sec-Fetch-Mode") == "navigate"
    return shown and to.path == resolve_url(settings.LOGIN_URL) and back == request.get_full_path()


def _page_before(request: HttpRequest) -> str:
    """Return the address of the page that sent the request, or '' if it is not a page of this site."""
    if not from_own_page(request):
        return ""
    before = urlsplit(request.headers.get("Referer", ""))
    path = before.path if before.netloc == request.get_host() and not before.path.startswith("//") else ""
    return f"{path}?{before.query}" if path and before.query else path


def _is_long(value: str) -> bool:
    return len(value) > LINE or "\n" in value


def _uncached(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    return response

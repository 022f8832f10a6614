"""A form that was not accepted, because its page is older than the current sign-in or the session had ended.

The entries are offered again, to be resent by a click and never automatically; only what this site's own page sent,
only to a signed-in user, and never a password or a file. They travel through the browser and are stored nowhere.
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
"""The name under which a form for signing in carries the form that was not taken."""
KEPT_SECONDS = 24 * 3600
LINE = 80
TOKEN = "csrfmiddlewaretoken"
SECRET = re.compile("password|secret", re.IGNORECASE)
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True)
class UnsentForm:
    """`address` is the path it was sent to, with what follows the question mark; `fields` are names and values."""

    address: str
    fields: tuple[tuple[str, str], ...]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """What was written at length."""
        return [field for field in self.fields if _is_long(field[1])]

    @property
    def others(self) -> list[tuple[str, str]]:
        return [field for field in self.fields if not _is_long(field[1])]

    @property
    def packed(self) -> str:
        """Signed, so that what is offered after signing in is what was kept before."""
        return signing.dumps([self.address, self.fields], salt=__name__, compress=True)

    @classmethod
    def unpacked(cls, packed: str) -> Self | None:
        """None where the text is nothing this site packed, or packed too long ago."""
        try:
            address, fields = signing.loads(packed, salt=__name__, max_age=KEPT_SECONDS)
        except signing.BadSignature:
            return None
        return cls(address, tuple((name, value) for name, value in fields))


def unsent_form(request: HttpRequest) -> UnsentForm | None:
    """The form that the request sent or carries; None where it may not be offered again."""
    if request.method != "POST" or request.content_type not in FORMS or not from_own_page(request):
        return None
    try:
        sent = request.POST
    except OSError:  # whoever sent it is gone
        return None
    if PACKED in sent:
        return UnsentForm.unpacked(sent[PACKED])
    if request.path == reverse("set_language"):  # leads back to the page it was sent from, which would be itself
        return None
    if request.FILES or any(SECRET.search(name) for name in sent):
        return None
    fields = ((name, str(value)) for name, values in sent.lists() if name != TOKEN for value in values)
    return UnsentForm(request.get_full_path(), tuple(fields))


def from_own_page(request: HttpRequest) -> bool:
    """Whether the browser says that a page of this site sent the request; a browser that says nothing does not."""
    try:
        said = urlsplit(request.headers.get("Origin") or request.headers.get("Referer", ""))
    except ValueError:
        return False
    own = (f"{request.scheme}://{request.get_host()}", *settings.CSRF_TRUSTED_ORIGINS)
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    return site == "same-origin" and f"{said.scheme}://{said.netloc}" in own


@requires_csrf_token
def form_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answers a form whose token is not that of the present sign-in; Django's log has the `reason`."""
    if asks_for_part(request):
        return notice(
            request,
            _(
                "You have signed in again since you opened this page, so nothing was changed. Open the page again and "
                "retry."
            ),
        )
    # Who has no account, or a browser without cookies, is helped by the page alone.
    form = unsent_form(request) if request.user.is_authenticated else None
    if form is not None:
        return offer_again(request, form, status=403)
    context = {"own": from_own_page(request), "page": _page_before(request)}
    return _uncached(render(request, "403_form.html", context, status=403))


def offer_again(request: HttpRequest, form: UnsentForm, *, status: int = 200) -> HttpResponse:
    """The page that holds the form: to be sent again where the reader is signed in, else with fields to sign in."""
    return _uncached(render(request, "accounts/unsent_form.html", {"unsent": form}, status=status))


class KeepFormMiddleware:
    """Where the session had ended, a form leads to signing in together with what was typed, not without it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not _leads_to_sign_in(request, response) or asks_for_part(request):
            return response
        form = unsent_form(request)
        return response if form is None else offer_again(request, form, status=403)


def _leads_to_sign_in(request: HttpRequest, response: HttpResponse) -> bool:
    """A script that sends a form waits for the address; only a page that is left for the next is answered by one."""
    if request.method != "POST" or response.status_code != 302:
        return False
    to = urlsplit(response["Location"])
    back = parse_qs(to.query).get("next", [""])[0]
    shown = request.headers.get("Sec-Fetch-Mode") == "navigate"
    return shown and to.path == resolve_url(settings.LOGIN_URL) and back == request.get_full_path()


def _page_before(request: HttpRequest) -> str:
    """The address of the page that sent the request, empty where it is not one of this site."""
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

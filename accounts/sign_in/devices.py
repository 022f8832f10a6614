"""Device cookies: how a browser shows that an account signed in there before (OWASP, Slow Down Online Guessing Attacks).

The cookie is signed, expires, and lists the last few accounts of the browser, each with a random number of which the
database holds a digest. Each sign-in replaces the number, so a copy of the cookie ends when its owner signs in again.
Deleting the row revokes it. The cookie opens nothing: it only gives the browser failed attempts of its own.
"""

import hashlib
import secrets
from datetime import datetime
from unicodedata import normalize

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from accounts.models import KnownBrowser, User

COOKIE = "plumbline_browser"
SALT = "accounts.sign_in.devices"
MOST_ACCOUNTS = 5
"""Accounts that one browser remembers; a computer that many people share must not send ever longer cookies."""
MOST_BROWSERS = 20
"""Browsers that an account remembers; the ones used longest ago are forgotten."""


def known_browser(request: HttpRequest, name: str) -> str:
    """Return what identifies this browser among those in which the account signed in, or "" if it is none of them."""
    numbers = _numbers(request)
    if not numbers:
        return ""
    rows = KnownBrowser.objects.filter(digest__in=[_digest(number) for number in numbers], made_at__gt=_oldest())
    names = {normalize("NFKC", username): digest for username, digest in rows.values_list("user__username", "digest")}
    return names.get(normalize("NFKC", name), "")


def remember_browser(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Give the browser of a person who has just signed in a new number for the account."""
    numbers = _numbers(request)
    digests = {_digest(number): number for number in numbers}
    rows = KnownBrowser.objects.filter(digest__in=digests)
    own = set(rows.filter(user=user).values_list("digest", flat=True))
    valid = set(rows.values_list("digest", flat=True)) - own
    number = secrets.token_urlsafe(24)
    user.known_browsers.filter(digest__in=own).delete()
    user.known_browsers.filter(made_at__lte=_oldest()).delete()
    user.known_browsers.create(digest=_digest(number))
    kept = user.known_browsers.order_by("-made_at", "-pk").values_list("pk", flat=True)[:MOST_BROWSERS]
    user.known_browsers.exclude(pk__in=list(kept)).delete()
    others = [other for digest, other in digests.items() if digest in valid]
    response.set_cookie(
        COOKIE,
        signing.dumps([number, *others][:MOST_ACCOUNTS], salt=SALT),
        max_age=settings.DEVICE_COOKIE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def forget_browsers(user: User) -> int:
    """Revoke all device cookies of the account; return how many there were."""
    return user.known_browsers.all().delete()[0]


def _numbers(request: HttpRequest) -> list[str]:
    try:
        numbers = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=settings.DEVICE_COOKIE_AGE)
    except signing.BadSignature:
        return []
    return [str(number) for number in numbers][:MOST_ACCOUNTS]


def _oldest() -> datetime:
    return timezone.now() - settings.DEVICE_COOKIE_AGE


def _digest(number: str) -> str:
    return hashlib.sha256(number.encode()).hexdigest()

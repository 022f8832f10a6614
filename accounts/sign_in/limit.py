"""Limits on failed checks of a secret: per account, per account and address, per address, and per known browser.

A browser in which the account signed in before counts by itself (accounts/sign_in/devices.py), so failures of strangers
never keep the owner out, not even behind the same address. All other browsers share the limits of the account and of the
address. A success forgets only the failures of the same account in the same browser, and none of anybody else.
"""

import hashlib
import hmac
from dataclasses import asdict, dataclass
from datetime import datetime
from unicodedata import normalize

from django.conf import settings
from django.db.models import Count, Q
from django.http import HttpRequest

from accounts.models import SignInAttempt, User
from accounts.sign_in.client_address import client_address
from accounts.sign_in.devices import known_browser
from core.clock import Clock
from core.errors import UserError

LIMITED = ("account", "visitor", "address", "device")


class TooManyAttempts(UserError):
    """The secret is not checked; the limit is the same whether or not the account exists."""


@dataclass(frozen=True)
class Counted:
    """Keyed hashes under which an attempt counts; an empty one counts nowhere.

    `visitor` is an account at one address, `device` a known browser of an account; `browser` is what tells the reader's
    own slips from those of others, and has no limit.
    """

    account: str = ""
    visitor: str = ""
    address: str = ""
    device: str = ""
    browser: str = ""


def counted_for(request: HttpRequest, name: str, *, what: str = "sign-in") -> Counted:
    """Return where an attempt at the account called `name` counts; each `what` is counted apart."""
    name = normalize("NFKC", name)
    device = known_browser(request, name)
    if device:
        return Counted(device=keyed(what, name, device))
    address, secret = client_address(request), request.META.get("CSRF_COOKIE") or ""
    return Counted(
        account=keyed(what, name),
        visitor=keyed(what, name, address),
        address=keyed(what, address),
        browser=keyed(what, name, secret) if secret else "",
    )


def counted_for_confirming(request: HttpRequest, user: User) -> Counted:
    """Return where a check of the password of a signed-in person counts: never where signing in does."""
    name = str(user.pk)
    return Counted(account=keyed("confirm", name), visitor=keyed("confirm", name, client_address(request)))


def check_attempts(counted: Counted, *, clock: Clock) -> None:
    """Raise TooManyAttempts if a limit is reached. A refused attempt writes nothing and does not extend the wait."""
    if _full(counted, since=clock() - settings.SIGN_IN_WINDOW, more=1):
        raise TooManyAttempts


def begin_attempt(counted: Counted, *, clock: Clock) -> SignInAttempt:
    """Count an attempt before the secret is checked, so that parallel ones count too. Raises TooManyAttempts."""
    check_attempts(counted, clock=clock)
    now = clock()
    since = now - settings.SIGN_IN_WINDOW
    SignInAttempt.objects.filter(at__lte=since).delete()
    attempt = SignInAttempt.objects.create(at=now, **asdict(counted))
    if _full(counted, since=since, more=0):
        attempt.delete()
        raise TooManyAttempts
    return attempt


def forget_attempts(attempt: SignInAttempt) -> None:
    """Forget an attempt that succeeded and the failures of the same account in the same browser."""
    own = Q(pk=attempt.pk)
    if attempt.device:
        own |= Q(device=attempt.device)
    elif attempt.browser:
        own |= Q(account=attempt.account, browser=attempt.browser)
    SignInAttempt.objects.filter(own).delete()


def wait_seconds() -> int:
    return int(settings.SIGN_IN_WINDOW.total_seconds())


def keyed(*parts: str) -> str:
    return hmac.new(settings.SECRET_KEY.encode(), "\n".join(("sign-in", *parts)).encode(), hashlib.sha256).hexdigest()


def _full(counted: Counted, *, since: datetime, more: int) -> bool:
    """Return whether `more` attempts than those since then would exceed a limit."""
    keys = {name: key for name in LIMITED if (key := getattr(counted, name))}
    any_of = Q(pk=None)
    for name, key in keys.items():
        any_of |= Q(**{name: key})
    counts = SignInAttempt.objects.filter(any_of, at__gt=since).aggregate(
        **{f"{name}_attempts": Count("pk", filter=Q(**{name: key})) for name, key in keys.items()}
    )
    return any(counts[f"{name}_attempts"] + more > settings.SIGN_IN_LIMITS[name] for name in keys)

"""How many failed attempts to sign in are allowed, for each name from each network address and for each address."""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from unicodedata import normalize

from django.conf import settings
from django.http import HttpRequest

from accounts.models import SignInAttempt
from accounts.sign_in.client_address import client_address
from core.clock import Clock
from core.errors import UserError

WINDOW = timedelta(minutes=15)
WINDOW_MINUTES = 15
ATTEMPTS_AT_A_NAME = 10
ATTEMPTS_FROM_AN_ADDRESS = 200
"""Only attempts that nobody completed count, so that hundreds of people behind one address can sign in."""


class TooManyAttempts(UserError):
    """The password is not looked at; the same number of attempts is allowed whether the account exists or not."""


@dataclass(frozen=True)
class Visitor:
    """Keyed hashes of a name together with an address, and of the address."""

    visitor: str
    address: str


def visitor_of(request: HttpRequest, name: str) -> Visitor:
    address = client_address(request)
    return Visitor(_keyed(f"{normalize('NFKC', name)}\n{address}"), _keyed(address))


def begin_attempt(visitor: Visitor, *, clock: Clock) -> None:
    """Count an attempt before the password is looked at, so that parallel ones count too; raises TooManyAttempts."""
    now = clock()
    SignInAttempt.objects.filter(at__lt=now - WINDOW).delete()
    attempt = SignInAttempt.objects.create(visitor=visitor.visitor, address=visitor.address, at=now)
    at_name = SignInAttempt.objects.filter(visitor=visitor.visitor).count()
    from_address = SignInAttempt.objects.filter(address=visitor.address).count()
    if at_name > ATTEMPTS_AT_A_NAME or from_address > ATTEMPTS_FROM_AN_ADDRESS:
        # An attempt that was refused does not make the wait longer.
        attempt.delete()
        raise TooManyAttempts


def forget_attempts(visitor: Visitor) -> None:
    """Forget the failed attempts of a visitor who has signed in."""
    SignInAttempt.objects.filter(visitor=visitor.visitor).delete()


def _keyed(text: str) -> str:
    return hmac.new(settings.SECRET_KEY.encode(), f"sign-in:{text}".encode(), hashlib.sha256).hexdigest()

"""Limits on failed attempts to sign in, per name and network address and per network address."""

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
"""Only attempts that were never completed count, so hundreds of people behind one address can sign in."""


class TooManyAttempts(UserError):
    """The password is not checked; the limit is the same whether or not the account exists."""


@dataclass(frozen=True)
class Visitor:
    """Keyed hashes of a name together with an address, and of the address alone."""

    visitor: str
    address: str


def visitor_of(request: HttpRequest, name: str) -> Visitor:
    address = client_address(request)
    return Visitor(_keyed(f"{normalize('NFKC', name)}\n{address}"), _keyed(address))


def begin_attempt(visitor: Visitor, *, clock: Clock) -> None:
    """Count an attempt before the password is checked, so that parallel ones count too. Raises TooManyAttempts."""
    now = clock()
    SignInAttempt.objects.filter(at__lt=now - WINDOW).delete()
    attempt = SignInAttempt.objects.create(visitor=visitor.visitor, address=visitor.address, at=now)
    at_name = SignInAttempt.objects.filter(visitor=visitor.visitor).count()
    from_address = SignInAttempt.objects.filter(address=visitor.address).count()
    if at_name > ATTEMPTS_AT_A_NAME or from_address > ATTEMPTS_FROM_AN_ADDRESS:
        # A refused attempt does not extend the wait.
        attempt.delete()
        raise TooManyAttempts


def forget_attempts(visitor: Visitor) -> None:
    """Forget the failed attempts of a visitor who has signed in."""
    SignInAttempt.objects.filter(visitor=visitor.visitor).delete()


def _keyed(text: str) -> str:
    return hmac.new(settings.SECRET_KEY.encode(), f"sign-in:{text}".encode(), hashlib.sha256).hexdigest()

"""A limit on wrong API tokens per network address, which costs a good token no query.

Only different wrong tokens count, so a script that repeats a revoked one does not close the API to its neighbours. Each
process remembers which addresses are closed and answers them without the database, except with tokens it has accepted.
"""

import time
from collections import OrderedDict
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import SignInAttempt
from accounts.sign_in.client_address import client_address
from accounts.sign_in.limit import Counted, keyed

T = TypeVar("T")
MOST_REMEMBERED = 2_000
_closed: OrderedDict[str, float] = OrderedDict()
"""Keyed addresses with the time on the monotonic clock until which they are closed."""
_accepted: OrderedDict[str, None] = OrderedDict()
"""Keyed tokens that this process has accepted; they are still looked up."""


def seconds_closed(request: HttpRequest, secret: str) -> float:
    """Return for how long tokens from the reader's address are not looked up; 0 if this token may be."""
    until = _closed.get(keyed("token", client_address(request)))
    if until is None or keyed("token", secret) in _accepted:
        return 0
    return max(until - time.monotonic(), 0)


def accept(secret: str) -> None:
    """Remember a token that the database knows."""
    _remember(_accepted, keyed("token", secret), None)


def count_failure(request: HttpRequest, secret: str) -> None:
    """Count a token that the database does not know; close the address when there were too many different ones."""
    failure = Counted(address=keyed("token", client_address(request)), visitor=keyed("token", secret))
    now = timezone.now()
    since = now - settings.SIGN_IN_WINDOW
    failures = SignInAttempt.objects.filter(address=failure.address, at__gt=since)
    if failures.filter(visitor=failure.visitor).exists():
        return
    if failures.count() < settings.SIGN_IN_LIMITS["token"]:
        SignInAttempt.objects.filter(at__lte=since).delete()
        SignInAttempt.objects.create(address=failure.address, visitor=failure.visitor, at=now)
    if failures.count() >= settings.SIGN_IN_LIMITS["token"]:
        oldest = failures.order_by("at").values_list("at", flat=True)[0]
        _remember(_closed, failure.address, time.monotonic() + (oldest - since).total_seconds())


def forget_everything() -> None:
    """Forget what this process remembers."""
    _closed.clear()
    _accepted.clear()


def _remember(store: OrderedDict[str, T], key: str, value: T) -> None:
    store[key] = value
    store.move_to_end(key)
    if len(store) > MOST_REMEMBERED:
        store.popitem(last=False)

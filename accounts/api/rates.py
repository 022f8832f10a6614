"""How many requests a minute a token may send, counted together by all processes of the servers.

A process takes requests from the minute's row in small parts, so that not every request writes to the database. A token
never gets more than its limit; at the end of a minute it may get a little less, where parts lie unused in other processes.
"""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import ApiToken, TokenMinute

SECONDS = 60
PARTS = 20
"""Parts into which a minute's requests are divided."""
ATTEMPTS = 10
MOST_REMEMBERED = 2_000


@dataclass
class _Part:
    """What this process holds of a minute of a token: `left` requests, when `taken` were gone in all."""

    minute: int
    left: int = 0
    taken: int = 0


@dataclass(frozen=True)
class Rate:
    """What a request leaves of the minute: `remaining` requests of `limit` for `seconds`; a refused one is not `allowed`."""

    limit: int
    remaining: int
    seconds: int
    allowed: bool

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.seconds),
            "RateLimit-Policy": f"{self.limit};w={SECONDS}",
        }


_held: OrderedDict[int, _Part] = OrderedDict()
_lock = threading.Lock()


def take(token: int, *, now: float, limit: int) -> Rate:
    """Take one request of the token's minute."""
    minute, seconds = int(now // SECONDS), SECONDS - int(now % SECONDS)
    with _lock:
        part = _held.get(token)
        if part is None or part.minute != minute:
            part = _held[token] = _Part(minute)
        _held.move_to_end(token)
        if len(_held) > MOST_REMEMBERED:
            _held.popitem(last=False)
        if not part.left and part.taken < limit:
            part.left, part.taken = _granted(token, minute, limit)
        if not part.left:
            return Rate(limit, 0, seconds, allowed=False)
        part.left -= 1
        return Rate(limit, limit - part.taken + part.left, seconds, allowed=True)


def _granted(token: int, minute: int, limit: int) -> tuple[int, int]:
    """Take a part of the minute's requests from its row; return how many, and how many are taken in all."""
    wanted = max(1, limit // PARTS)
    for _attempt in range(ATTEMPTS):
        row = TokenMinute.objects.filter(token=token).first()
        taken = row.taken if row is not None and row.minute == minute else 0
        granted = min(wanted, limit - taken)
        if granted <= 0:
            return 0, limit
        if row is None:
            try:
                with transaction.atomic():
                    TokenMinute.objects.create(token_id=token, minute=minute, taken=granted)
            except IntegrityError:
                continue
            return granted, granted
        same = TokenMinute.objects.filter(token=token, minute=row.minute, taken=row.taken)
        if same.update(minute=minute, taken=taken + granted):
            return granted, taken + granted
    return 0, limit


class TokenRate(BaseThrottle):
    """Refuse requests of a token above its limit with 429; a person in a browser has none."""

    seconds = SECONDS

    def allow_request(self, request: Request, view: object) -> bool:
        if not settings.API_RATE or not isinstance(request.auth, ApiToken):
            return True
        rate = take(request.auth.pk, now=time.time(), limit=settings.API_RATE)
        vars(request._request)["api_rate"] = rate
        self.seconds = rate.seconds
        return rate.allowed

    def wait(self) -> float:
        return self.seconds


def forget_everything() -> None:
    """Forget what this process remembers."""
    with _lock:
        _held.clear()

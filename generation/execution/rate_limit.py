"""The rate limit of an endpoint shared by all workers, wherever they run: one row says when it may be called next."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from asgiref.sync import sync_to_async
from django.db import transaction

from core.clock import Clock
from generation.models import Endpoint, EndpointTurn


def claim(endpoint: Endpoint, seconds: float, clock: Clock) -> datetime:
    """Claim this many seconds of the endpoint's allowance, after all earlier claims; return when they begin."""
    with transaction.atomic():
        turn = _locked(endpoint, clock())
        begins = max(turn.opens_at, clock())
        turn.opens_at = begins + timedelta(seconds=seconds)
        turn.save(update_fields=["opens_at"])
    return begins


def hold(endpoint: Endpoint, seconds: float, clock: Clock) -> None:
    """Let nobody call the endpoint for this long, because it asked for that."""
    with transaction.atomic():
        turn = _locked(endpoint, clock())
        turn.opens_at = max(turn.opens_at, clock() + timedelta(seconds=seconds))
        turn.save(update_fields=["opens_at"])


def _locked(endpoint: Endpoint, now: datetime) -> EndpointTurn:
    EndpointTurn.objects.get_or_create(endpoint=endpoint, defaults={"opens_at": now})
    return EndpointTurn.objects.select_for_update().get(endpoint=endpoint)


@dataclass(frozen=True)
class EndpointRateLimit:
    """The row as an engine sees it."""

    endpoint: Endpoint
    clock: Clock

    async def claim(self, seconds: float) -> float:
        begins = await sync_to_async(claim)(self.endpoint, seconds, self.clock)
        return max(0.0, (begins - self.clock()).total_seconds())

    async def hold(self, seconds: float) -> None:
        await sync_to_async(hold)(self.endpoint, seconds, self.clock)

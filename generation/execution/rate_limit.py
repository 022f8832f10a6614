"""The limits of an endpoint shared by all workers, wherever they run: one row says from when on it may be called."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from asgiref.sync import sync_to_async
from django.db import transaction

from core.clock import Clock
from generation.models import Endpoint, EndpointTurn


def claim(endpoint: Endpoint, seconds: float, clock: Clock) -> datetime:
    """Sets so many seconds of the endpoint's allowance aside, after all that is set aside already; their beginning."""
    with transaction.atomic():
        turn = _locked(endpoint, clock())
        begins = max(turn.opens_at, clock())
        turn.opens_at = begins + timedelta(seconds=seconds)
        turn.save(update_fields=["opens_at"])
    return begins


def hold(endpoint: Endpoint, seconds: float, clock: Clock) -> None:
    """The endpoint asked to be left alone for so long."""
    with transaction.atomic():
        turn = _locked(endpoint, clock())
        turn.opens_at = max(turn.opens_at, clock() + timedelta(seconds=seconds))
        turn.save(update_fields=["opens_at"])


def _locked(endpoint: Endpoint, now: datetime) -> EndpointTurn:
    EndpointTurn.objects.get_or_create(endpoint=endpoint, defaults={"opens_at": now})
    return EndpointTurn.objects.select_for_update().get(endpoint=endpoint)


@dataclass(frozen=True)
class EndpointTurns:
    """An engine's way to the row."""

    endpoint: Endpoint
    clock: Clock

    async def claim(self, seconds: float) -> float:
        begins = await sync_to_async(claim)(self.endpoint, seconds, self.clock)
        return max(0.0, (begins - self.clock()).total_seconds())

    async def hold(self, seconds: float) -> None:
        await sync_to_async(hold)(self.endpoint, seconds, self.clock)

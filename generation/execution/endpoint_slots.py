"""How many calls a worker may have under way at each endpoint: its part of the endpoint's limit, held over all workers.

A row for each worker and endpoint says how many slots the worker holds; together they never exceed the limit. Workers look
about twice a second, give up what others are entitled to as their own calls end, and take what is free. The slots of a
worker that dies are free when its lease ends, on its own machine at once.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from core.clock import Clock
from generation.execution.engine import CallSlots
from generation.execution.leases import LEASE, ended_here, new_worker_name
from generation.models import Endpoint, EndpointSlots

CONCURRENCY = 8
"""Calls at once if neither the run nor an endpoint says how many."""
LOOK_SECONDS = 0.3
"""The shortest interval at which a worker looks what others hold; its queues ask about twice a second."""
RENEW_WITHIN = timedelta(seconds=45)
TURN = timedelta(seconds=10)
"""How long a worker keeps its only slot while others have none."""


def fair_parts(limit: int, wanted: Mapping[str, int]) -> dict[str, int]:
    """Divide `limit` slots: each worker gets what it wants, or as much as any that wants more (max-min fairness).

    Where a slot is left over, or there are fewer than workers, those that are named first get it.
    """
    parts = dict.fromkeys(wanted, 0)
    left = max(0, limit)
    while left and (open_ := [name for name in wanted if parts[name] < wanted[name]]):
        each = max(1, left // len(open_))
        for name in open_:
            more = min(each, wanted[name] - parts[name], left)
            parts[name] += more
            left -= more
    return parts


@dataclass
class _Share:
    """What this worker holds of one endpoint; `target` is how many calls it may have from now on."""

    endpoint: Endpoint
    slots: CallSlots
    held: int = 0
    target: int = 0
    wanted: int = 0
    renewed_at: datetime | None = None


class Slots:
    """The slots of one worker, for all queues of a run. `asked` is how many calls at once were asked for."""

    def __init__(self, asked: int | None = None, clock: Clock | None = None) -> None:
        self._asked, self._clock = asked, clock
        self._name = new_worker_name()
        self._shares: dict[int, _Share] = {}
        self._looked_at = 0.0

    def number(self, endpoint: Endpoint | None) -> int:
        """The most calls that this worker could have under way; an endpoint's own limit is never exceeded."""
        if endpoint is None:
            return self._asked or CONCURRENCY
        return min(self._asked or endpoint.max_concurrent, endpoint.max_concurrent)

    def of(self, endpoint: Endpoint) -> CallSlots:
        share = self._shares.get(endpoint.pk)
        if share is None:
            share = self._shares[endpoint.pk] = _Share(endpoint, CallSlots())
            if self._clock is None:  # Of a transport outside any run: nobody else is asked.
                share.slots.limit = self.number(endpoint)
            self._looked_at = 0.0
        return share.slots

    def look(self) -> None:
        """Bring the rows and this worker's part into agreement with what others hold; uses the database."""
        now = time.monotonic()
        if self._clock is None or now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        for share in list(self._shares.values()):
            self._settle(share, self._clock())

    def apply(self) -> None:
        """Let the calls that wait have what the last look found; called in the event loop."""
        for share in self._shares.values():
            if self._clock is not None:
                share.slots.set_limit(share.target)

    def release(self) -> None:
        """Give everything back; uses the database."""
        if self._clock is not None:
            EndpointSlots.objects.filter(worker=self._name).delete()

    def _settle(self, share: _Share, now: datetime) -> None:
        endpoint, slots = share.endpoint, share.slots
        most = self.number(endpoint)
        # What nobody waited for is left to others, but for one slot to grow by.
        used, slots.most_in_use = slots.most_in_use, slots.in_use
        waited, slots.has_waited = slots.has_waited or share.renewed_at is None, False
        others = EndpointSlots.objects.filter(endpoint=endpoint).exclude(worker=self._name)
        is_shared = others.exists()
        wanted = most if waited or not is_shared else min(most, max(used + 1, share.held // 2))
        fresh = share.renewed_at is not None and now - share.renewed_at < RENEW_WITHIN
        if fresh and not is_shared and share.target == share.wanted == wanted:
            return
        with transaction.atomic():
            # One worker at a time divides the endpoint's slots.
            list(Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint.pk).values_list("pk"))
            rows = {row.worker: row for row in EndpointSlots.objects.filter(endpoint=endpoint).order_by("since", "pk")}
            dead = list(ended_here(rows)) + [n for n, row in rows.items() if row.leased_until < now]
            if gone := [name for name in dead if name != self._name]:
                others.filter(worker__in=gone).delete()
                rows = {name: row for name, row in rows.items() if name not in gone}
            mine = rows.setdefault(
                self._name, EndpointSlots(endpoint=endpoint, worker=self._name, wanted=wanted, since=now)
            )
            mine.wanted = wanted
            if mine.held and not in_turn(mine, now) and any(row.wanted and not row.held for row in rows.values()):
                mine.since, mine.turn_until = now, None
            # Whoever has its turn keeps it; the others follow as they have waited.
            line = sorted(rows, key=lambda name: (not in_turn(rows[name], now), rows[name].since))
            part = fair_parts(endpoint.max_concurrent, {name: rows[name].wanted for name in line})[self._name]
            free = endpoint.max_concurrent - sum(row.held for name, row in rows.items() if name != self._name)
            share.target = max(0, min(part, free))
            # Calls under way hold their slots until they end.
            held = max(share.target, min(slots.in_use, share.held))
            changed = (held, wanted) != (share.held, share.wanted) or mine.pk is None
            if not share.held:
                mine.turn_until = now + TURN if held else None
            if changed or not fresh or mine.since == now:
                mine.held, mine.leased_until = held, now + LEASE
                mine.save()
                share.renewed_at = now
            share.held, share.wanted = held, wanted


def in_turn(row: EndpointSlots, now: datetime) -> bool:
    return row.turn_until is not None and row.turn_until > now

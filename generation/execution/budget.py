"""A run's budget shared by its workers: each reserves in the database what it may spend before it sends anything.

What was spent and what all reservations still hold never exceed the budget together. The reservation of a worker that
dies ends with its lease. How the spending of a run is counted differs by kind of run and is passed in.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest

from core.clock import Clock
from generation.execution.engine import Traffic
from generation.execution.leases import LEASE
from generation.execution.monthly_limit import limit_of, month_of
from generation.llm.protocol.prices import NOTHING, NOTHING_MORE, Ceiling, Spend
from generation.run_fields import AnyRun

PARTS = ("calls", "tokens", "money")
SHORTEST_WAIT = 1.0
"""Seconds from which on a wait for a rate limit is reported."""
AHEAD = 20
"""How many times the cost of the next calls is reserved at once while there is plenty."""
FAST_COUNT_SECONDS = 0.05
"""If counting the spending takes longer, as in a run of millions of items, proportionally more is reserved at once."""

Counting = Callable[[Any], Spend]


class WorkerBudget:
    """One worker's reservation. All methods except `allowed` and `release_surplus` use the database.

    `allowed` grows by what `reserve` obtains before calls are sent and shrinks by what `release_surplus` finds to be
    more than the calls in flight can cost. `lowered`: the budget was lowered below what is reserved, so nothing more
    may be sent.
    """

    def __init__(self, run: AnyRun, worker: str, clock: Clock, count_spending: Counting) -> None:
        self._run, self._worker, self._clock, self._count = run, worker, clock, count_spending
        self._ceiling = ceiling_of(run)
        self._month = limit_of(run.workspace_id)
        self._left = self._spent = self._surplus = self._ahead = NOTHING
        self.lowered = False
        self._reported: tuple[int, bool, bool] | None = None
        self._reported_wait: datetime | None = None

    @property
    def allowed(self) -> Ceiling:
        """What the engine may have spent and reserved, together, since this budget was opened."""
        if self.lowered:
            return NOTHING_MORE
        held = self._left + self._spent
        allowed = self._ceiling.limiting(held)
        return allowed if self._month is None else replace(allowed, money=held.money)

    def reserve(self, needed: Spend) -> None:
        """Reserve what the calls in flight need beyond what is left, as far as the run's budget goes.

        The surplus is released at once if the budget has a limit that other workers may be waiting for, else with the
        next replies that are stored, which saves a transaction for each batch of calls.
        """
        if self._surplus != NOTHING and (self._ceiling.limited or self._month is not None):
            self.spend(NOTHING)
        wanted = needed.beyond(self._left)
        if wanted != NOTHING and not self.lowered:
            self._take(wanted)

    def spend(self, cost: Spend) -> None:
        """Deduct the cost of the replies that are stored in the same transaction, and release the surplus."""
        deducted = cost + self._surplus
        if deducted != NOTHING:
            record_spending(self._run, self._worker, deducted)
        self._spent += cost
        self._left = self._left.beyond(cost)
        self._surplus = NOTHING

    def release_surplus(self, needed: Spend, spent: Spend) -> None:
        """Give up what neither the calls in flight nor the replies that the engine has paid but not stored can need.

        What was reserved ahead while there was plenty stays for the following calls.
        """
        surplus = self._left.beyond(needed + spent.beyond(self._spent) + self._ahead)
        self._left -= surplus
        self._surplus += surplus

    def update_limit(self, ceiling: Ceiling) -> None:
        """Apply the run's present budget, and the workspace's present limit for the month."""
        is_lower, self._ceiling = ceiling.lower_than(self._ceiling), ceiling
        before, self._month = self._month, limit_of(self._run.workspace_id)
        less = self._month is not None and (before is None or self._month < before)
        if (is_lower and _overdrawn(self._run, self._count)) or (less and self._is_month_overdrawn()):
            self.lowered = True

    def _is_month_overdrawn(self) -> bool:
        month = month_of(self._run.workspace_id, self._clock)
        return month is not None and month.spent + month.reserved > month.money

    def report(self, traffic: Traffic) -> None:
        """Store what the worker's calls are doing, for the run's page, if it has changed."""
        next_call_at = None
        if traffic.wait >= SHORTEST_WAIT:
            next_call_at = self._clock() + timedelta(seconds=traffic.wait)
        state = (traffic.under_way, next_call_at is not None, traffic.asked)
        before = self._reported_wait
        moved = next_call_at and before and abs((next_call_at - before).total_seconds()) >= 1
        if state != self._reported or moved:
            self._run.shares.filter(worker=self._worker).update(
                under_way=traffic.under_way, next_call_at=next_call_at, asked_to_wait=traffic.asked
            )
            self._reported, self._reported_wait = state, next_call_at

    def renew(self) -> None:
        """Renew the lease of the reservation. If it ran out and others took it, nothing more may be sent on it."""
        renewed = self._run.shares.filter(worker=self._worker).update(leased_until=self._clock() + LEASE)
        if not renewed and self._left != NOTHING:
            self.lowered = True

    def reopen(self, needed: Spend) -> bool:
        """Give everything back for the next engine and reserve all that is needed or nothing; whether it was reserved."""
        self.close()
        return self._take(needed, whole=True)

    def start_over(self) -> None:
        """With no calls in flight, give back what is left, so that calls can be sent under the present budget."""
        end_reservation(self._run, self._worker)
        self._reported = None
        self._left = self._surplus = self._ahead = NOTHING
        self.lowered = False

    def close(self) -> None:
        self.start_over()
        self._spent = NOTHING

    def others_hold(self, prefix: str = "") -> bool:
        """Whether other workers, with names that begin with `prefix`, hold reservations of which some may be released."""
        return has_reservations(self._run, self._clock, besides=self._worker, prefix=prefix)

    def _take(self, wanted: Spend, *, whole: bool = False) -> bool:
        ahead = 0 if whole else AHEAD
        ceiling, added = reserve(self._run, self._worker, wanted, self._clock, self._count, whole=whole, ahead=ahead)
        self._left += added
        self._ahead = added.beyond(wanted)
        if ceiling.lower_than(self._ceiling):
            self.update_limit(ceiling)
        return wanted.beyond(added) == NOTHING


def ceiling_of(run: AnyRun) -> Ceiling:
    return Ceiling(run.budget_calls, run.budget_tokens, run.budget_money)


def reserve(
    run: AnyRun,
    worker: str,
    wanted: Spend,
    clock: Clock,
    count_spending: Counting,
    *,
    whole: bool = False,
    ahead: int = 0,
) -> tuple[Ceiling, Spend]:
    """Add up to `wanted` to the worker's reservation, as far as the budget goes; return the budget and what was added.

    `whole`: all of it or nothing. `ahead`: this many times as much if the budget has room for twice that, else half as
    many times and so on, because the spending is counted anew each time; more the longer the count took.
    """
    with transaction.atomic():
        locked = type(run)._default_manager.select_for_update(no_key=True).get(pk=run.pk)
        ceiling, now = ceiling_of(locked), clock()
        locked.shares.filter(leased_until__lt=now).exclude(worker=worker).delete()
        # Locked before the spending is counted: a reply that is stored in between would be in neither.
        reserved = _sum_of(locked.shares.select_for_update())
        began = time.monotonic()
        taken = count_spending(locked) + reserved if ceiling.limited else reserved
        slowness = max(1.0, (time.monotonic() - began) / FAST_COUNT_SECONDS)
        month = month_of(locked.workspace_id, clock, lock=True)
        limited = ceiling
        if month is not None:
            of_run = taken.money + month.room
            limited = replace(ceiling, money=of_run if ceiling.money is None else min(ceiling.money, of_run))
        added = limited.room_for(wanted, besides=taken)
        if whole and added != wanted:
            return ceiling, NOTHING
        for times in _halving(int(ahead * slowness)):
            if limited.room_for(wanted * (2 * times), besides=taken) == wanted * (2 * times):
                added = wanted * times
                break
        share, _created = locked.shares.get_or_create(worker=worker, defaults={"leased_until": now + LEASE})
        for part in PARTS:
            setattr(share, part, getattr(share, part) + getattr(added, part))
        share.leased_until = now + LEASE
        share.save()
    return ceiling, added


def record_spending(run: AnyRun, worker: str, cost: Spend) -> None:
    """Deduct what the replies that are stored in the same transaction have cost from the worker's reservation.

    A reply that cost more than was reserved for it leaves nothing, rather than less than nothing.
    """
    zeros = {"calls": Value(0), "tokens": Value(0), "money": Value(Decimal(0))}
    run.shares.filter(worker=worker).update(
        **{part: Greatest(F(part) - getattr(cost, part), zero) for part, zero in zeros.items()}
    )


def end_reservation(run: AnyRun, worker: str) -> None:
    """Make what is left of the worker's reservation available to others."""
    run.shares.filter(worker=worker).delete()


def has_reservations(run: AnyRun, clock: Clock, *, besides: str = "", prefix: str = "") -> bool:
    """Whether a worker other than `besides`, with a name that begins with `prefix`, holds a reservation."""
    alive = run.shares.filter(leased_until__gte=clock(), worker__startswith=prefix)
    return bool(alive.exclude(worker=besides).exists())


def _overdrawn(run: AnyRun, count_spending: Counting) -> bool:
    """Whether spending and reservations exceed the budget, because it was lowered meanwhile."""
    stored = type(run)._default_manager.get(pk=run.pk)
    return bool(ceiling_of(stored).crossed_by(count_spending(stored) + _sum_of(stored.shares)))


def _sum_of(shares: Any) -> Spend:
    return sum((Spend(*row) for row in shares.values_list(*PARTS)), NOTHING)


def _halving(times: int) -> Iterator[int]:
    """Yield the number, its half and so on, down to 2."""
    while times > 1:
        yield times
        times //= 2

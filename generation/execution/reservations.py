"""A run's budget shared by its workers: each sets aside in the database what it may spend before it sends anything.

What has been spent and what all shares still hold never exceed the budget together. A worker that dies takes nothing
with it but its share's time: the share ends with its lease. Runs that generate and runs that judge alike; how a run's
rows are counted is passed in as `spent_of`.
"""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest

from core.clock import Clock
from generation.execution.leases import LEASE
from generation.llm.protocol.prices import NOTHING, Ceiling, Spend
from generation.run_fields import AnyRun

PARTS = ("calls", "tokens", "money")
CHEAP_SECONDS = 0.05
"""Where counting what was spent takes longer, as in a run of millions, so much more is set aside at once."""

Counting = Callable[[Any], Spend]


def ceiling_of(run: AnyRun) -> Ceiling:
    return Ceiling(run.budget_calls, run.budget_tokens, run.budget_money)


def set_aside(
    run: AnyRun, worker: str, wanted: Spend, clock: Clock, spent_of: Counting, *, whole: bool = False, ahead: int = 0
) -> tuple[Ceiling, Spend]:
    """Adds to the worker's share up to `wanted` more, as far as the budget goes; the budget, and what was added.

    `whole`: all of it or nothing. `ahead`: so many times as much where the budget has room for twice that, else half as
    many times and so on, since what was spent is counted anew each time; more times the longer that took.
    """
    with transaction.atomic():
        locked = type(run)._default_manager.select_for_update(no_key=True).get(pk=run.pk)
        ceiling, now = ceiling_of(locked), clock()
        locked.shares.filter(leased_until__lt=now).exclude(worker=worker).delete()
        # Locked before what was spent is counted: a reply that is stored in between would be in neither.
        held = held_by(locked.shares.select_for_update())
        began = time.monotonic()
        gone = spent_of(locked) + held if ceiling.limited else held
        dear = max(1.0, (time.monotonic() - began) / CHEAP_SECONDS)
        added = ceiling.room_for(wanted, besides=gone)
        if whole and added != wanted:
            return ceiling, NOTHING
        for times in _halving(int(ahead * dear)):
            if ceiling.room_for(wanted * (2 * times), besides=gone) == wanted * (2 * times):
                added = wanted * times
                break
        share, _made = locked.shares.get_or_create(worker=worker, defaults={"leased_until": now + LEASE})
        for part in PARTS:
            setattr(share, part, getattr(share, part) + getattr(added, part))
        share.leased_until = now + LEASE
        share.save()
    return ceiling, added


def _halving(times: int) -> Iterator[int]:
    """The number, its half and so on, down to 2."""
    while times > 1:
        yield times
        times //= 2


def held_by(shares: Any) -> Spend:
    """What these shares hold together."""
    return sum((Spend(*row) for row in shares.values_list(*PARTS)), NOTHING)


def overdrawn(run: AnyRun, spent_of: Counting) -> bool:
    """Whether what was spent and what is set aside exceed the budget, because it was lowered meanwhile."""
    now = type(run)._default_manager.get(pk=run.pk)
    return bool(ceiling_of(now).crossed_by(spent_of(now) + held_by(now.shares)))


def record_spent(run: AnyRun, worker: str, spent: Spend) -> None:
    """Takes from the share what the replies stored in the same transaction have cost.

    An answer that was dearer than its reservation leaves nothing, rather than less than nothing.
    """
    less = {part: Greatest(F(part) - getattr(spent, part), _none_of(part)) for part in PARTS}
    run.shares.filter(worker=worker).update(**less)


def _none_of(part: str) -> Value:
    return Value(Decimal(0) if part == "money" else 0)


def renew_share(run: AnyRun, worker: str, clock: Clock) -> bool:
    """Whether the share is still there; it is not where it ran out and others have taken what it held."""
    return bool(run.shares.filter(worker=worker).update(leased_until=clock() + LEASE))


def tell_share(run: AnyRun, worker: str, under_way: int, next_call_at: datetime | None, asked: bool) -> None:
    """What the worker's calls are doing now."""
    run.shares.filter(worker=worker).update(under_way=under_way, next_call_at=next_call_at, asked_to_wait=asked)


def give_back(run: AnyRun, worker: str) -> None:
    """Ends the worker's share; what is left of it is there for others."""
    run.shares.filter(worker=worker).delete()


def shares_held(run: AnyRun, clock: Clock, *, besides: str = "", by: str = "") -> bool:
    """Whether some worker (`besides` this one; whose name begins with `by`) holds a share, and so may go on."""
    held = run.shares.filter(leased_until__gte=clock(), worker__startswith=by)
    return bool(held.exclude(worker=besides).exists())

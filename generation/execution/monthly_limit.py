"""The most that a workspace may spend in a calendar month (UTC), over all its runs, of generation and of judging.

Spending is counted from the stored replies, and every worker's reservation counts as spent. Who reserves holds the lock
of the limit's row, so that all workers of all runs together stay within it.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Sum

from accounts.models import Event, User, Workspace
from core.clock import Clock
from core.messages.message import Message, Wording
from generation.models import SpendingLimit
from generation.run_fields import AnyRun

OVER_MONTH = Wording(
    "run.over_month",
    "The next call might exceed the limit of %(limit)s that the workspace may spend in %(month)s; %(spent)s is spent or "
    "reserved. The run continues next month, or when an owner raises the limit.",
)


@dataclass(frozen=True)
class Month:
    """What a workspace may spend this month, and what its runs have spent or reserved; `money` is its limit."""

    begins: datetime
    money: Decimal
    spent: Decimal
    reserved: Decimal

    @property
    def room(self) -> Decimal:
        return max(Decimal(0), self.money - self.spent - self.reserved)

    def why_paused(self, needed: Decimal) -> Message:
        amounts = {"limit": self.money, "spent": self.spent + self.reserved, "needed": needed}
        return OVER_MONTH(month=f"{self.begins:%Y-%m}", **{name: f"{amount:f}" for name, amount in amounts.items()})


def limit_of(workspace: int) -> Decimal | None:
    """The workspace's limit for a month; None for none."""
    return SpendingLimit.objects.filter(workspace=workspace).values_list("money", flat=True).first()


def month_of(workspace: int, clock: Clock, *, lock: bool = False) -> Month | None:
    """The present month; None without a limit. With `lock`, in a transaction, nobody else reserves until it ends."""
    rows = SpendingLimit.objects.filter(workspace=workspace)
    limit = (rows.select_for_update() if lock else rows).first()
    if limit is None:
        return None
    now = clock()
    # Reservations first: what is stored in between is then counted twice for a moment, and never not at all.
    reserved = sum((_reserved(kind, workspace, now) for kind in AnyRun.__subclasses__()), Decimal(0))
    return Month(_begin(now), limit.money, spent_since(workspace, _begin(now)), reserved)


def spent_since(workspace: int, since: datetime) -> Decimal:
    """What the replies to all runs of the workspace that were stored since then have cost."""
    return sum((kind.spent_since(workspace, since) for kind in AnyRun.__subclasses__()), Decimal(0))


def spent_this_month(workspace: int, clock: Clock) -> Decimal:
    return spent_since(workspace, _begin(clock()))


def spending_of(workspace: int, clock: Clock) -> tuple[Month | None, Decimal]:
    """Return the present month, None without a limit, and what was spent in it."""
    month = month_of(workspace, clock)
    return month, month.spent if month else spent_this_month(workspace, clock)


def set_limit(workspace: Workspace, money: Decimal | None, *, by: User | None) -> None:
    """Set, change or, with None, remove the limit; runs apply it when they next reserve."""
    before = limit_of(workspace.pk)
    if money is None:
        SpendingLimit.objects.filter(workspace=workspace).delete()
    else:
        SpendingLimit.objects.update_or_create(workspace=workspace, defaults={"money": money})
    if before != money:
        Event.objects.create(
            workspace=workspace,
            actor=by,
            verb="spending limit changed",
            object_type="accounts.Workspace",
            object_id=workspace.slug,
            before={"money": None if before is None else str(before)},
            after={"money": None if money is None else str(money)},
        )


def may_continue(run: AnyRun, clock: Clock) -> bool:
    """Whether a run that this limit paused has room for the call that it was paused before."""
    try:
        needed = Decimal(str((run.message_json or {})["params"]["needed"]))
    except (KeyError, TypeError, ArithmeticError):
        return False
    month = month_of(run.workspace_id, clock)
    return month is None or (month.room >= needed and month.room > 0)


def _reserved(kind: type[AnyRun], workspace: int, now: datetime) -> Decimal:
    shares: Any = kind.shares.rel.related_model
    live = shares._default_manager.filter(leased_until__gte=now, **{f"run__{kind.workspace_path}": workspace})
    return live.aggregate(n=Sum("money"))["n"] or Decimal(0)


def _begin(now: datetime) -> datetime:
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)

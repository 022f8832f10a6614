"""One worker's purse: what it has set aside of a run's budget, what of it is gone, and whether the budget was lowered.

The engine may never have spent and reserved more than `allowed`, which grows by what `fill` sets aside before calls are
sent and shrinks by what `spare` finds to be more than the calls in hand can cost.
"""

from datetime import datetime, timedelta

from core.clock import Clock
from generation.execution.engine import Traffic
from generation.execution.reservations import (
    Counting,
    ceiling_of,
    give_back,
    overdrawn,
    record_spent,
    renew_share,
    set_aside,
    shares_held,
    tell_share,
)
from generation.llm.protocol.prices import NOTHING, NOTHING_MORE, Ceiling, Spend
from generation.run_fields import AnyRun

SHORTEST_WAIT = 1.0
"""Seconds from which on a wait for a rate limit is worth a word."""
AHEAD = 20
"""How many times what a few calls can cost is set aside at once while there is plenty."""


class Purse:
    """Everything but `allowed` and `spare` touches the database."""

    def __init__(self, run: AnyRun, worker: str, clock: Clock, spent_of: Counting) -> None:
        self._run, self._worker, self._clock, self._spent_of = run, worker, clock, spent_of
        self._ceiling = ceiling_of(run)
        self._left = self._gone = self._spared = self._ahead = NOTHING
        self.lowered = False
        self._told: tuple[int, bool, bool] | None = None
        self._told_at: datetime | None = None

    @property
    def allowed(self) -> Ceiling:
        """What the engine may have spent since the purse was opened and may reserve, together."""
        return NOTHING_MORE if self.lowered else self._ceiling.limiting(self._left + self._gone)

    def fill(self, in_hand: Spend) -> None:
        """Set aside what the calls in hand still need, as far as the budget goes.

        What was spared is released at once if the budget has a limit that others may be waiting for, else with the next
        replies that are stored: that spares a transaction for each batch of calls.
        """
        if self._spared != NOTHING and self._ceiling.limited:
            self.pay(NOTHING)
        wanted = in_hand.beyond(self._left)
        if wanted != NOTHING and not self.lowered:
            self._take(wanted)

    def pay(self, cost: Spend) -> None:
        """What the replies stored in the same transaction have cost is gone; what was spared is there for others."""
        back = cost + self._spared
        if back != NOTHING:
            record_spent(self._run, self._worker, back)
        self._gone += cost
        self._left = self._left.beyond(cost)
        self._spared = NOTHING

    def spare(self, in_hand: Spend, spent: Spend) -> None:
        """Lets go of what neither the calls in hand nor what the engine has `spent` and nobody has stored can need.

        What was set aside ahead while there was plenty stays, for the calls that follow.
        """
        surplus = self._left.beyond(in_hand + spent.beyond(self._gone) + self._ahead)
        self._left -= surplus
        self._spared += surplus

    def look(self, ceiling: Ceiling) -> None:
        """The run's budget as it stands now. Where it was lowered below what is set aside, nothing more is sent."""
        lower, self._ceiling = ceiling.lower_than(self._ceiling), ceiling
        if lower and overdrawn(self._run, self._spent_of):
            self.lowered = True

    def tell(self, traffic: Traffic) -> None:
        """What the worker's calls are doing, for the run's page; written only where that has changed."""
        at = None
        if traffic.wait >= SHORTEST_WAIT:
            at = self._clock() + timedelta(seconds=traffic.wait)
        said = (traffic.under_way, at is not None, traffic.asked)
        moved = at and self._told_at and abs((at - self._told_at).total_seconds()) >= 1
        if said != self._told or moved:
            tell_share(self._run, self._worker, traffic.under_way, at, traffic.asked)
            self._told, self._told_at = said, at

    def renew(self) -> None:
        """Where the share has run out meanwhile, others may have it: nothing more is sent on it."""
        if not renew_share(self._run, self._worker, self._clock) and self._left != NOTHING:
            self.lowered = True

    def reopen(self, needed: Spend) -> bool:
        """For another engine: gives all back and sets aside what is needed, that or nothing; whether it was there."""
        self.close()
        return self._take(needed, whole=True)

    def relent(self) -> None:
        """With nothing in hand: gives back what is left, so that calls may be sent under the budget as it is now."""
        give_back(self._run, self._worker)
        self._told = None
        self._left = self._spared = self._ahead = NOTHING
        self.lowered = False

    def close(self) -> None:
        """Ends the share; what is left of it is there for others."""
        self.relent()
        self._gone = NOTHING

    def others_hold(self, by: str = "") -> bool:
        """Whether other workers (those whose names begin with `by`) hold shares, of which something may come free."""
        return shares_held(self._run, self._clock, besides=self._worker, by=by)

    def _take(self, wanted: Spend, *, whole: bool = False) -> bool:
        ceiling, added = set_aside(
            self._run, self._worker, wanted, self._clock, self._spent_of, whole=whole, ahead=0 if whole else AHEAD
        )
        self._left += added
        self._ahead = added.beyond(wanted)
        if ceiling.lower_than(self._ceiling):
            # There is a lower limit by now.
            self.look(ceiling)
        return wanted.beyond(added) == NOTHING

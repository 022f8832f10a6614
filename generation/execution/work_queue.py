"""The work queue of one worker in a run: which calls to make next, and what to do with what became of them.

A kind of run describes itself by a subclass of `WorkQueue`: how its items are read, how an item becomes a call, and how
replies, failed attempts and failures are stored. Everything here uses the database and knows nothing of event loops.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Generic, TypeVar

from django.db import transaction
from django.db.models import Model, Q

from core.clock import Clock
from core.messages.message import stored
from generation.endpoints.clients import remember_uncounted, terms_stand
from generation.endpoints.served_names import remember_served
from generation.execution.budget import Counting, WorkerBudget
from generation.execution.engine import Answered, Failed, Outcome, Retried, Retry, Traffic, Withheld
from generation.execution.leases import RUNNING, WAITING, lease_items, release, renew
from generation.execution.throttling import Throttling
from generation.execution.write_ahead_log import LogFull, LoggedReply, LogUnusable, WriteAheadLog
from generation.llm.errors import TooLong
from generation.llm.protocol.call_limits import CallFailed
from generation.llm.protocol.messages import NONE_USABLE
from generation.llm.protocol.prices import NOTHING, Ceiling, Spend
from generation.llm.requests import Reply, Request
from generation.models import Endpoint
from generation.run_fields import AnyRun

LONGEST_ERROR = 300
"""Characters of an error that is kept with a released item."""
GIVE_UP_AFTER = 5
"""Consecutive calls that failed however often they were retried: the endpoint is down."""
REFUSED_IN_A_ROW = 50
"""Consecutive calls that were each refused for their own content, as a filter does: it now seems to concern all calls."""
UNUSABLE_IN_A_ROW = 50
"""Items in a row closed by a reply that could not be used: the model does not do what is asked, and every call costs."""

Item = TypeVar("Item", bound=Model)
C = TypeVar("C", bound="InFlightCall[Any]")


@dataclass(kw_only=True)
class InFlightCall(Generic[Item]):
    """An item that the worker holds, its conversation, and the call that it waits for.

    `reserve` is the maximum cost of the call, nothing if none is to be sent. `allowance` limits the new tokens once the
    server has refused more. `refused`: the last failure concerned this call alone.
    """

    item: Item
    messages: list[dict[str, str]]
    request: Request = field(init=False)
    request_hash: str = ""
    reserve: Spend = NOTHING
    allowance: int | None = None
    last_error: str = ""
    refused: bool = False

    @property
    def key(self) -> int:
        return int(self.item.pk)


class WorkQueue(ABC, Generic[Item, C]):
    """`gave_up` says why continuing makes no sense, and `disk_full` why it makes none at present.

    `withheld` is the maximum cost of a call that the engine withheld.

    `outdated`: the endpoint's terms have changed, so another queue must continue; a queue also stops when one of those
    `beside` it, in this process, is outdated. `proven`: calls like these have been answered before. `error_column` is
    the item's column for the last error of an item that is released, "" for none.
    """

    error_column: ClassVar[str] = ""

    def __init__(
        self,
        run: AnyRun,
        worker: str,
        clock: Clock,
        *,
        endpoint: Endpoint | None,
        count_spending: Counting,
        retry: Retry,
    ) -> None:
        self.run, self.worker, self.clock, self.endpoint, self.retry = run, worker, clock, endpoint, retry
        self.settings: dict[str, Any] = run.manifest.get("settings", {})
        self.budget = WorkerBudget(run, worker, clock, count_spending)
        self.throttling = Throttling(run, clock)
        self.log = WriteAheadLog(run.public_id, worker)
        self.in_flight: dict[int, C] = {}
        self.failing: list[int] = []
        self.answered = 0
        self.withheld = NOTHING
        self.gave_up = self.disk_full = ""
        self.unusable: list[int] = []
        self.last_usable = 0
        self.outdated = self.proven = False
        self.beside: Sequence[WorkQueue[Any, Any]] = ()

    # What a kind of run says of itself.

    @property
    @abstractmethod
    def own_items(self) -> Q:
        """The items of the run that this queue works on."""

    @abstractmethod
    def read_items(self, pks: Sequence[int]) -> list[Item]:
        """Return the leased items with what their calls need, by position."""

    @abstractmethod
    def take_up(self, item: Item) -> C | None:
        """Return the item with its conversation; None if it was closed without a call."""

    @abstractmethod
    def prepare(self, call: C) -> None:
        """Set the request of the call and its maximum cost."""

    @abstractmethod
    def send(self, call: C) -> Awaitable[Reply]:
        """Make the call. Raises ChatError."""

    @abstractmethod
    def price(self, call: C, reply: Reply) -> Decimal:
        """Return the cost of a reply to the call, in the currency of the model's price."""

    @abstractmethod
    def record_reply(self, call: C, reply: Reply) -> bool:
        """Store the reply; return whether it closes the item. Otherwise the item is asked about again."""

    @abstractmethod
    def record_attempt(self, call: C, error: CallFailed, money: Decimal) -> None:
        """Store that a call was sent and brought no whole reply, and what it cost."""

    @abstractmethod
    def record_failure(self, call: C, *, too_long: bool = False) -> None:
        """Close the item because of its last error."""

    @abstractmethod
    def shorten(self, call: C, error: TooLong) -> bool:
        """Whether the item can be asked about with a shorter answer, for which the server has room."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""

    def select(self, items: list[Item]) -> list[Item]:
        """Return the items that need a call; the others are closed here."""
        return items

    def to_send(self, calls: list[C]) -> list[C]:
        """Prepare the calls; return those to send."""
        for call in calls:
            self.prepare(call)
        return calls

    def write(self) -> None:
        """Write what the hooks above have gathered, inside the transaction in which they were called."""

    def share(self, slots: Callable[[Endpoint], Any], stopped: Callable[[], bool]) -> None:
        """Take note of the endpoints' free slots, and of whether calls may still be sent, if one call makes several."""

    # What the worker and the engine use.

    def next_calls(self, count: int) -> tuple[list[C], bool]:
        """Lease up to `count` items; return the calls to send, and whether there may be more."""
        if self.budget.lowered:
            if self.in_flight:
                return [], True
            self.budget.start_over()
        pks = lease_items(self.run, self.worker, count, self.clock, self.own_items)
        calls = self._calls_of(pks) if pks else []
        # Also without calls: this releases the surplus, for which another worker may wait.
        self.budget.reserve(self.reserved)
        return calls, len(pks) == count

    def _calls_of(self, pks: Sequence[int]) -> list[C]:
        items = self.read_items(pks)
        with transaction.atomic():
            taken_up = [call for item in self.select(items) if (call := self.take_up(item)) is not None]
            self.in_flight |= {call.key: call for call in taken_up}
            calls = self.to_send(taken_up)
            self.write()
        return calls

    def take(self, outcomes: Sequence[Outcome[int, Reply]]) -> list[C]:
        """Store the outcomes in one transaction; return the calls to send again at once."""
        again: list[C] = []
        cost = NOTHING
        with transaction.atomic():
            for outcome in outcomes:
                call = self.in_flight[outcome.key]
                match outcome:
                    case Answered(result=reply):
                        cost += self.cost_of(call, reply)
                        again += self._answered(call, reply)
                    case Retried(error=error):
                        cost += self._attempted(call, error)
                    case Failed(error=error, fatal=fatal):
                        cost += self._attempted(call, error)
                        again += self._failed(call, error, fatal)
                    case Withheld():
                        self.withheld = self.withheld.at_least(call.reserve)
                        self._release([call.key])
            self.budget.spend(cost)
            calls = self.to_send(again)
            self.write()
        self.budget.reserve(self.reserved)
        return calls

    def append(self, key: int, reply: Reply) -> None:
        """Save the reply in the write-ahead log, in case this process is killed before `take` has stored it."""
        try:
            call = self.in_flight[key]
            self.log.append(LoggedReply.of(key, reply, self.price(call, reply), call.request_hash))
        except LogUnusable as error:
            self._give_up(error.message)
            if isinstance(error, LogFull):
                self.disk_full = error.message

    def stored(self, keys: Collection[int]) -> None:
        self.log.stored(keys)

    def cost_of(self, call: C, reply: Reply) -> Spend:
        return Spend(reply.calls, reply.input_tokens + reply.output_tokens, self.price(call, reply))

    @property
    def reserved(self) -> Spend:
        """The maximum cost of all calls in flight."""
        return sum((call.reserve for call in self.in_flight.values()), NOTHING)

    def resume(self) -> bool:
        """Whether the budget has room for the most expensive of the withheld calls; if so, reserve it."""
        if not self.budget.reopen(self.withheld):
            return False
        self.withheld = NOTHING
        return True

    def has_room(self) -> bool:
        """Whether the budget has room for the withheld calls now that the queue has been left."""
        try:
            return self.resume()
        finally:
            self.budget.close()

    def settle_failures(self) -> None:
        """Nothing is left to ask: the failing items have failed if others were answered, else the endpoint is down."""
        with transaction.atomic():
            last = self.in_flight[self.failing[-1]] if self.failing else None
            if last is not None and not (last.refused or self.answered):
                self._give_up(last.last_error)
            self._close_failing()
            self.write()

    def renew(self) -> None:
        renew(self.run, self.worker, list(self.in_flight), self.clock)
        self.budget.renew()

    def leave(self) -> None:
        """Release all items and reservations; replies that are not stored stay in the write-ahead log."""
        try:
            self._release(list(self.in_flight))
            self.budget.close()
            self.throttling.withdraw()
        finally:
            self.log.close()

    def others_are_busy(self) -> bool:
        """Whether items wait that another worker holds, or has held until now."""
        return bool(self.run.items.filter(self.own_items, status=WAITING).exclude(leased_by=self.worker).exists())

    def still_running(self) -> bool:
        """Whether to continue; also update the budget's limit and the run's message."""
        running = type(self.run)._default_manager.filter(pk=self.run.pk, status=RUNNING)
        limits = running.values_list("budget_calls", "budget_tokens", "budget_money").first()
        if limits is None:
            return False
        self.budget.update_limit(Ceiling(*limits))
        self.throttling.report()
        if self.endpoint is not None and not terms_stand(self.endpoint):
            self.outdated = True
        return not any(queue.outdated for queue in (self, *self.beside))

    def report(self, traffic: Traffic) -> None:
        """Store what the worker's calls are doing, for the page of the run."""
        self.budget.report(traffic)

    def _answered(self, call: C, reply: Reply) -> list[C]:
        remember_served(self.run, reply.served)
        if reply.estimated and self.endpoint is not None:
            remember_uncounted(self.endpoint, self.run)
        self.answered += 1
        self.throttling.answered()
        closed = self.record_reply(call, reply)
        self._close_failing()
        if not closed:
            return [call]
        del self.in_flight[call.key]
        return []

    def _attempted(self, call: C, error: CallFailed) -> Spend:
        """Record a call that brought no whole reply; return its cost. A throttled call costs nothing."""
        call.last_error = str(error) or type(error).__name__
        if error.patient:
            self.throttling.delayed(call.last_error)
            if error.came is None:
                return NOTHING
        cost = Spend(calls=1) if error.came is None else self.cost_of(call, error.came)
        self.record_attempt(call, error, cost.money)
        return cost

    def _failed(self, call: C, error: CallFailed, fatal: bool) -> list[C]:
        """Return the call if it is to be sent again, with a shorter answer."""
        call.reserve, call.refused = NOTHING, error.doubtful
        if fatal:
            self._give_up(str(error))
            self._release([call.key])
        elif isinstance(error, TooLong):
            if self.shorten(call, error):
                return [call]
            self.record_failure(call, too_long=True)
            del self.in_flight[call.key]
        else:
            self.failing.append(call.key)
            if len(self.failing) >= (REFUSED_IN_A_ROW if call.refused else GIVE_UP_AFTER):
                self._give_up(str(error))
                self._close_failing()
        return []

    def count_usable(self, key: int, usable: bool, reason: str = "") -> None:
        """Count an item that a reply has closed; give up after UNUSABLE_IN_A_ROW without a usable one.

        They are in a row in the order of the items, not of the replies: those asked again come together in the end.
        """
        if usable:
            self.last_usable = max(self.last_usable, key)
            self.unusable = [one for one in self.unusable if one > key]
        elif key > self.last_usable:
            self.unusable.append(key)
            if len(self.unusable) >= UNUSABLE_IN_A_ROW:
                self._give_up(NONE_USABLE(n=len(self.unusable), reason=reason))

    @property
    def is_doubtful(self) -> bool:
        """Whether the last items failed or could not be used, so that what comes next is read before more is sent."""
        return len(self.unusable) > UNUSABLE_IN_A_ROW // 10 or len(self.failing) > REFUSED_IN_A_ROW // 10

    def _give_up(self, error: str) -> None:
        self.gave_up = self.gave_up or error

    def _close_failing(self) -> None:
        """Release the failing items if the run stops because of them; else, and if they were refused, they have failed."""
        for key in self.failing:
            call = self.in_flight.get(key)
            if call is None:
                continue
            if self.gave_up and not call.refused:
                self._release([key])
            else:
                self.record_failure(call)
                del self.in_flight[key]
        self.failing.clear()

    def _release(self, keys: Iterable[int]) -> None:
        """Release items, each with the error of its last attempt if the kind of run keeps it."""
        by_error: dict[str, list[int]] = {}
        for key in keys:
            by_error.setdefault(self.in_flight.pop(key).last_error if self.error_column else "", []).append(key)
        for error, released in by_error.items():
            columns = stored(self.error_column, error, LONGEST_ERROR) if error else {}
            release(self.run, self.worker, released, **columns)

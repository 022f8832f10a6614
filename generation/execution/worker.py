"""One worker's part of a run at one endpoint: a worklist, the engine that makes its calls, and the budget between them."""

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from asgiref.sync import sync_to_async

from generation.execution.budget import Purse
from generation.execution.engine import BUDGET_REACHED, Call, Engine, Retry, Traffic, Turns
from generation.execution.shift import LOOK_SECONDS, Shift, Work, Worklist
from generation.llm.protocol.call_limits import Pace
from generation.llm.protocol.prices import Budget, Spend
from generation.models import Endpoint

GIVE_UP_AFTER = 5
"""Calls in a row that failed however often they were tried: the endpoint is down."""
REFUSED_IN_A_ROW = 50
"""Calls in a row that were refused each for itself, as a filter may do: now it seems to concern all."""
SWITCH_SECONDS = 0.0005
"""How long the thread that stores may compute before the thread that calls gets its turn of the interpreter lock.

The calling thread takes the lock back after every read and write. Beside a thread that computed half of the time, 16 calls
of 20 ms at once brought 335 replies a second at this interval and 264 at Python's 5 ms.
"""
R = TypeVar("R")
Q = TypeVar("Q")


class BudgetedWorklist(Worklist[Q, R], Protocol[Q, R]):
    """`in_hand` is the most that all calls in hand can cost. `begin_again` touches the database.

    `proven`: calls such as these have been answered before. `outdated`: the endpoint's terms were changed.
    """

    run: Any
    proven: bool
    worker: str
    purse: Purse
    outdated: bool

    @property
    def in_hand(self) -> Spend: ...
    def begin_again(self) -> bool: ...
    def leave(self) -> None: ...


@dataclass(frozen=True)
class Terms:
    """How an engine is to call an endpoint; the `slots` are all that this process has there."""

    concurrency: int
    retry: Retry
    pace: Pace
    turns: Turns | None
    slots: asyncio.Semaphore | None = None


class Slots:
    """How many calls a run has under way at each endpoint at once, whichever of its engines makes them.

    `asked` is how many the run is to have; an endpoint's own limit is never exceeded.
    """

    def __init__(self, asked: int | None = None) -> None:
        self._asked = asked
        self._known: dict[int, asyncio.Semaphore] = {}

    def number(self, endpoint: Endpoint) -> int:
        return min(self._asked or endpoint.max_concurrent, endpoint.max_concurrent)

    def of(self, endpoint: Endpoint) -> asyncio.Semaphore:
        return self._known.setdefault(endpoint.pk, asyncio.Semaphore(self.number(endpoint)))


class Station(Generic[Q, R]):
    """`call` makes a question into a call; `close` ends the connections; `seen` corrects what the engine takes for calls
    under way, where one question is several calls."""

    def __init__(
        self,
        worklist: BudgetedWorklist[Q, R],
        shift: Shift,
        terms: Terms,
        *,
        call: Callable[[Q], Call[int, R]],
        close: Callable[[], Awaitable[None]],
        seen: Callable[[Traffic], Traffic] = lambda traffic: traffic,
    ) -> None:
        self.worklist = worklist
        self._seen = seen
        self._shift, self._terms, self._call, self._close = shift, terms, call, close
        self._ends_at = time.monotonic() + shift.seconds
        self._new_engine()

    @property
    def out_of_budget(self) -> bool:
        return self._engine.stopped == BUDGET_REACHED

    def stopped(self) -> bool:
        """Whether nothing more may be sent."""
        return bool(self._engine.stopped)

    async def work(self) -> None:
        """Until nothing is left to do here, or nothing more may be done."""
        worklist = self.worklist
        try:
            while True:
                rest = replace(self._shift, seconds=self._ends_at - time.monotonic())
                await Work(worklist, self._engine, self._send, self._traffic).until_done(rest)
                if not self.out_of_budget or not await self._may_go_on():
                    break
                self._new_engine()
        finally:
            try:
                await self._engine.cancel()
                await self._close()
            finally:
                await sync_to_async(worklist.leave)()

    def _new_engine(self) -> None:
        worklist, terms = self.worklist, self._terms
        self._budget = Budget(worklist.purse.allowed)
        self._engine: Engine[int, R] = Engine(
            concurrency=terms.concurrency,
            budget=self._budget,
            retry=terms.retry,
            clock=time.monotonic,
            sleep=asyncio.sleep,
            draw=random.Random(f"{worklist.run.seed} {worklist.worker}").random,
            pace=terms.pace,
            turns=terms.turns,
            keeper=worklist,
            proven=worklist.proven,
            slots=terms.slots,
        )

    def _traffic(self) -> Traffic:
        return self._seen(self._engine.traffic)

    async def _may_go_on(self) -> bool:
        """Whether the budget has room for the call that was refused, now or once others give back what they spared."""
        worklist = self.worklist
        await sync_to_async(worklist.leave)()
        while True:
            waits = await sync_to_async(self._waits_for_others)()
            if await sync_to_async(worklist.begin_again)():
                return True
            if not waits:
                return False
            await asyncio.sleep(LOOK_SECONDS)

    def _waits_for_others(self) -> bool:
        """Where the shift does not wait for other workers, still for this process's other stations."""
        worklist = self.worklist
        here = "" if self._shift.wait else worklist.worker.rpartition(":")[0] + ":"
        goes_on = time.monotonic() < self._ends_at and not self._shift.interrupted()
        return goes_on and worklist.still_running() and worklist.purse.others_hold(here)

    def _send(self, questions: Sequence[Q]) -> None:
        worklist = self.worklist
        for question in questions:
            self._engine.submit(self._call(question))
        worklist.purse.spare(worklist.in_hand, self._budget.spent)
        self._budget.ceiling = worklist.purse.allowed


def seems_down(in_a_row: int, refused: bool) -> bool:
    """Whether going on makes no sense after so many failures with no answer between them, the last of them `refused`."""
    return in_a_row >= (REFUSED_IN_A_ROW if refused else GIVE_UP_AFTER)


async def work_at(stations: Sequence[Station[Q, R]]) -> None:
    """Run all stations at once. A fault in one of them ends the others and is raised as it is."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        async with asyncio.TaskGroup() as group:
            for station in stations:
                group.create_task(station.work())
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None
    finally:
        sys.setswitchinterval(usual)

"""Work through the calls of a run: each worker has a queue, and an engine that makes the queue's calls.

The calls run in an event loop; everything that uses the database runs in the thread that called `work_through`.
"""

import asyncio
import functools
import gc
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async

from core.background import send
from core.clock import Clock
from core.messages.message import Wording, sentences
from core.workers.leaving import leaving
from generation.endpoints.clients import pace_of
from generation.execution.budget import has_reservations
from generation.execution.endpoint_slots import Slots
from generation.execution.engine import BUDGET_REACHED, FATAL, Answered, Call, Engine, Outcome, Retry
from generation.execution.leases import WAITING
from generation.execution.monthly_limit import month_of
from generation.execution.rate_limit import EndpointRateLimit
from generation.execution.states import RunKind, check_room, fail_run, pause_run, stopping_at_faults
from generation.execution.work_queue import WorkQueue
from generation.llm.protocol.call_limits import Pace
from generation.llm.protocol.messages import OVER_BUDGET
from generation.llm.protocol.prices import Budget
from generation.llm.requests import Chat, Reply
from generation.models import LanguageModel
from generation.run_fields import AnyRun

LOOK_SECONDS = 0.5
"""The interval at which a worker checks whether the run continues; calls that are not sent by then are not sent."""
RENEW_SECONDS = 20.0
LONGEST_WORK_SECONDS = 25 * 60.0
GATHER_SECONDS = 0.1
"""How long the replies of a fast endpoint are gathered, to be stored in one transaction."""
WRITE_SECONDS = 0.4
"""How long storing and reading may take while the calls in hand keep the slots busy."""
SLOW = 20.0
"""Replies per second below which nothing is sent before the last replies are stored: a long text is expensive."""
UNSTORED_SECONDS = 0.6
"""How long the replies of a faster endpoint may wait to be stored while calls continue."""
SWITCH_SECONDS = 0.0001
"""How long the thread that stores may compute before the thread that calls gets its turn of the interpreter lock.

The calling thread takes the lock back after every read and write. Beside a thread that computed half of the time, 16 calls
of 20 ms at once brought 335 replies a second at five times this interval and 264 at Python's 5 ms; this one brings some 4 %
more.
"""

ChatMaker = Callable[[LanguageModel], Chat]
OpenQueues = Callable[[Any, Clock, ChatMaker], Awaitable[tuple[Sequence[WorkQueue[Any, Any]], list[str]]]]
"""Returns the queues of a run with their connections open, and why some, or all, could not be opened."""


@dataclass(frozen=True)
class WorkerOptions:
    """How workers work. `wait`: stay while other workers hold items. `seconds`: stop after this long.

    `watch` is called about twice a second, for a progress bar; `interrupted` says whether to stop politely.
    """

    concurrency: int | None = None
    wait: bool = False
    seconds: float = LONGEST_WORK_SECONDS
    retry: Retry | None = None
    watch: Callable[[], None] = lambda: None
    interrupted: Callable[[], bool] = lambda: False


DEFAULT_OPTIONS = WorkerOptions()


class Worker:
    """Works through one queue, with one engine after another if the budget has room again after it was reached."""

    def __init__(self, queue: WorkQueue[Any, Any], options: WorkerOptions, slots: Slots) -> None:
        self.queue = queue
        self._options, self._slots = options, slots
        self._ends_at = time.monotonic() + options.seconds
        self._new_engine()
        queue.share(slots.of, lambda: bool(self._engine.stopped))

    @property
    def out_of_budget(self) -> bool:
        return self._engine.stopped == BUDGET_REACHED

    async def work(self) -> None:
        """Return when nothing is left, the run no longer runs, the engine has stopped, or the time is over."""
        queue = self.queue
        try:
            while True:
                await self._until_done()
                if not self.out_of_budget or not await self._may_go_on():
                    break
                self._new_engine()
        finally:
            try:
                await self._engine.cancel()
                await queue.close()
            finally:
                await sync_to_async(queue.leave)()

    def _new_engine(self) -> None:
        queue, endpoint = self.queue, self.queue.endpoint
        self._budget = Budget(queue.budget.allowed)
        self._engine: Engine[int, Reply] = Engine(
            concurrency=self._slots.number(endpoint),
            budget=self._budget,
            retry=self._options.retry or queue.retry,
            clock=time.monotonic,
            sleep=asyncio.sleep,
            draw=random.Random(f"{queue.run.seed} {queue.worker}").random,
            pace=pace_of(endpoint) if endpoint else Pace(),
            rate_limit=EndpointRateLimit(endpoint, queue.clock) if endpoint else None,
            log=queue,
            proven=queue.proven,
            slots=self._slots.of(endpoint) if endpoint else None,
        )
        self._engine.ahead = 0
        self._rate = 0.0
        self._began_at = self._counted_at = time.monotonic()

    async def _until_done(self) -> None:
        queue, engine, options = self.queue, self._engine, self._options
        looked_at, renewed_at = 0.0, time.monotonic()
        more = True
        while True:
            now = time.monotonic()
            if now - looked_at >= LOOK_SECONDS:
                looked_at = now
                if not await sync_to_async(self._look)() or now > self._ends_at or leaving.is_set():
                    engine.stop()
                else:
                    engine.goes_on()
                self._slots.apply()
            if now - renewed_at >= RENEW_SECONDS:
                renewed_at = now
                await sync_to_async(queue.renew)()
            room = self._room()
            if more and (room >= max(1, self._ahead() // 4) or not engine.in_hand):
                calls, more = await sync_to_async(queue.next_calls)(room)
                self._send(calls)
            if engine.in_hand:
                outcomes = await self._outcomes()
                self._send(await sync_to_async(queue.take)(outcomes) if outcomes else [])
                engine.stored([outcome.key for outcome in outcomes if isinstance(outcome, Answered)])
                if queue.gave_up:
                    engine.stop(FATAL)
            elif engine.stopped:
                return
            elif not more:
                await sync_to_async(queue.settle_failures)()
                if (
                    queue.gave_up
                    or leaving.is_set()
                    or not (options.wait and await sync_to_async(queue.others_are_busy)())
                ):
                    return
                await asyncio.sleep(LOOK_SECONDS)
                more = True

    def _look(self) -> bool:
        """Whether to continue; also report what the calls are doing."""
        self._options.watch()
        self._slots.look()
        running = self.queue.still_running() and not self._options.interrupted()
        self.queue.report(self._engine.traffic)
        return running

    def _send(self, calls: Sequence[Any]) -> None:
        queue = self.queue
        for call in calls:
            self._engine.submit(
                Call(
                    call.key, functools.partial(queue.send, call), call.reserve, functools.partial(queue.cost_of, call)
                )
            )
        queue.budget.release_surplus(queue.reserved, self._budget.spent)
        self._budget.ceiling = queue.budget.allowed

    def _room(self) -> int:
        """How many more calls to take in hand: as many as a fast endpoint answers during a read and a write."""
        if self._engine.stopped:
            return 0
        return max(0, self._engine.concurrency + self._ahead() - self._engine.in_hand)

    def _ahead(self) -> int:
        return max(self._engine.concurrency, int(self._rate * WRITE_SECONDS))

    async def _outcomes(self) -> list[Outcome[int, Reply]]:
        """Return what has finished; of a fast endpoint, what finishes within a moment."""
        if self._rate * GATHER_SECONDS > 4:
            await asyncio.sleep(GATHER_SECONDS)
        outcomes = await self._engine.finished(LOOK_SECONDS)
        now = time.monotonic()
        seconds, self._counted_at = max(1e-3, now - self._counted_at), now
        # For the first second the mean since the beginning, so that a fast endpoint is known at once; then a moving mean.
        weight = min(1.0, seconds / min(1.0, max(seconds, now - self._began_at)))
        self._rate += weight * (len(outcomes) / seconds - self._rate)
        careful = self._rate < SLOW or self.queue.is_doubtful
        self._engine.ahead = 0 if careful else int(self._rate * UNSTORED_SECONDS)
        return outcomes

    async def _may_go_on(self) -> bool:
        """Whether the budget has room for the withheld calls, now or once other workers release their surplus."""
        await sync_to_async(self.queue.leave)()
        while True:
            waits = await sync_to_async(self._waits_for_others)()
            if await sync_to_async(self.queue.resume)():
                return True
            if not waits:
                return False
            await asyncio.sleep(LOOK_SECONDS)

    def _waits_for_others(self) -> bool:
        """Whether other workers may release budget; without `wait`, only the other workers of this process count."""
        queue = self.queue
        here = "" if self._options.wait else queue.worker.rpartition(":")[0] + ":"
        goes_on = time.monotonic() < self._ends_at and not self._options.interrupted() and not leaving.is_set()
        return goes_on and queue.still_running() and queue.budget.others_hold(here)


async def run_workers(workers: Sequence[Worker]) -> None:
    """Run all workers concurrently. A fault in one of them ends the others and is raised as it is.

    The garbage collector leaves alone what exists now: a look at all objects of the program took 130 ms, twice in 3,000
    replies, in which no call was answered.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()
    try:
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker.work())
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None
    finally:
        gc.unfreeze()
        sys.setswitchinterval(usual)


def work_through(
    kind: RunKind[Any],
    run: AnyRun,
    open_queues: OpenQueues,
    *,
    options: WorkerOptions,
    clock: Clock,
    chat_for: ChatMaker,
    interrupted: Wording,
    begin: Callable[[], bool] = lambda: True,
) -> None:
    """Make the outstanding calls of a running run and finish it. `begin` says whether calls are to be made.

    Returns when nothing is left to do, the run was paused or cancelled, the budget is reached, the endpoints refuse or
    stay away, or the time is over. No reply is lost at any point.
    """
    if run.status == AnyRun.Status.RUNNING:
        with stopping_at_faults(run, clock=clock):
            kind.recover(run, clock)
            check_room()
            if begin():
                make_calls(run, open_queues, options=options, clock=clock, chat_for=chat_for, interrupted=interrupted)
            if not kind.finish_if_done(run, clock=clock) and leaving.is_set() and run.status == AnyRun.Status.RUNNING:
                send(kind.task, run.pk)  # Another worker goes on at once; the sweep would see to it within a minute.
    run.refresh_from_db()


def make_calls(
    run: AnyRun,
    open_queues: OpenQueues,
    *,
    options: WorkerOptions,
    clock: Clock,
    chat_for: ChatMaker,
    interrupted: Wording,
) -> None:
    """Make the calls of these queues; the run is left in the state that says why the work ended."""
    while async_to_sync(_work)(run, open_queues, options, clock, chat_for, interrupted):
        pass


async def _work(
    run: AnyRun,
    open_queues: OpenQueues,
    options: WorkerOptions,
    clock: Clock,
    chat_for: ChatMaker,
    interrupted: Wording,
) -> bool:
    """Return whether to continue at once, on the new terms of an endpoint."""
    queues, problems = await open_queues(run, clock, chat_for)
    if problems and not queues:
        await sync_to_async(fail_run)(run, _joined(problems), clock=clock)
        return False
    slots = Slots(options.concurrency or run.manifest.get("settings", {}).get("concurrency"), clock)
    workers = [Worker(queue, options, slots) for queue in queues]
    for queue in queues:
        queue.beside = queues
    try:
        await run_workers(workers)
    finally:
        await sync_to_async(slots.release)()
    problems += [queue.gave_up for queue in queues if queue.gave_up]
    stopped = [worker.queue for worker in workers if worker.out_of_budget]
    has_room = await sync_to_async(_stop)(run, queues, problems, stopped, options, clock, interrupted)
    return has_room or (any(queue.outdated for queue in queues) and run.status == AnyRun.Status.RUNNING)


def _stop(
    run: AnyRun,
    queues: Sequence[WorkQueue[Any, Any]],
    problems: Sequence[str],
    out_of_budget: Sequence[WorkQueue[Any, Any]],
    options: WorkerOptions,
    clock: Clock,
    interrupted: Wording,
) -> bool:
    """Leave the run in the state that says why the work ended.

    Return whether to continue, because other workers have released budget since these queues ran out of it.
    """
    run.refresh_from_db()
    has_room = False
    if run.status != AnyRun.Status.RUNNING:
        pass
    elif full := next((queue.disk_full for queue in queues if queue.disk_full), ""):
        pause_run(run, full, clock=clock)
    elif problems:
        fail_run(run, _joined(problems), clock=clock)
    elif options.interrupted():
        pause_run(run, interrupted(), clock=clock)
    elif out_of_budget and not has_reservations(run, clock) and run.items.filter(status=WAITING).exists():
        has_room = any(queue.has_room() for queue in out_of_budget)
        if not has_room:
            pause_run(run, _limit_reached(run, out_of_budget, clock), clock=clock)
    options.watch()
    return has_room


def _limit_reached(run: AnyRun, queues: Sequence[WorkQueue[Any, Any]], clock: Clock) -> str:
    """Which limit the next call might exceed: the workspace's for the month, or the run's budget."""
    month, needed = month_of(run.workspace_id, clock), min(queue.withheld.money for queue in queues)
    return OVER_BUDGET() if month is None or needed <= month.room else month.why_paused(needed)


def _joined(problems: Sequence[str]) -> str:
    return sentences(dict.fromkeys(problems))

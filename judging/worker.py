"""Works through a run: leases items, asks the judge, stores what comes. The same in a command and in Celery.

The calls live in an event loop; everything that touches the database runs in the thread that called `work_on`.
"""

import asyncio
import functools
import random
import time
from collections.abc import Sequence
from decimal import Decimal

from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from annotation.handout import Clock
from generation.chat import ChatError, Reply
from generation.endpoints import NoEndpoint, open_chat, pace_of
from generation.engine import BUDGET_REACHED, FATAL, STOPPED, Answered, Call, Engine, Outcome, Pace, Retry
from generation.shifts import PLAIN_SHIFT, Shift
from generation.spending import Budget, Ceiling, Spend
from generation.turns import EndpointTurns
from judging.allotment import give_back, shares_held
from judging.inline import needs_no_call, settle_inline
from judging.leases import new_worker_name
from judging.models import JudgeRun
from judging.runs import fail_run, finish_if_done, pause_run
from judging.settled_runs import jurors_of
from judging.ways import Asked, ChatMaker
from judging.worklist import Worklist

LOOK_SECONDS = 1.0
RENEW_SECONDS = 20.0
INTERRUPTED = "Interrupted; everything answered so far is kept."
OVER_BUDGET = "The next call might cross the budget; raise it and resume."
GATHER_SECONDS = 0.05
"""How long replies that come thick and fast are gathered, to be stored in one transaction."""
WRITE_SECONDS = 0.4
"""How long storing and asking may take while the slots are kept busy by what is in hand."""
SLOW = 20.0
"""Replies a second under which nothing is sent before what came is stored."""
UNSTORED_SECONDS = 0.2
"""Of how long the replies of a faster endpoint may wait to be stored while calls go on."""
DEFAULT_CONCURRENCY = 8

__all__ = ["Shift", "work_on"]


def work_on(
    run: JudgeRun, *, shift: Shift = PLAIN_SHIFT, clock: Clock = timezone.now, chat_for: ChatMaker = open_chat
) -> JudgeRun:
    """Asks what is outstanding in a running run; the run as it stands afterwards.

    Returns when nothing is left to do, the run was paused or cancelled, the budget is reached, the endpoint
    refuses or stays away, or the shift is over. Nothing that was answered is lost at any point.
    """
    run = JudgeRun.objects.select_related(
        "judge__rater", "judge__language_model__endpoint", "study__guideline"
    ).get(pk=run.pk)
    if run.status == JudgeRun.Status.RUNNING:
        if needs_no_call(run.judge.method):
            settle_inline(run, shift, clock)
        else:
            async_to_sync(_work)(run, shift, clock, chat_for)
        finish_if_done(run, clock=clock)
    run.refresh_from_db()
    return run


async def _work(run: JudgeRun, shift: Shift, clock: Clock, chat_for: ChatMaker) -> None:
    """One desk a juror, all at once; what stops one of them for good stops the run."""
    desks: list[Desk] = []
    try:
        jurors = await sync_to_async(jurors_of)(run)
        for number, judge in enumerate(jurors):
            worklist = await sync_to_async(Worklist)(run, new_worker_name(), clock, judge, number)
            worklist.way.open(chat_for)
            desks.append(Desk(worklist, shift))
    except (ChatError, NoEndpoint) as error:
        for desk in desks:
            await desk.worklist.way.close()
        await sync_to_async(fail_run)(run, str(error), clock=clock)
        return
    if len(desks) == 1:
        await desks[0].work()
    else:
        async with asyncio.TaskGroup() as group:
            for desk in desks:
                group.create_task(desk.work())
    await sync_to_async(_close)(run, desks, shift, clock)


class Desk:
    """One juror's worklist with the engine that makes its calls."""

    def __init__(self, worklist: Worklist, shift: Shift) -> None:
        self.worklist, self.shift = worklist, shift
        self.stopped = ""
        self._rate = 0.0
        self._counted_at = time.monotonic()
        self._new_engine()

    def _new_engine(self) -> None:
        worklist, shift = self.worklist, self.shift
        endpoint = worklist.way.endpoint
        allowed = endpoint.max_concurrent if endpoint else DEFAULT_CONCURRENCY
        limited = worklist.ceiling.limited
        self.budget = Budget(_nothing_of(worklist.ceiling) if limited else Ceiling())
        self.engine: Engine[int, Reply] = Engine(
            concurrency=shift.concurrency or worklist.settings.get("concurrency") or allowed,
            budget=self.budget,
            retry=shift.retry or Retry(try_seconds=endpoint.timeout_seconds if endpoint else 300.0),
            clock=time.monotonic,
            sleep=asyncio.sleep,
            draw=random.Random(f"{worklist.run.seed} {worklist.worker}").random,
            pace=pace_of(endpoint) if endpoint else Pace(),
            turns=EndpointTurns(endpoint, worklist.clock) if endpoint else None,
        )
        self.engine.ahead = 0

    async def work(self) -> None:
        worklist = self.worklist
        try:
            while True:
                await self._until_done()
                self.stopped = self.engine.stopped
                if self.stopped != BUDGET_REACHED:
                    break
                await sync_to_async(worklist.leave)()
                if not await self._restarted():
                    break
        finally:
            await self.engine.cancel()
            await worklist.way.close()
            await sync_to_async(worklist.leave)()
            if worklist.ceiling.limited:
                await sync_to_async(give_back)(worklist.run, worklist.worker)

    async def _restarted(self) -> bool:
        """Whether what others have spared has room for the call that was refused; then there is a new engine."""
        worklist = self.worklist
        await sync_to_async(give_back)(worklist.run, worklist.worker)
        added = await sync_to_async(worklist.top_up)(worklist.refused)
        if added.crossed_by(worklist.refused):
            return False
        self._new_engine()
        self._widen(added)
        return True

    async def _until_done(self) -> None:
        engine, worklist, shift = self.engine, self.worklist, self.shift
        ends_at, looked_at, renewed_at = time.monotonic() + shift.seconds, 0.0, time.monotonic()
        more = True
        while True:
            now = time.monotonic()
            if now - looked_at >= LOOK_SECONDS:
                looked_at = now
                running = await sync_to_async(self._look)()
                if not running or now > ends_at:
                    engine.stop(STOPPED)
            if now - renewed_at >= RENEW_SECONDS:
                renewed_at = now
                await sync_to_async(worklist.renew)()
            room = self._room()
            if more and (room >= max(1, self._ahead() // 2) or not engine.in_hand):
                questions, more = await sync_to_async(worklist.next_questions)(room)
                await self._send(questions)
            if engine.in_hand:
                outcomes = await self._outcomes()
                again = await sync_to_async(worklist.take)(outcomes) if outcomes else []
                engine.stored(sum(isinstance(one, Answered) for one in outcomes))
                await self._send(again)
                if worklist.gave_up:
                    engine.stop(FATAL)
            elif engine.stopped:
                return
            elif not more:
                await sync_to_async(worklist.settle_failures)()
                if worklist.gave_up or not (shift.wait and await sync_to_async(worklist.others_are_busy)()):
                    return
                await asyncio.sleep(LOOK_SECONDS)
                more = True

    def _room(self) -> int:
        """How many more calls to take in hand: what a fast endpoint answers while this side reads and writes."""
        if self.engine.stopped:
            return 0
        return max(0, self.engine.concurrency + self._ahead() - self.engine.in_hand)

    def _ahead(self) -> int:
        return max(self.engine.concurrency, int(self._rate * WRITE_SECONDS))

    async def _outcomes(self) -> list[Outcome[int, Reply]]:
        """What has finished; of a fast endpoint, what finishes within a moment."""
        if self._rate * GATHER_SECONDS > 4:
            await asyncio.sleep(GATHER_SECONDS)
        outcomes = await self.engine.finished(LOOK_SECONDS)
        now = time.monotonic()
        seconds, self._counted_at = max(1e-3, now - self._counted_at), now
        share = min(1.0, seconds)
        self._rate += share * (len(outcomes) / seconds - self._rate)
        self.engine.ahead = 0 if self._rate < SLOW else int(self._rate * UNSTORED_SECONDS)
        return outcomes

    async def _send(self, questions: Sequence[Asked]) -> None:
        if questions and self.worklist.ceiling.limited:
            self._widen(await sync_to_async(self.worklist.top_up)(self._wanted()))
        for asked in questions:
            send = functools.partial(self.worklist.way.send, asked)
            self.engine.submit(Call(asked.item, send, asked.reserve, self._spent))

    def _wanted(self) -> Spend:
        """What all that is in hand may cost, less what is set aside already."""
        in_hand = sum((held.asked.reserve for held in self.worklist.held.values() if held.asked), Spend())
        ceiling, spent = self.budget.ceiling, self.budget.spent
        return Spend(
            max(0, in_hand.calls + spent.calls - (ceiling.calls or 0)),
            max(0, in_hand.tokens + spent.tokens - (ceiling.tokens or 0)),
            max(Decimal(0), in_hand.money + spent.money - (ceiling.money or Decimal(0))),
        )

    def _widen(self, added: Ceiling) -> None:
        now = self.budget.ceiling
        self.budget.ceiling = Ceiling(
            None if added.calls is None else (now.calls or 0) + added.calls,
            None if added.tokens is None else (now.tokens or 0) + added.tokens,
            None if added.money is None else (now.money or Decimal(0)) + added.money,
        )

    def _spent(self, reply: Reply) -> Spend:
        cost = getattr(reply, "cost", None)
        if cost is None:
            cost = self.worklist.prices.cost(reply.input_tokens, reply.output_tokens)
        return Spend(1, reply.input_tokens + reply.output_tokens, cost)

    def _look(self) -> bool:
        """Whether to go on."""
        self.shift.watch()
        return self.worklist.still_running() and not self.shift.interrupted()


def _nothing_of(ceiling: Ceiling) -> Ceiling:
    """The same limits with nothing allowed yet."""
    return Ceiling(
        None if ceiling.calls is None else 0,
        None if ceiling.tokens is None else 0,
        None if ceiling.money is None else Decimal(0),
    )


def _close(run: JudgeRun, desks: Sequence[Desk], shift: Shift, clock: Clock) -> None:
    """Leaves the run in the state that says why work ended."""
    gave_up = [desk.worklist.gave_up for desk in desks if desk.worklist.gave_up]
    if gave_up:
        fail_run(run, gave_up[0], clock=clock)
    elif any(desk.stopped == BUDGET_REACHED for desk in desks) and not shares_held(run, clock):
        pause_run(run, OVER_BUDGET, clock=clock)
    elif shift.interrupted():
        pause_run(run, INTERRUPTED, clock=clock)
    shift.watch()

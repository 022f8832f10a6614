"""Works through a generation run, each endpoint with its own engine. The same in a command and in Celery."""

import asyncio
import functools
import random
import time
from collections.abc import Callable, Sequence

from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from generation.chat import Chat, ChatError, Reply
from generation.endpoints import NoEndpoint, endpoint_of, open_chat, pace_of, prices_of
from generation.engine import BUDGET_REACHED, Call, Engine, Retry
from generation.leases import Clock, new_worker_name
from generation.manifests import models_of
from generation.models import Endpoint, GenerationRun, LanguageModel
from generation.runs import fail_run, finish_if_done, pause_run
from generation.shifts import PLAIN_SHIFT, Shift, Work
from generation.spending import Budget, Spend
from generation.spent import spent_of
from generation.turns import EndpointTurns
from generation.worklist import Asked, GenerationWorklist

LONGEST_TEXT_SECONDS = 1800.0
INTERRUPTED = "Interrupted; everything generated so far is kept."
ChatMaker = Callable[[LanguageModel], Chat]


def work_on(
    run: GenerationRun,
    *,
    shift: Shift = PLAIN_SHIFT,
    clock: Clock = timezone.now,
    chat_for: ChatMaker = open_chat,
) -> GenerationRun:
    """Asks what is outstanding in a running run; the run as it stands afterwards.

    Returns when nothing is left to do, the run was paused or cancelled, the budget is reached, every endpoint
    refuses or stays away, or the shift is over. Nothing that was generated is lost at any point.
    """
    run = GenerationRun.objects.select_related("benchmark__workspace").get(pk=run.pk)
    if run.status == GenerationRun.Status.RUNNING:
        async_to_sync(_work)(run, shift, clock, chat_for)
        finish_if_done(run, clock=clock)
    run.refresh_from_db()
    return run


async def _work(run: GenerationRun, shift: Shift, clock: Clock, chat_for: ChatMaker) -> None:
    models = await sync_to_async(models_of)(run)
    stations: dict[int, Station] = {}
    problems: list[str] = []
    for model in models:
        try:
            endpoint = endpoint_of(model)
            if endpoint.pk not in stations:
                worklist = await sync_to_async(GenerationWorklist)(run, endpoint, new_worker_name(), clock)
                stations[endpoint.pk] = Station(endpoint, worklist, shift)
            stations[endpoint.pk].open(model, chat_for)
        except (ChatError, NoEndpoint) as error:
            problems.append(str(error))
    if problems and not any(station.chats for station in stations.values()):
        await sync_to_async(fail_run)(run, _joined(problems), clock=clock)
        return
    open_ones = [station for station in stations.values() if station.chats]
    budgeted = any(station.worklist.ceiling.limited for station in open_ones)
    if budgeted:
        # One after another, so that what the one has spent is known to the next.
        for station in open_ones:
            await station.work()
    else:
        async with asyncio.TaskGroup() as group:
            for station in open_ones:
                group.create_task(station.work())
    problems += [station.worklist.gave_up for station in open_ones if station.worklist.gave_up]
    out_of_money = any(station.engine.stopped == BUDGET_REACHED for station in open_ones)
    await sync_to_async(_close)(run, problems, out_of_money, shift, clock)


class Station:
    """One endpoint's part of a run: its worklist, its engine, a chat for each of its models."""

    def __init__(self, endpoint: Endpoint, worklist: GenerationWorklist, shift: Shift) -> None:
        self.worklist = worklist
        self.chats: dict[int, Chat] = {}
        self._prices = prices_of(endpoint)
        self._shift = shift
        self._endpoint = endpoint
        self.engine = self._new_engine()

    def _new_engine(self) -> Engine[int, Reply]:
        worklist, shift = self.worklist, self._shift
        streamed = worklist.settings.get("stall_seconds") is not None
        longest = max(LONGEST_TEXT_SECONDS if streamed else 0.0, float(self._endpoint.timeout_seconds))
        return Engine(
            concurrency=shift.concurrency
            or worklist.settings.get("concurrency")
            or self._endpoint.max_concurrent,
            budget=Budget(worklist.ceiling, worklist.spent),
            retry=shift.retry or Retry(try_seconds=longest, call_seconds=2 * longest),
            clock=time.monotonic,
            sleep=asyncio.sleep,
            draw=random.Random(f"{worklist.run.seed} {worklist.worker}").random,
            pace=pace_of(self._endpoint),
            turns=EndpointTurns(self._endpoint, worklist.clock),
        )

    def open(self, model: LanguageModel, chat_for: ChatMaker) -> None:
        """Raises ChatError, NoEndpoint."""
        self.chats[model.pk] = chat_for(model)

    async def work(self) -> None:
        worklist = self.worklist
        worklist.models = tuple(self.chats)
        if worklist.ceiling.limited:
            worklist.spent = await sync_to_async(spent_of)(worklist.run)
            self.engine = self._new_engine()
        try:
            await Work(worklist, self.engine, self.send).until_done(self._shift)
        finally:
            await self.engine.cancel()
            for chat in self.chats.values():
                await chat.close()
            await sync_to_async(worklist.leave)()

    def send(self, questions: Sequence[Asked]) -> None:
        for asked in questions:
            chat = self.chats[asked.model]
            send = functools.partial(chat.complete, asked.request)
            self.engine.submit(Call(asked.item, send, asked.reserve, self._spent))

    def _spent(self, reply: Reply) -> Spend:
        cost = self._prices.cost(reply.input_tokens, reply.output_tokens)
        return Spend(1, reply.input_tokens + reply.output_tokens, cost)


def _joined(problems: Sequence[str]) -> str:
    return " ".join(dict.fromkeys(problems))


def _close(
    run: GenerationRun, problems: Sequence[str], out_of_money: bool, shift: Shift, clock: Clock
) -> None:
    """Leaves the run in the state that says why work ended."""
    run.refresh_from_db()
    if run.status != GenerationRun.Status.RUNNING:
        pass
    elif problems:
        fail_run(run, _joined(problems), clock=clock)
    elif out_of_money:
        pause_run(run, "The next call might cross the budget; raise it and resume.", clock=clock)
    elif shift.interrupted():
        pause_run(run, INTERRUPTED, clock=clock)
    shift.watch()

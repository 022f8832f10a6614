"""Work through a run: lease items, ask the judge, store the replies. The same for a command and for Celery.

The calls run in an event loop; everything that uses the database runs in the thread that called `work_on`.
"""

import functools
from collections.abc import Sequence
from contextlib import suppress

from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from core.clock import Clock
from generation.endpoints.clients import NoEndpoint, open_chat, pace_of
from generation.execution.engine import Call, Retry
from generation.execution.leases import new_worker_name
from generation.execution.rate_limit import EndpointTurns
from generation.execution.recovery import recover
from generation.execution.reservations import shares_held
from generation.execution.shift import PLAIN_SHIFT, Shift
from generation.execution.states import stopping_at_faults
from generation.execution.worker import Slots, Station, Terms, work_at
from generation.llm.errors import ChatError
from generation.llm.protocol.call_limits import Pace
from generation.llm.requests import Reply
from judging.judges.ways import Asked, ChatMaker
from judging.methods.messages import INTERRUPTED, OVER_BUDGET
from judging.methods.registry import needs_no_call
from judging.models import JudgeRun
from judging.runs.aggregation import jurors_of
from judging.runs.inline import settle_inline
from judging.runs.left_replies import store_replies
from judging.runs.life_cycle import NotPossible, fail_run, finish_if_done, pause_run
from judging.runs.planning.preparation import prepare
from judging.runs.queue import Worklist

DEFAULT_CONCURRENCY = 8

__all__ = ["Shift", "work_on"]


def work_on(
    run: JudgeRun, *, shift: Shift = PLAIN_SHIFT, clock: Clock = timezone.now, chat_for: ChatMaker = open_chat
) -> JudgeRun:
    """Ask the open questions of a running run; return the run as it is afterwards.

    Returns when nothing is left to do, the run was paused or cancelled, the budget is reached, the endpoint refuses or
    stays unavailable, or the shift is over. No answer is lost at any point.
    """
    run = _read(run)
    if run.status == JudgeRun.Status.RUNNING:
        with stopping_at_faults(run, clock=clock):
            recover(run, clock, store_replies)
            if prepared(run, shift, clock):
                if needs_no_call(run.judge.method):
                    settle_inline(run, shift, clock)
                else:
                    while async_to_sync(_work)(run, shift, clock, chat_for):
                        run = _read(run)
                finish_if_done(run, clock=clock)
    run.refresh_from_db()
    return run


def _read(run: JudgeRun) -> JudgeRun:
    return JudgeRun.objects.select_related("judge__rater", "judge__language_model__endpoint", "study__guideline").get(
        pk=run.pk
    )


def prepared(run: JudgeRun, shift: Shift, clock: Clock) -> bool:
    """Whether the run can be asked about: complete its plan; an interrupted run is paused."""
    if prepare(run, shift=shift, clock=clock):
        return True
    if shift.interrupted():
        with suppress(NotPossible):
            pause_run(run, INTERRUPTED(), clock=clock)
    return False


async def _work(run: JudgeRun, shift: Shift, clock: Clock, chat_for: ChatMaker) -> bool:
    """Run the judges of a panel concurrently; what stops one of them for good stops the run.

    Return whether to continue at once on the new terms of an endpoint.
    """
    worklists: list[Worklist] = []
    try:
        jurors = await sync_to_async(jurors_of)(run)
        for number, judge in enumerate(jurors):
            worklists.append(await sync_to_async(Worklist)(run, new_worker_name(), clock, judge, number))
            worklists[-1].way.open(chat_for)
    except (ChatError, NoEndpoint) as error:
        for worklist in worklists:
            await worklist.way.close()
        await sync_to_async(fail_run)(run, str(error), clock=clock)
        return False
    for worklist in worklists:
        worklist.beside = worklists
    slots = Slots(shift.concurrency or run.manifest.get("settings", {}).get("concurrency"))
    stations = [_station(worklist, shift, slots) for worklist in worklists]
    for worklist, station in zip(worklists, stations, strict=True):
        worklist.way.share(slots.of, station.stopped)
    await work_at(stations)
    await sync_to_async(_close)(run, stations, shift, clock)
    outdated = any(station.worklist.outdated for station in stations)
    return outdated and run.status == JudgeRun.Status.RUNNING


def _station(worklist: Worklist, shift: Shift, slots: Slots) -> Station[Asked, Reply]:
    endpoint = worklist.way.endpoint
    asked = shift.concurrency or worklist.settings.get("concurrency") or DEFAULT_CONCURRENCY
    terms = Terms(
        concurrency=slots.number(endpoint) if endpoint else asked,
        retry=shift.retry or Retry(try_seconds=endpoint.timeout_seconds if endpoint else 300.0),
        pace=pace_of(endpoint) if endpoint else Pace(),
        turns=EndpointTurns(endpoint, worklist.clock) if endpoint else None,
        slots=slots.of(endpoint) if endpoint else None,
    )

    def call(asked: Asked) -> Call[int, Reply]:
        return Call(asked.item, functools.partial(worklist.way.send, asked), asked.reserve, worklist.cost_of)

    return Station(worklist, shift, terms, call=call, close=worklist.way.close, seen=worklist.way.seen)


def _close(run: JudgeRun, stations: Sequence[Station[Asked, Reply]], shift: Shift, clock: Clock) -> None:
    """Leave the run in the state that says why work ended."""
    gave_up = [station.worklist.gave_up for station in stations if station.worklist.gave_up]
    run.refresh_from_db()
    if run.status != JudgeRun.Status.RUNNING:
        pass
    elif gave_up:
        fail_run(run, gave_up[0], clock=clock)
    elif any(station.out_of_budget for station in stations) and not shares_held(run, clock):
        pause_run(run, OVER_BUDGET(), clock=clock)
    elif shift.interrupted():
        pause_run(run, INTERRUPTED(), clock=clock)
    shift.watch()

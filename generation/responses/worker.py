"""Works through a generation run, each endpoint with its own engine. The same in a command and in Celery."""

import functools
from collections.abc import Callable, Sequence

from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from core.clock import Clock
from core.messages.message import sentences
from generation.endpoints.clients import NoEndpoint, endpoint_of, open_chat, pace_of
from generation.execution.engine import Call, Retry
from generation.execution.leases import new_worker_name
from generation.execution.rate_limit import EndpointTurns
from generation.execution.recovery import recover
from generation.execution.reservations import shares_held
from generation.execution.shift import PLAIN_SHIFT, Shift
from generation.execution.states import stopping_at_faults
from generation.execution.worker import Slots, Station, Terms, work_at
from generation.llm.errors import ChatError
from generation.llm.protocol.messages import INTERRUPTED, OVER_BUDGET
from generation.llm.requests import Chat, Reply
from generation.models import Endpoint, GenerationRun, LanguageModel
from generation.responses.left_replies import store_replies
from generation.responses.manifest import models_of
from generation.responses.queue import Asked, GenerationWorklist
from generation.responses.runs import fail_run, finish_if_done, pause_run

TELLING_SECONDS = 10.0
"""In which a text that has taken too long says what had come of it, before its call is cut off."""
ChatMaker = Callable[[LanguageModel], Chat]


def work_on(
    run: GenerationRun, *, shift: Shift = PLAIN_SHIFT, clock: Clock = timezone.now, chat_for: ChatMaker = open_chat
) -> GenerationRun:
    """Asks what is outstanding in a running run; the run as it stands afterwards.

    Returns when nothing is left to do, the run was paused or cancelled, the budget is reached, every endpoint
    refuses or stays away, or the shift is over. Nothing that was generated is lost at any point.
    """
    run = GenerationRun.objects.select_related("benchmark__workspace").get(pk=run.pk)
    if run.status == GenerationRun.Status.RUNNING:
        with stopping_at_faults(run, clock=clock):
            recover(run, clock, store_replies)
            while async_to_sync(_work)(run, shift, clock, chat_for):
                pass
            finish_if_done(run, clock=clock)
    run.refresh_from_db()
    return run


async def _work(run: GenerationRun, shift: Shift, clock: Clock, chat_for: ChatMaker) -> bool:
    """Whether to go on at once, on the terms that an endpoint has been given meanwhile."""
    models = await sync_to_async(models_of)(run)
    places: dict[int, RunModels] = {}
    problems: list[str] = []
    for model in models:
        try:
            endpoint = endpoint_of(model)
            if endpoint.pk not in places:
                worklist = await sync_to_async(GenerationWorklist)(run, endpoint, new_worker_name(), clock)
                places[endpoint.pk] = RunModels(endpoint, worklist)
            places[endpoint.pk].open(model, chat_for)
        except (ChatError, NoEndpoint) as error:
            problems.append(str(error))
    for place in places.values():
        place.worklist.beside = [other.worklist for other in places.values()]
    stations = [place.station(shift) for place in places.values() if place.chats]
    if problems and not stations:
        await sync_to_async(fail_run)(run, _joined(problems), clock=clock)
        return False
    await work_at(stations)
    problems += [station.worklist.gave_up for station in stations if station.worklist.gave_up]
    out_of_money = any(station.out_of_budget for station in stations)
    await sync_to_async(_close)(run, problems, out_of_money, shift, clock)
    outdated = any(station.worklist.outdated for station in stations)
    return outdated and run.status == GenerationRun.Status.RUNNING


class RunModels:
    """The models of a run at one endpoint, each with its chat."""

    def __init__(self, endpoint: Endpoint, worklist: GenerationWorklist) -> None:
        self.endpoint, self.worklist = endpoint, worklist
        self.chats: dict[int, Chat] = {}

    def open(self, model: LanguageModel, chat_for: ChatMaker) -> None:
        """Raises ChatError, NoEndpoint."""
        self.chats[model.pk] = chat_for(model)
        self.worklist.models = tuple(self.chats)

    def station(self, shift: Shift) -> Station[Asked, Reply]:
        return Station(self.worklist, shift, self._terms(shift), call=self._call, close=self._close)

    def _terms(self, shift: Shift) -> Terms:
        settings, endpoint = self.worklist.settings, self.endpoint
        longest = self.worklist.longest_seconds
        return Terms(
            concurrency=Slots(shift.concurrency or settings.get("concurrency")).number(endpoint),
            retry=shift.retry or Retry(try_seconds=longest + TELLING_SECONDS, call_seconds=2 * longest),
            pace=pace_of(endpoint),
            turns=EndpointTurns(endpoint, self.worklist.clock),
        )

    def _call(self, asked: Asked) -> Call[int, Reply]:
        send = functools.partial(self.chats[asked.model].complete, asked.request)
        return Call(asked.item, send, asked.reserve, self.worklist.cost_of)

    async def _close(self) -> None:
        for chat in self.chats.values():
            await chat.close()


def _joined(problems: Sequence[str]) -> str:
    return sentences(dict.fromkeys(problems))


def _close(run: GenerationRun, problems: Sequence[str], out_of_money: bool, shift: Shift, clock: Clock) -> None:
    """Leaves the run in the state that says why work ended."""
    run.refresh_from_db()
    if run.status != GenerationRun.Status.RUNNING:
        pass
    elif problems:
        fail_run(run, _joined(problems), clock=clock)
    elif out_of_money and not shares_held(run, clock):
        pause_run(run, OVER_BUDGET(), clock=clock)
    elif shift.interrupted():
        pause_run(run, INTERRUPTED(), clock=clock)
    shift.watch()

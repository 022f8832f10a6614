"""How a trial is worked off: its items as questions to the model, each asked once, and what comes back of them."""

from collections.abc import Awaitable, Sequence
from decimal import Decimal

from asgiref.sync import sync_to_async
from django.db.models import Q
from django.utils import timezone

from core.clock import Clock
from core.messages.message import stored
from core.text import storable
from generation.endpoints.clients import NoEndpoint, open_chat
from generation.execution.engine import Retry
from generation.execution.leases import new_worker_name
from generation.execution.work_queue import WorkQueue
from generation.execution.worker import ChatMaker, WorkerOptions, work_through
from generation.llm.errors import ChatError, TooLong
from generation.llm.protocol.call_limits import CallFailed
from generation.llm.requests import Reply as ChatReply
from judging.judges.judge_calls import JudgeCall, shown
from judging.judges.questions import Questions
from judging.judges.transports import ChatTransport
from judging.methods import messages as reply_messages
from judging.methods.parsing import Unscored, Verdict, Why
from judging.methods.registry import unanswerable
from judging.models import Judge, PlannedItem, PromptTrial, TrialItem
from judging.runs.recording import LONGEST_REASON, cost_of
from judging.trials.records import TRIALS, add_reply, spent_of, task_of_item

TEXTS = ("run__language_model__workspace", "rubric", "response__instruction__benchmark", "response__model")
TASKS = (
    "task__study__guideline",
    "task__response_a__instruction",
    "task__response_a__model",
    "task__response_b__model",
)
TRIES = 2
"""Whoever waits for a trial learns sooner than in a run that the endpoint does not answer."""


class TrialQueue(WorkQueue[TrialItem, JudgeCall]):
    """The items of a trial. An unusable reply is kept as it is: the model is not asked again, as it is in a run."""

    error_column = "reason"
    run: PromptTrial

    def __init__(self, run: PromptTrial, worker: str, clock: Clock) -> None:
        self.judge = Judge(
            workspace=run.language_model.workspace,
            language_model=run.language_model,
            method=run.method,
            prompt=run.prompt,
            parameters=run.parameters,
        )
        self.transport = ChatTransport(self.judge)
        retry = Retry(tries=TRIES, try_seconds=self.transport.endpoint.timeout_seconds)
        super().__init__(run, worker, clock, endpoint=self.transport.endpoint, count_spending=spent_of, retry=retry)
        self._items: dict[int, TrialItem] = {}
        self._changed: set[int] = set()

    @property
    def own_items(self) -> Q:
        return Q()

    def read_items(self, pks: Sequence[int]) -> list[TrialItem]:
        found = TrialItem.objects.filter(pk__in=pks).select_related(*TEXTS, *TASKS).order_by("position")
        self._items |= {item.pk: item for item in found}
        return [self._items[pk] for pk in pks if pk in self._items]

    def take_up(self, item: TrialItem) -> JudgeCall | None:
        task = task_of_item(item)
        if task is None:
            self._close(item, Unscored(Why.NO_TEXT, reply_messages.NO_TEXT()))
            return None
        planned = PlannedItem(pk=item.pk, task=task, shown_first="a")
        question = shown(planned, Questions.of(self.judge, task.study).about(task))
        lack = unanswerable(self.judge.method, question)
        if lack is None and not all(text.strip() for text in question.responses):
            lack = Unscored(Why.NO_TEXT, reply_messages.NO_TEXT())
        call = lack or self.transport.begin(planned, question)
        if isinstance(call, Unscored):
            self._close(item, call)
            return None
        if item.text:  # A worker that was killed had received it.
            known = ChatReply(item.text, item.finish_reason, item.input_tokens, item.output_tokens, item.seconds)
            self._settle(call, known)
            return None
        return call

    def prepare(self, call: JudgeCall) -> None:
        self.transport.prepare(call)

    def open(self, chat_for: ChatMaker) -> None:
        self.transport.open(chat_for)

    def send(self, call: JudgeCall) -> Awaitable[ChatReply]:
        return self.transport.send(call)

    async def close(self) -> None:
        await self.transport.close()

    def price(self, call: JudgeCall, reply: ChatReply) -> Decimal:
        return cost_of(reply, self.transport.prices)

    def record_reply(self, call: JudgeCall, reply: ChatReply) -> bool:
        add_reply(self._items[call.key], reply, self.price(call, reply), call.request_hash)
        self._settle(call, reply)
        return True

    def record_attempt(self, call: JudgeCall, error: CallFailed, money: Decimal) -> None:
        item = self._items[call.key]
        if error.came is None:
            item.calls += 1
            item.cost += money
        else:
            add_reply(item, error.came, money, call.request_hash)
        self._changed.add(item.pk)

    def record_failure(self, call: JudgeCall, *, too_long: bool = False) -> None:
        why = Why.TOO_LONG if too_long else Why.ENDPOINT
        self._close(self._items[call.key], Unscored(why, call.last_error))

    def shorten(self, call: JudgeCall, error: TooLong) -> bool:
        return self.transport.shorten(call, str(error))

    def write(self) -> None:
        for pk in self._changed:
            item = self._items[pk]
            released = {"leased_until": None, "leased_by": ""} if item.status != TrialItem.Status.WAITING else {}
            columns = (
                *("status", "reason", "reason_json", "answers", "request_hash", "text", "finish_reason"),
                *("input_tokens", "output_tokens", "calls", "cost", "seconds"),
            )
            TrialItem.objects.filter(pk=pk).update(**{name: getattr(item, name) for name in columns}, **released)
        self._changed.clear()

    def _settle(self, call: JudgeCall, reply: ChatReply) -> None:
        item = self._items[call.key]
        match self.transport.parse(call, reply):
            case Verdict() as verdict:
                questions = {one.key: one.question for one in call.question.items}
                item.answers = [
                    {
                        "key": answer.key,
                        "question": questions.get(answer.key, answer.key),
                        "value": answer.value,
                        "reason": storable(answer.reason),
                    }
                    for answer in verdict.answers
                ]
                item.status = TrialItem.Status.SCORED
                self._changed.add(item.pk)
            case Unscored() as unscored:
                self._close(item, unscored)

    def _close(self, item: TrialItem, unscored: Unscored) -> None:
        item.status = TrialItem.Status.UNSCORED
        message = stored("reason", unscored.reason, LONGEST_REASON)
        item.reason, item.reason_json = message["reason"], message["reason_json"]
        self._changed.add(item.pk)


async def open_queue(trial: PromptTrial, clock: Clock, chat_for: ChatMaker) -> tuple[Sequence[TrialQueue], list[str]]:
    """Return the trial's queue; none, with the reason, if its model cannot be asked."""
    try:
        queue = await sync_to_async(TrialQueue)(trial, new_worker_name(), clock)
        queue.open(chat_for)
    except (ChatError, NoEndpoint) as error:
        return [], [str(error)]
    return [queue], []


def work_on_trial(
    trial: PromptTrial,
    *,
    options: WorkerOptions | None = None,
    clock: Clock = timezone.now,
    chat_for: ChatMaker = open_chat,
) -> PromptTrial:
    """Ask what is outstanding in a running trial; return it as it is afterwards. See `work_through`."""
    trial = PromptTrial.objects.select_related("language_model__workspace", "language_model__endpoint").get(pk=trial.pk)
    options = options or WorkerOptions()
    interrupted = reply_messages.INTERRUPTED
    work_through(TRIALS, trial, open_queue, options=options, clock=clock, chat_for=chat_for, interrupted=interrupted)
    return trial

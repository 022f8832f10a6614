"""The work queue of a judge in a run: how a planned item becomes a question, and what is stored of the replies.

Each judge of a panel has a queue of its own.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from decimal import Decimal

from asgiref.sync import sync_to_async
from django.db.models import Q

from core.clock import Clock
from generation.endpoints.clients import NoEndpoint
from generation.execution.engine import Retry, Traffic
from generation.execution.leases import new_worker_name
from generation.execution.work_queue import WorkQueue
from generation.execution.worker import ChatMaker
from generation.llm.errors import ChatError, TooLong
from generation.llm.protocol.call_limits import CallFailed
from generation.llm.requests import Reply as ChatReply
from generation.models import Instruction, LanguageModel, Response
from judging.judges.judge_calls import JudgeCall, SlotsOf, canonical, shown
from judging.judges.questions import Questions
from judging.judges.transports import transport_of
from judging.methods import messages as reply_messages
from judging.methods.parsing import FILTERED, Unscored, Verdict, Why
from judging.methods.registry import unanswerable
from judging.models import Judge, JudgeRun, PlannedItem, Reply
from judging.runs.aggregation import jurors_of
from judging.runs.recording import Ledger, cost_of, failure_row, reply_row, reuse_row, spent_of

ATTEMPTS = 3
LONGEST_QUOTED_REPLY = 4_000
NO_TEXT = Unscored(Why.NO_TEXT, reply_messages.NO_TEXT())
COLUMNS = (
    *("run", "shown_first", "repeat", "juror", "position", "canary", "attempts_before"),
    *("task__kind", "task__part", "task__gold", "task__answer_rubric", "task__guide_rubric"),
)
SIDES = ("task__response_a", "task__response_b")
TEXTS = ("instruction", "model", "external_id", "text")


class JudgeQueue(WorkQueue[PlannedItem, JudgeCall]):
    """The items of one judge, number `juror` of the run."""

    error_column = "reason"
    run: JudgeRun

    def __init__(self, run: JudgeRun, worker: str, clock: Clock, judge: Judge | None = None, juror: int = 0) -> None:
        self.judge, self.juror = judge or run.judge, juror
        self.transport = transport_of(self.judge)
        endpoint = self.transport.endpoint
        retry = Retry(try_seconds=endpoint.timeout_seconds) if endpoint else Retry()
        super().__init__(run, worker, clock, endpoint=endpoint, count_spending=spent_of, retry=retry)
        self.questions = Questions.of(self.judge, run.study)
        self.proven = run.items.filter(status=PlannedItem.Status.SCORED, juror=juror).exists()
        self.ledger = Ledger(self.judge.rater, self.questions, clock)
        self._reader = ItemReader()
        self._stored_replies: dict[int, list[Reply]] = {}

    @property
    def own_items(self) -> Q:
        return Q(juror=self.juror)

    def read_items(self, pks: Sequence[int]) -> list[PlannedItem]:
        self._stored_replies = replies_of(pks)
        return self._reader.read(pks)

    def select(self, items: list[PlannedItem]) -> list[PlannedItem]:
        """Close the items whose question the judge has answered already."""
        self.questions.learn(item.task for item in items)
        answered = self.ledger.answered_already(items)
        return [item for item in items if item.pk not in answered]

    def take_up(self, item: PlannedItem) -> JudgeCall | None:
        question = shown(item, self.questions.about(item.task))
        lack = unanswerable(self.judge.method, question)
        if lack is None and not item.canary and not all(text.strip() for text in question.responses):
            lack = NO_TEXT
        call = lack or self.transport.begin(item, question)
        if isinstance(call, Unscored):
            self.ledger.close(item, call)
            return None
        for reply in self._stored_replies.get(item.pk, []):
            call.attempts = reply.attempt + 1
            usable = not reply.error and reply.attempt >= item.attempts_before
            if usable and self._settled(call, _as_chat(reply)):
                return None
        return call

    def to_send(self, calls: list[JudgeCall]) -> list[JudgeCall]:
        """Return the prepared calls, except those of items that stored replies to the same questions settle."""
        to_send: list[JudgeCall] = []
        while calls:
            for call in calls:
                self.prepare(call)
            known = self._known_replies(calls)
            again = []
            for call in calls:
                reply = known.get(call.request_hash)
                if reply is None:
                    to_send.append(call)
                elif not self._reused(call, reply):
                    again.append(call)
            calls = again
        return to_send

    def prepare(self, call: JudgeCall) -> None:
        self.transport.prepare(call)

    def open(self, chat_for: ChatMaker) -> None:
        """Called inside the event loop. Raises ChatError, NoEndpoint."""
        self.transport.open(chat_for)

    def share(self, slots: SlotsOf, stopped: Callable[[], bool]) -> None:
        self.transport.share(slots, stopped)

    def send(self, call: JudgeCall) -> Awaitable[ChatReply]:
        return self.transport.send(call)

    async def close(self) -> None:
        await self.transport.close()

    def report(self, traffic: Traffic) -> None:
        super().report(self.transport.traffic(traffic))

    def price(self, call: JudgeCall, reply: ChatReply) -> Decimal:
        return cost_of(reply, self.transport.prices)

    def record_reply(self, call: JudgeCall, reply: ChatReply) -> bool:
        self.ledger.replies.append(
            reply_row(
                call.item, reply, request_hash=call.request_hash, attempt=call.attempts, cost=self.price(call, reply)
            )
        )
        call.attempts += 1
        outcome = self._settled(call, reply)
        if outcome and not call.item.canary:
            reason = outcome.reason if isinstance(outcome, Unscored) else ""
            self.count_usable(call.key, isinstance(outcome, Verdict), reason)
        return outcome is not None

    def record_attempt(self, call: JudgeCall, error: CallFailed, money: Decimal) -> None:
        self.ledger.replies.append(
            failure_row(call.item, error, request_hash=call.request_hash, attempt=call.attempts, cost=money)
        )
        call.attempts += 1

    def record_failure(self, call: JudgeCall, *, too_long: bool = False) -> None:
        self.ledger.close(call.item, Unscored(Why.TOO_LONG if too_long else Why.ENDPOINT, call.last_error))

    def shorten(self, call: JudgeCall, error: TooLong) -> bool:
        return self.transport.shorten(call, str(error))

    def write(self) -> None:
        self.ledger.write()

    def _reused(self, call: JudgeCall, known: Reply) -> bool:
        """Whether a stored reply to the same question closes the item."""
        self.ledger.replies.append(reuse_row(call.item, known, attempt=call.attempts))
        call.attempts += 1
        if not self._settled(call, _as_chat(known)):
            return False
        del self.in_flight[call.key]
        return True

    def _known_replies(self, calls: Sequence[JudgeCall]) -> dict[str, Reply]:
        """Return, by hash, stored replies to the same questions that led to a verdict."""
        if not self.settings.get("reuse", True):
            return {}
        replies = Reply.objects.filter(
            request_hash__in={call.request_hash for call in calls},
            error="",
            item__status=PlannedItem.Status.SCORED,
            item__run__judge__workspace_id=self.judge.workspace_id,
        ).exclude(item__in=[call.key for call in calls])
        return {reply.request_hash: reply for reply in replies.order_by("-pk")}

    def _settled(self, call: JudgeCall, reply: ChatReply) -> Verdict | Unscored | None:
        """Close the item by a verdict, or as its last attempt, and return the outcome.

        Otherwise the conversation goes on with what is wrong.
        """
        call.replies += 1
        match self.transport.parse(call, reply):
            case Verdict() as verdict:
                self.ledger.close(call.item, canonical(call.item, verdict))
                return verdict
            case Unscored() as unscored:
                most = self.settings.get("attempts", ATTEMPTS)
                if not self.transport.corrects or call.replies >= most or reply.finish_reason == FILTERED:
                    self.ledger.close(call.item, unscored)
                    return unscored
                first = call.messages[: _first_turn(call.messages)]
                quoted = {"role": "assistant", "content": reply.text[:LONGEST_QUOTED_REPLY].strip() or "(nothing)"}
                call.messages = [*first, quoted, dict(self.transport.correction(unscored))]
        return None


async def open_queues(
    run: JudgeRun, clock: Clock, chat_for: ChatMaker, kind: type[JudgeQueue] = JudgeQueue
) -> tuple[list[JudgeQueue], list[str]]:
    """Return a queue for each judge of the run; none, with the reason, if one of the judges cannot be asked."""
    queues: list[JudgeQueue] = []
    try:
        for number, judge in enumerate(await sync_to_async(jurors_of)(run)):
            queues.append(await sync_to_async(kind)(run, new_worker_name(), clock, judge, number))
            queues[-1].open(chat_for)
    except (ChatError, NoEndpoint) as error:
        for queue in queues:
            await queue.close()
        return [], [str(error)]
    return queues, []


def _as_chat(reply: Reply) -> ChatReply:
    return ChatReply(reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens, reply.seconds)


def _first_turn(messages: Sequence[dict[str, str]]) -> int:
    """Return the number of messages before the judge's first answer."""
    return next((n for n, message in enumerate(messages) if message["role"] == "assistant"), len(messages))


class ItemReader:
    """Reads items with the texts that their questions need, batch by batch, in as few columns and rows as possible.

    Models are kept, and instructions from one batch to the next, because many items share one.
    """

    def __init__(self) -> None:
        self._instructions: dict[int, Instruction] = {}
        self._models: dict[int, LanguageModel] = {}

    def read(self, pks: Sequence[int]) -> list[PlannedItem]:
        """Return the items by position."""
        columns = [*COLUMNS, *(f"{side}__{name}" for side in SIDES for name in TEXTS)]
        found = PlannedItem.objects.filter(pk__in=pks).select_related(*SIDES).only(*columns)
        items = sorted(found, key=lambda item: item.position)
        responses = [side for item in items for side in _sides(item)]
        self._learn(responses)
        for response in responses:
            response.instruction = self._instructions[response.instruction_id]
            if response.model_id is not None:
                response.model = self._models[response.model_id]
        return items

    def _learn(self, responses: Sequence[Response]) -> None:
        wanted = {response.instruction_id for response in responses}
        kept = {pk: instruction for pk, instruction in self._instructions.items() if pk in wanted}
        self._instructions = kept | Instruction.objects.in_bulk(wanted - set(kept))
        new = {response.model_id for response in responses if response.model_id} - set(self._models)
        if new:
            self._models |= LanguageModel.objects.select_related("endpoint").in_bulk(new)


def _sides(item: PlannedItem) -> Iterable[Response]:
    yield item.task.response_a
    if item.task.response_b is not None:
        yield item.task.response_b


def replies_of(pks: Sequence[int]) -> dict[int, list[Reply]]:
    """Return the stored replies of earlier attempts by item, the first one first."""
    found: dict[int, list[Reply]] = {}
    for reply in Reply.objects.filter(item__in=pks).order_by("attempt"):
        found.setdefault(reply.item_id, []).append(reply)
    return found

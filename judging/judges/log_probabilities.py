"""The reference's log-probabilities under the writers of a pair, call for at each writer's own endpoint."""

import asyncio
import functools
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeVar

from django.utils import timezone

from core.messages.message import cut, from_json, to_json
from generation.endpoints.clients import NoEndpoint, endpoint_of, pace_of, served_name
from generation.endpoints.grants import read_grants
from generation.endpoints.pricing import prices_of
from generation.execution.endpoint_slots import Slots
from generation.execution.engine import Traffic
from generation.execution.rate_limit import EndpointRateLimit
from generation.execution.worker import LOOK_SECONDS, ChatMaker
from generation.llm.errors import ChatError, Refused, ServerFailed
from generation.llm.protocol.prices import Prices, Spend
from generation.llm.requests import Chat, Message, Reply, Request
from generation.models import Endpoint, LanguageModel
from judging.judges.judge_calls import JudgeCall, SlotsOf, subject_of
from judging.methods import messages as reply_messages
from judging.methods.guided import GuidedQuestion
from judging.methods.pairs import perplexity
from judging.methods.parsing import Unscored, Verdict, Why
from judging.methods.prompts import estimated_tokens, request_hash
from judging.models import Judge, PlannedItem

Place = tuple[str, int]
"""A prompt, and the writer that is call about it."""
NO_CALL = Reply("", "", 0, 0, 0.0, calls=0)
ONE_CALL = Reply("", "", 0, 0, 0.0)
C = TypeVar("C")


@dataclass(frozen=True)
class PricedReply(Reply):
    """A reply whose calls went to several endpoints, with their total cost."""

    cost: Decimal = Decimal(0)


class NotSent(ChatError):
    """The run was paused before this call, one of several for a question, could be sent."""

    retryable = True
    patient = True


def _together(one: Reply, other: Reply) -> Reply:
    """Return a reply with the cost of both."""
    return replace(
        one,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        seconds=one.seconds + other.seconds,
        estimated=one.estimated or other.estimated,
        calls=one.calls + other.calls,
    )


def _prompt_of(messages: Sequence[Message]) -> str:
    return json.dumps(list(messages), sort_keys=True)


class LogProbabilityTransport:
    """Two calls to each writer's own endpoint, once per instruction and writer, however many pairs ask for them."""

    corrects = False
    endpoint: Endpoint | None = None

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.prices = Prices()
        self._models: dict[int, LanguageModel] = {}
        self._chats: dict[int, Chat] = {}
        self._known: dict[Place, dict[str, Any]] = {}
        # What was paid for and is in no reply yet.
        self._owed: dict[Place, Reply] = {}
        self._chat_for: ChatMaker | None = None
        self._slots: SlotsOf = Slots().of
        self._stopped: Callable[[], bool] = lambda: False
        self._under_way = self._in_line = 0
        self._opens_at = 0.0

    def share(self, slots: SlotsOf, stopped: Callable[[], bool]) -> None:
        self._slots, self._stopped = slots, stopped

    def traffic(self, traffic: Traffic) -> Traffic:
        wait = max(0.0, self._opens_at - time.monotonic()) if self._in_line and not self._stopped() else 0.0
        return replace(traffic, under_way=self._under_way, wait=max(wait, traffic.wait))

    def begin(self, item: PlannedItem, question: GuidedQuestion) -> JudgeCall | Unscored:
        for writer in self._writers(item):
            if writer is None:
                return perplexity.not_served("an unnamed writer")
            if writer.endpoint is None:
                return perplexity.not_served(writer.name)
            if writer.pk not in self._chats:
                read_grants(writer.endpoint)
            self._models[writer.pk] = writer
        return JudgeCall(item=item, question=question, messages=perplexity.scoring_messages(question))

    def _writers(self, item: PlannedItem) -> list[LanguageModel | None]:
        """Return the writers in the order shown."""
        other = item.task.response_b
        sides = [item.task.response_a.model, other.model if other else None]
        return sides if item.shown_first == "a" else sides[::-1]

    def prepare(self, call: JudgeCall) -> None:
        call.writers = tuple(writer.pk for writer in self._writers(call.item) if writer is not None)
        names = [served_name(self._models[pk]) for pk in call.writers]
        parameters = {**perplexity.SCORING_PARAMETERS, "writers": names}
        call.request = Request(
            model=" | ".join(names), messages=call.messages, parameters=parameters, subject=subject_of(call.item)
        )
        call.request_hash = request_hash(
            model=call.request.model, messages=call.messages, parameters=parameters, repeat=call.item.repeat
        )
        read = 4 * (sum(estimated_tokens(message["content"]) for message in call.messages) + 1)
        money = max(prices_of(self._models[pk]).cost(read, 4) for pk in call.writers)
        prompt = _prompt_of(call.messages)
        calls = 2 * sum((prompt, pk) not in self._known for pk in call.writers)
        call.reserve = Spend(calls, read, money)

    def shorten(self, call: JudgeCall, error: str) -> bool:
        return False

    def open(self, chat_for: ChatMaker) -> None:
        self._chat_for = chat_for

    async def send(self, call: JudgeCall) -> Reply:
        """Return a reply with the text {"first": {"total", "tokens"} or {"unscored"}, "second": ...}."""
        places = [(_prompt_of(call.request.messages), pk) for pk in call.writers]
        for place in places:
            if place not in self._known:
                try:
                    self._known[place] = await self._score(place, call)
                except ChatError as error:
                    if error.came is not None or not error.patient:
                        self._owe(place, error.came or ONE_CALL)
                    paid = self._paid(places, "")
                    error.came = paid if paid.calls else None
                    # That another writer's endpoint has answered says nothing about this one.
                    error.unsent = False
                    raise
        said = {side: self._known[place] for side, place in zip(("first", "second"), places, strict=True)}
        return self._paid(places, json.dumps(said))

    def _owe(self, place: Place, used: Reply) -> None:
        self._owed[place] = _together(self._owed.get(place, NO_CALL), used)

    def _paid(self, places: Sequence[Place], text: str) -> PricedReply:
        """Return the text with the cost of all calls about these places that is in no reply yet."""
        owed = [(self._models[place[1]], self._owed.pop(place)) for place in places if place in self._owed]
        money = (prices_of(model).cost(used.input_tokens, used.output_tokens) for model, used in owed)
        whole = functools.reduce(_together, (used for _model, used in owed), NO_CALL)
        return PricedReply(
            text,
            "stop",
            whole.input_tokens,
            whole.output_tokens,
            whole.seconds,
            estimated=whole.estimated,
            calls=whole.calls,
            cost=sum(money, Decimal(0)),
        )

    async def _score(self, place: Place, call: JudgeCall) -> dict[str, Any]:
        """Return the reference's log-probability under one writer; the cost of the calls is owed."""
        pk = place[1]
        model = self._models[pk]
        if pk not in self._chats:
            assert self._chat_for is not None
            self._chats[pk] = self._chat_for(model)
        prefix = perplexity.prefix_messages(call.question)
        own = self._chats[pk]
        try:
            first = await self._call(
                call, model, own.complete, Request(served_name(model), prefix, dict(perplexity.PREFIX_PARAMETERS))
            )
            self._owe(place, first)
            if first.estimated:
                raise ServerFailed(reply_messages.TOKENS_UNKNOWN())
            scored = await self._call(
                call,
                model,
                own.prompt_log_probabilities,
                Request(served_name(model), call.request.messages, dict(perplexity.SCORING_PARAMETERS)),
            )
            found = perplexity.reference_log_probability(scored.log_probabilities, first.input_tokens)
        except (Refused, NoEndpoint) as error:
            if isinstance(error, Refused):
                self._owe(place, ONE_CALL)
            lack = reply_messages.NOT_SERVED_WHY(model=model.name, words=cut(str(error), 120))
            return {"unscored": lack, "message": to_json(lack)}
        except perplexity.NoLogProbabilities as error:
            failed = ServerFailed(*error.args)
            failed.came = scored.reply
            raise failed from error
        self._owe(place, scored.reply)
        return {"total": found.total, "tokens": found.tokens, "model": model.name}

    async def _call(
        self, call: JudgeCall, model: LanguageModel, send: Callable[[Request], Awaitable[C]], request: Request
    ) -> C:
        """Make one call once its endpoint has a free slot and may be called. Raises NotSent if nothing more may be sent."""
        async with self._slots(endpoint_of(model)):
            # Only who has a slot takes a turn: turns that pass while all wait for slots would be used up at once.
            await self._wait_in_line(model, call)
            if self._stopped():
                raise NotSent(reply_messages.NOT_SENT())
            self._under_way += 1
            try:
                return await send(request)
            finally:
                self._under_way -= 1

    async def _wait_in_line(self, model: LanguageModel, call: JudgeCall) -> None:
        """Wait until the writer's own endpoint, which the engine does not know, may be called."""
        endpoint = endpoint_of(model)
        pace = pace_of(endpoint)
        if pace.limited:
            # Four readings are reserved: two calls to each of two writers.
            seconds = pace.seconds_of(Spend(1, call.reserve.tokens // 4))
            self._in_line += 1
            try:
                wait = await EndpointRateLimit(endpoint, timezone.now).claim(seconds)
                self._opens_at = opens_at = time.monotonic() + wait
                while (left := opens_at - time.monotonic()) > 0 and not self._stopped():
                    await asyncio.sleep(min(left, LOOK_SECONDS))
            finally:
                self._in_line -= 1

    async def close(self) -> None:
        for one in self._chats.values():
            await one.close()

    def parse(self, call: JudgeCall, reply: Reply) -> Verdict | Unscored:
        said = json.loads(reply.text)
        sides = [_log_probability(said[side]) for side in ("first", "second")]
        return perplexity.decide(call.question, sides[0], sides[1])

    def correction(self, unscored: Unscored) -> Mapping[str, str]:
        return {}


def _log_probability(said: Mapping[str, Any]) -> perplexity.LogProbability | Unscored:
    if "unscored" in said:
        return Unscored(Why.ENDPOINT, from_json(said.get("message")) or str(said["unscored"]))
    return perplexity.LogProbability(float(said["total"]), int(said["tokens"]))

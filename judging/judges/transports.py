"""How a question reaches a model and comes back, for each kind of call that a method makes."""

import asyncio
import functools
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol, TypeVar

from django.utils import timezone

from generation.endpoints.clients import (
    NoEndpoint,
    context_of,
    endpoint_of,
    pace_of,
    prices_of,
    remember_context,
    served_name,
    takes_json_schema,
)
from generation.endpoints.grants import read_grants
from generation.execution.engine import Traffic
from generation.execution.rate_limit import EndpointTurns
from generation.execution.shift import LOOK_SECONDS
from generation.execution.worker import Slots
from generation.llm.errors import ChatError, Refused, ServerFailed
from generation.llm.protocol.prices import Prices, Spend
from generation.llm.protocol.token_limits import allowed_tokens, next_allowance, told_by
from generation.llm.requests import Chat, Message, Reply, Request
from generation.models import Endpoint, LanguageModel
from judging.methods import messages as reply_messages, method_named
from judging.methods.guided import GuidedQuestion
from judging.methods.needs import NEEDS, Transport
from judging.methods.pairs import base as pairs, embedding, perplexity
from judging.methods.parsing import Unscored, Verdict, Why, without_words
from judging.methods.prompts import Item, estimated_tokens, least_tokens, request_hash
from judging.models import Judge, PlannedItem

ChatMaker = Callable[[LanguageModel], Chat]
SlotsOf = Callable[[Endpoint], asyncio.Semaphore]
C = TypeVar("C")
SHORTEST_PART = 8
"""An answer of less than an eighth of what its method may need is not worth asking for."""
OUTPUT_NAMES = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class PricedReply(Reply):
    """A reply whose calls went to more than one endpoint, with what they cost together."""

    cost: Decimal = Decimal(0)


@dataclass(frozen=True)
class Asked:
    """One question to be sent. `reserve` is the most that it can cost."""

    item: int
    request: Request
    request_hash: str
    reserve: Spend
    question: GuidedQuestion
    writers: tuple[int, ...] = ()


@dataclass
class Held:
    """An item in hand: its question as shown, the conversation so far, and how many attempts and replies it has had.

    `allowance` caps the answer's tokens once the server refused more. `refused`: what failed was this call alone.
    """

    item: PlannedItem
    question: GuidedQuestion
    messages: list[dict[str, str]]
    attempts: int = 0
    replies: int = 0
    asked: Asked | None = None
    last_error: str = ""
    allowance: int | None = None
    refused: bool = False


class Way(Protocol):
    """`corrects`: an unusable reply is answered with what was wrong, and asked again."""

    corrects: bool
    prices: Prices

    @property
    def endpoint(self) -> Endpoint | None: ...

    def begin(self, item: PlannedItem, question: GuidedQuestion) -> Held | Unscored: ...

    def ask(self, held: Held) -> Asked: ...

    def shorten(self, held: Held, words: str) -> bool:
        """Whether the question can be asked with a shorter answer, which the server has room for by its `words`."""

    def open(self, chat_for: ChatMaker) -> None:
        """Inside the event loop. Raises ChatError, NoEndpoint."""

    def share(self, slots: SlotsOf, stopped: Callable[[], bool]) -> None:
        """What one question's several calls go by: how many an endpoint takes, and whether any may still be sent."""

    def seen(self, traffic: Traffic) -> Traffic:
        """The engine's traffic in calls, where a question is several."""

    async def send(self, asked: Asked) -> Reply:
        """Raises ChatError."""

    async def close(self) -> None: ...

    def parse(self, held: Held, reply: Reply) -> Verdict | Unscored:
        """In terms of the sides as shown."""

    def correction(self, unscored: Unscored) -> Mapping[str, str]: ...


def way_of(judge: Judge, key: str = "") -> Way:
    """Raises NoEndpoint where the judge's method needs a model and nothing says where it is served."""
    match NEEDS[judge.method].transport:
        case Transport.EMBEDDINGS:
            return EmbeddingWay(judge)
        case Transport.LOG_PROBABILITIES:
            return LogProbabilityWay(judge)
        case _:
            return ChatWay(judge)


def model_of(judge: Judge) -> LanguageModel:
    if judge.language_model is None:
        raise NoEndpoint(reply_messages.NO_MODEL(judge=judge))
    return judge.language_model


def subject_of(item: PlannedItem) -> dict[str, str]:
    """What a scripted reply is looked up by."""
    response = item.task.response_a
    instruction = response.instruction.external_id
    name = response.external_id or f"{instruction}/{response.model or ''}"
    found = {"response": name, "instruction": instruction, "repeat": str(item.repeat)}
    if item.task.response_b is not None:
        other = item.task.response_b
        rival = other.external_id or f"{instruction}/{other.model or ''}"
        found |= {"response": f"{name} | {rival}", "first": item.shown_first}
    return found


class NotSent(ChatError):
    """The run was paused before this call, one of several that a question takes, could be sent."""

    retryable = True
    patient = True


class OneCall:
    """A question is one call, which the engine sends and counts."""

    def share(self, slots: SlotsOf, stopped: Callable[[], bool]) -> None:
        return None

    def seen(self, traffic: Traffic) -> Traffic:
        return traffic


class ChatWay(OneCall):
    """One chat call, its reply read by the method."""

    corrects = True

    def __init__(self, judge: Judge) -> None:
        self.judge, self.model = judge, model_of(judge)
        self.method = method_named(judge.method)
        self.endpoint = endpoint_of(self.model)
        read_grants(self.endpoint)
        self.prices = prices_of(self.endpoint)
        self.structured = takes_json_schema(self.endpoint)
        self._parameters = dict(judge.parameters)
        self._capped = bool(set(OUTPUT_NAMES) & set(self._parameters))
        self._schemas: dict[int, tuple[tuple[Item, ...], dict[str, Any]]] = {}
        self._chat: Chat | None = None

    def begin(self, item: PlannedItem, question: GuidedQuestion) -> Held | Unscored:
        messages = self.method.messages(self.judge.prompt, question, with_schema=not self.structured)
        limit = context_of(self.model, self.endpoint)
        if limit is not None and sum(least_tokens(m["content"]) for m in messages) > limit:
            return Unscored(Why.TOO_LONG, reply_messages.LONGER_THAN_CONTEXT(n=limit))
        return Held(item, question, messages)

    def ask(self, held: Held) -> Asked:
        items = held.question.items
        schema = self._schema_of(items)
        parameters = dict(self._parameters)
        if not self._capped:
            parameters["max_tokens"] = self._answer_tokens(held)
        if held.allowance is not None:
            parameters |= {name: held.allowance for name in OUTPUT_NAMES if parameters.get(name)}
        request = Request(
            model=served_name(self.model),
            messages=held.messages,
            parameters=parameters,
            schema=schema,
            structured=self.structured,
            subject=subject_of(held.item),
        )
        hashed = request_hash(
            model=self.model.name, messages=held.messages, parameters=parameters, repeat=held.item.repeat
        )
        written = int(next((parameters[name] for name in OUTPUT_NAMES if parameters.get(name)), 0))
        read = sum(estimated_tokens(message["content"]) for message in held.messages)
        reserve = Spend(1, read + written, self.prices.cost(read, written))
        return Asked(held.item.pk, request, hashed, reserve, held.question)

    def _answer_tokens(self, held: Held) -> int:
        """The longest answer that the method may need, less what the context surely has no room for."""
        most = self.method.answer_tokens(held.question.items)
        least = sum(least_tokens(message["content"]) for message in held.messages)
        return allowed_tokens(most, least, context_of(self.model, self.endpoint))

    def shorten(self, held: Held, words: str) -> bool:
        assert held.asked is not None
        sent = held.asked.request.parameters
        asked = next((int(sent[name]) for name in OUTPUT_NAMES if sent.get(name)), 0)
        told = told_by(words)
        fewer = next_allowance(asked, sum(estimated_tokens(m["content"]) for m in held.messages), told)
        if fewer is None or fewer * SHORTEST_PART < self.method.answer_tokens(held.question.items):
            return False
        if told.context is not None:
            # Only now: a context that no question fits into would be believed of all of them.
            remember_context(self.model, self.endpoint, told.context)
        held.allowance = fewer
        return True

    def _schema_of(self, items: tuple[Item, ...]) -> dict[str, Any]:
        """Once a rubric: its items are the same object from task to task, and comparing them takes long."""
        known = self._schemas.get(id(items))
        if known is None:
            known = self._schemas[id(items)] = items, self.method.schema(items)
        return known[1]

    def open(self, chat_for: ChatMaker) -> None:
        self._chat = chat_for(self.model)

    async def send(self, asked: Asked) -> Reply:
        assert self._chat is not None
        return await self._chat.complete(asked.request)

    async def close(self) -> None:
        if self._chat is not None:
            await self._chat.close()

    def parse(self, held: Held, reply: Reply) -> Verdict | Unscored:
        if not reply.text.strip():
            return without_words(reply.finish_reason)
        return self.method.parse(reply.text, held.question.items, reply.finish_reason)

    def correction(self, unscored: Unscored) -> Mapping[str, str]:
        return self.method.correction(unscored)


class EmbeddingWay(OneCall):
    """One call for three vectors. Stored are their cosines with the reference, from which the verdict follows."""

    corrects = False

    def __init__(self, judge: Judge) -> None:
        self.judge, self.model = judge, model_of(judge)
        self.endpoint = endpoint_of(self.model)
        read_grants(self.endpoint)
        self.prices = prices_of(self.endpoint)
        self._chat: Chat | None = None

    def begin(self, item: PlannedItem, question: GuidedQuestion) -> Held | Unscored:
        return Held(item, question, [{"role": "user", "content": text} for text in embedding.texts(question)])

    def ask(self, held: Held) -> Asked:
        request = Request(
            model=served_name(self.model), messages=held.messages, subject=subject_of(held.item)
        )
        hashed = request_hash(
            model=self.model.name, messages=held.messages, parameters={"embed": True}, repeat=held.item.repeat
        )
        read = sum(estimated_tokens(message["content"]) for message in held.messages)
        return Asked(held.item.pk, request, hashed, Spend(1, read, self.prices.cost(read, 0)), held.question)

    def shorten(self, held: Held, words: str) -> bool:
        return False

    def open(self, chat_for: ChatMaker) -> None:
        self._chat = chat_for(self.model)

    async def send(self, asked: Asked) -> Reply:
        import time

        assert self._chat is not None
        begun = time.monotonic()
        texts = [message["content"] for message in asked.request.messages]
        found = await self._chat.embeddings(asked.request.model, texts)
        text = json.dumps(plane_of(found.vectors))
        return Reply(text, "stop", found.input_tokens, 0, time.monotonic() - begun)

    async def close(self) -> None:
        if self._chat is not None:
            await self._chat.close()

    def parse(self, held: Held, reply: Reply) -> Verdict | Unscored:
        return embedding.decide(held.question, json.loads(reply.text)["vectors"])

    def correction(self, unscored: Unscored) -> Mapping[str, str]:
        return {}


def plane_of(vectors: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Three vectors as ones in a plane with the same cosines to the first: {"dimensions", "vectors"}.

    A zero vector stays one; vectors of different lengths come back as they are.
    """
    sizes = [math.hypot(*vector) for vector in vectors]
    if len(vectors) != 3 or len({len(vector) for vector in vectors}) != 1 or not sizes[0]:
        return {"dimensions": [len(vector) for vector in vectors], "vectors": [list(v) for v in vectors]}
    flat = [[1.0, 0.0]]
    for vector, size in zip(vectors[1:], sizes[1:], strict=True):
        if not size:
            flat.append([0.0, 0.0])
            continue
        cosine = math.fsum(a / sizes[0] * (b / size) for a, b in zip(vectors[0], vector, strict=True))
        cosine = max(-1.0, min(1.0, cosine))
        flat.append([cosine, math.sqrt(1.0 - cosine * cosine)])
    return {"dimensions": len(vectors[0]), "vectors": flat}


Place = tuple[str, int]
"""A prompt, and the writer that is asked about it."""
NO_CALL = Reply("", "", 0, 0, 0.0, calls=0)
ONE_CALL = Reply("", "", 0, 0, 0.0)


def _together(one: Reply, other: Reply) -> Reply:
    """What both have cost."""
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


class LogProbabilityWay:
    """Two calls to each writer's own endpoint, once for an instruction and a writer, however many pairs ask."""

    corrects = False
    endpoint: Endpoint | None = None

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.prices = Prices()
        self._models: dict[int, LanguageModel] = {}
        self._chats: dict[int, Chat] = {}
        self._known: dict[Place, dict[str, Any]] = {}
        # What was paid for and stands in no reply yet.
        self._owed: dict[Place, Reply] = {}
        self._chat_for: ChatMaker | None = None
        self._slots: SlotsOf = Slots().of
        self._stopped: Callable[[], bool] = lambda: False
        self._under_way = self._in_line = 0
        self._opens_at = 0.0

    def share(self, slots: SlotsOf, stopped: Callable[[], bool]) -> None:
        self._slots, self._stopped = slots, stopped

    def seen(self, traffic: Traffic) -> Traffic:
        wait = max(0.0, self._opens_at - time.monotonic()) if self._in_line and not self._stopped() else 0.0
        return replace(traffic, under_way=self._under_way, wait=max(wait, traffic.wait))

    def begin(self, item: PlannedItem, question: GuidedQuestion) -> Held | Unscored:
        for writer in self._writers(item):
            if writer is None:
                return perplexity.not_served("an unnamed writer")
            if writer.endpoint is None:
                return perplexity.not_served(writer.name)
            if writer.pk not in self._chats:
                read_grants(writer.endpoint)
            self._models[writer.pk] = writer
        return Held(item, question, perplexity.scoring_messages(question))

    def _writers(self, item: PlannedItem) -> list[LanguageModel | None]:
        """In the order shown."""
        other = item.task.response_b
        sides = [item.task.response_a.model, other.model if other else None]
        return sides if item.shown_first == "a" else sides[::-1]

    def ask(self, held: Held) -> Asked:
        writers = tuple(writer.pk for writer in self._writers(held.item) if writer is not None)
        names = [served_name(self._models[pk]) for pk in writers]
        parameters = {**perplexity.SCORING_PARAMETERS, "writers": names}
        request = Request(
            model=" | ".join(names),
            messages=held.messages,
            parameters=parameters,
            subject=subject_of(held.item),
        )
        hashed = request_hash(
            model=request.model, messages=held.messages, parameters=parameters, repeat=held.item.repeat
        )
        read = 4 * (sum(estimated_tokens(message["content"]) for message in held.messages) + 1)
        money = max(prices_of(endpoint_of(self._models[pk])).cost(read, 4) for pk in writers)
        prompt = _prompt_of(held.messages)
        calls = 2 * sum((prompt, pk) not in self._known for pk in writers)
        return Asked(held.item.pk, request, hashed, Spend(calls, read, money), held.question, writers)

    def shorten(self, held: Held, words: str) -> bool:
        return False

    def open(self, chat_for: ChatMaker) -> None:
        self._chat_for = chat_for

    async def send(self, asked: Asked) -> Reply:
        """{"first": {"total", "tokens"} or {"unscored"}, "second": ...} as the reply's text."""
        places = [(_prompt_of(asked.request.messages), pk) for pk in asked.writers]
        for place in places:
            if place not in self._known:
                try:
                    self._known[place] = await self._score(place, asked)
                except ChatError as error:
                    if error.came is not None or not error.patient:
                        self._owe(place, error.came or ONE_CALL)
                    paid = self._paid(places, "")
                    error.came = paid if paid.calls else None
                    # That another writer's endpoint has answered says nothing of this one's.
                    error.unsent = False
                    raise
        said = {side: self._known[place] for side, place in zip(("first", "second"), places, strict=True)}
        return self._paid(places, json.dumps(said))

    def _owe(self, place: Place, used: Reply) -> None:
        self._owed[place] = _together(self._owed.get(place, NO_CALL), used)

    def _paid(self, places: Sequence[Place], text: str) -> PricedReply:
        """The text with everything that calls about these places have cost and no reply has told yet."""
        owed = [(self._models[place[1]], self._owed.pop(place)) for place in places if place in self._owed]
        money = (
            prices_of(endpoint_of(model)).cost(used.input_tokens, used.output_tokens) for model, used in owed
        )
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

    async def _score(self, place: Place, asked: Asked) -> dict[str, Any]:
        """The reference under one writer; what its calls cost is owed."""
        pk = place[1]
        model = self._models[pk]
        if pk not in self._chats:
            assert self._chat_for is not None
            self._chats[pk] = self._chat_for(model)
        prefix = perplexity.prefix_messages(asked.question)
        own = self._chats[pk]
        await self._take_turn(model, asked)
        try:
            first = await self._call(
                model,
                own.complete,
                Request(served_name(model), prefix, dict(perplexity.PREFIX_PARAMETERS)),
            )
            self._owe(place, first)
            if first.estimated:
                raise ServerFailed(reply_messages.TOKENS_UNKNOWN())
            scored = await self._call(
                model,
                own.prompt_log_probabilities,
                Request(served_name(model), asked.request.messages, dict(perplexity.SCORING_PARAMETERS)),
            )
            found = perplexity.reference_log_probability(scored.log_probabilities, first.input_tokens)
        except (Refused, NoEndpoint) as error:
            if isinstance(error, Refused):
                self._owe(place, ONE_CALL)
            lack = reply_messages.NOT_SERVED_WHY(model=model.name, words=str(error)[:120])
            return {"unscored": lack}
        except perplexity.NoLogProbabilities as error:
            failed = ServerFailed(*error.args)
            failed.came = scored.reply
            raise failed from error
        self._owe(place, scored.reply)
        return {"total": found.total, "tokens": found.tokens, "model": model.name}

    async def _call(
        self, model: LanguageModel, send: Callable[[Request], Awaitable[C]], request: Request
    ) -> C:
        """One call, where its endpoint has room for it. Raises NotSent where the run is to send nothing more."""
        async with self._slots(endpoint_of(model)):
            if self._stopped():
                raise NotSent(reply_messages.NOT_SENT())
            self._under_way += 1
            try:
                return await send(request)
            finally:
                self._under_way -= 1

    async def _take_turn(self, model: LanguageModel, asked: Asked) -> None:
        """Waits until the writer's own endpoint, which the engine does not know, may be called twice."""
        endpoint = endpoint_of(model)
        pace = pace_of(endpoint)
        if pace.limited:
            # Four readings are reserved: two calls to each of two writers.
            seconds = 2 * pace.seconds_of(Spend(1, asked.reserve.tokens // 4))
            self._in_line += 1
            try:
                wait = await EndpointTurns(endpoint, timezone.now).claim(seconds)
                self._opens_at = opens_at = time.monotonic() + wait
                while (left := opens_at - time.monotonic()) > 0 and not self._stopped():
                    await asyncio.sleep(min(left, LOOK_SECONDS))
            finally:
                self._in_line -= 1

    async def close(self) -> None:
        for one in self._chats.values():
            await one.close()

    def parse(self, held: Held, reply: Reply) -> Verdict | Unscored:
        said = json.loads(reply.text)
        sides = [_log_probability(said[side]) for side in ("first", "second")]
        return perplexity.decide(held.question, sides[0], sides[1])

    def correction(self, unscored: Unscored) -> Mapping[str, str]:
        return {}


def _log_probability(said: Mapping[str, Any]) -> perplexity.LogProbability | Unscored:
    if "unscored" in said:
        return Unscored(Why.ENDPOINT, str(said["unscored"]))
    return perplexity.LogProbability(float(said["total"]), int(said["tokens"]))


def shown(item: PlannedItem, question: GuidedQuestion) -> GuidedQuestion:
    """The question with a pair's texts in the order in which they are shown."""
    if len(question.responses) != 2:
        return question
    turned = pairs.in_order(question, "b" if item.shown_first == "b" else "a")
    assert isinstance(turned, GuidedQuestion)
    return turned


def canonical(item: PlannedItem, outcome: Verdict | Unscored) -> Verdict | Unscored:
    """A pair's verdict in terms of the task's own A and B."""
    if item.task.response_b_id is None:
        return outcome
    return pairs.canonical(outcome, "b" if item.shown_first == "b" else "a")

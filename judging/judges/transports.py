"""How a question reaches a model and comes back: the way that a judge's method takes, which is most often a chat."""

from collections.abc import Mapping
from typing import Any

from generation.endpoints.clients import (
    context_of,
    endpoint_of,
    prices_of,
    remember_context,
    served_name,
    takes_json_schema,
)
from generation.endpoints.grants import read_grants
from generation.llm.protocol.prices import Spend
from generation.llm.protocol.token_limits import allowed_tokens, next_allowance, told_by
from generation.llm.requests import Chat, Reply, Request
from judging.judges.embeddings import EmbeddingWay
from judging.judges.log_probabilities import LogProbabilityWay
from judging.judges.ways import Asked, ChatMaker, Held, OneCall, Way, model_of, subject_of
from judging.methods import messages as reply_messages
from judging.methods.guided import GuidedQuestion
from judging.methods.parsing import Unscored, Verdict, Why, without_words
from judging.methods.prompts import Item, estimated_tokens, least_tokens, request_hash
from judging.methods.registry import METHODS, chat_method
from judging.methods.spec import Transport
from judging.models import Judge, PlannedItem

SHORTEST_PART = 8
"""An answer of less than an eighth of what its method may need is not worth asking for."""
OUTPUT_NAMES = ("max_completion_tokens", "max_tokens")


def way_of(judge: Judge, key: str = "") -> Way:
    """Raises NoEndpoint where the judge's method needs a model and nothing says where it is served."""
    match METHODS[judge.method].transport:
        case Transport.EMBEDDINGS:
            return EmbeddingWay(judge)
        case Transport.LOG_PROBABILITIES:
            return LogProbabilityWay(judge)
        case _:
            return ChatWay(judge)


class ChatWay(OneCall):
    """One chat call, its reply read by the method."""

    corrects = True

    def __init__(self, judge: Judge) -> None:
        self.judge, self.model = judge, model_of(judge)
        self.method = chat_method(judge.method)
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

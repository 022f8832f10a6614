"""How a question reaches a model and comes back: the transport of a judge's method, most often a chat."""

from collections.abc import Awaitable, Mapping
from typing import Any

from generation.endpoints.clients import context_of, endpoint_of, remember_context, served_name, takes_json_schema
from generation.endpoints.grants import read_grants
from generation.endpoints.pricing import prices_of
from generation.execution.worker import ChatMaker
from generation.llm.protocol.prices import Spend
from generation.llm.protocol.token_limits import allowed_tokens, next_allowance, told_by
from generation.llm.requests import Chat, Reply, Request
from judging.judges.embeddings import EmbeddingTransport
from judging.judges.judge_calls import JudgeCall, JudgeTransport, OneCall, model_of, subject_of
from judging.judges.log_probabilities import LogProbabilityTransport
from judging.judges.questions import REFERENCE_FROM
from judging.methods import messages as reply_messages
from judging.methods.guided import GuidedQuestion
from judging.methods.parsing import Unscored, Verdict, Why, without_words
from judging.methods.prompts import Item, estimated_tokens, least_tokens, request_hash
from judging.methods.registry import METHODS, chat_method
from judging.methods.spec import Transport
from judging.models import Judge, PlannedItem

SHORTEST_PART = 8
"""An answer shorter than an eighth of what its method may need is not asked for."""
OUTPUT_NAMES = ("max_completion_tokens", "max_tokens")


def transport_of(judge: Judge) -> JudgeTransport:
    """Raises NoEndpoint if the judge's method needs a model and nothing says where it is served."""
    match METHODS[judge.method].transport:
        case Transport.EMBEDDINGS:
            return EmbeddingTransport(judge)
        case Transport.LOG_PROBABILITIES:
            return LogProbabilityTransport(judge)
        case _:
            return ChatTransport(judge)


class ChatTransport(OneCall):
    """One chat call, its reply read by the method."""

    corrects = True

    def __init__(self, judge: Judge) -> None:
        self.judge, self.model = judge, model_of(judge)
        self.method = chat_method(judge.method)
        self.endpoint = endpoint_of(self.model)
        read_grants(self.endpoint)
        self.prices = prices_of(self.model)
        self.structured = takes_json_schema(self.endpoint)
        self._parameters = {name: value for name, value in judge.parameters.items() if name != REFERENCE_FROM}
        self._capped = bool(set(OUTPUT_NAMES) & set(self._parameters))
        self._schemas: dict[int, tuple[tuple[Item, ...], dict[str, Any]]] = {}
        self._chat: Chat | None = None

    def begin(self, item: PlannedItem, question: GuidedQuestion) -> JudgeCall | Unscored:
        messages = self.method.messages(self.judge.prompt, question, with_schema=not self.structured)
        limit = context_of(self.model, self.endpoint)
        if limit is not None and sum(least_tokens(m["content"]) for m in messages) > limit:
            return Unscored(Why.TOO_LONG, reply_messages.LONGER_THAN_CONTEXT(n=limit))
        return JudgeCall(item=item, question=question, messages=messages)

    def prepare(self, call: JudgeCall) -> None:
        items = call.question.items
        schema = self._schema_of(items)
        parameters = dict(self._parameters)
        if not self._capped:
            parameters["max_tokens"] = self._answer_tokens(call)
        if call.allowance is not None:
            parameters |= {name: call.allowance for name in OUTPUT_NAMES if parameters.get(name)}
        call.request = Request(
            model=served_name(self.model),
            messages=call.messages,
            parameters=parameters,
            schema=schema,
            structured=self.structured,
            subject=subject_of(call.item),
        )
        call.request_hash = request_hash(
            model=self.model.name, messages=call.messages, parameters=parameters, repeat=call.item.repeat
        )
        written = int(next((parameters[name] for name in OUTPUT_NAMES if parameters.get(name)), 0))
        read = sum(estimated_tokens(message["content"]) for message in call.messages)
        call.reserve = Spend(1, read + written, self.prices.cost(read, written))

    def _answer_tokens(self, call: JudgeCall) -> int:
        """Return the tokens of the longest answer that the method may need, at most what the context has room for."""
        most = self.method.answer_tokens(call.question.items)
        least = sum(least_tokens(message["content"]) for message in call.messages)
        return allowed_tokens(most, least, context_of(self.model, self.endpoint))

    def shorten(self, call: JudgeCall, error: str) -> bool:
        sent = call.request.parameters
        limit = next((int(sent[name]) for name in OUTPUT_NAMES if sent.get(name)), 0)
        stated = told_by(error)
        fewer = next_allowance(limit, sum(estimated_tokens(m["content"]) for m in call.messages), stated)
        if fewer is None or fewer * SHORTEST_PART < self.method.answer_tokens(call.question.items):
            return False
        if stated.context is not None:
            # Not before: a context that is too short for every question would be applied to all of them.
            remember_context(self.model, self.endpoint, stated.context)
        call.allowance = fewer
        return True

    def _schema_of(self, items: tuple[Item, ...]) -> dict[str, Any]:
        """Return the schema, made once per rubric, since comparing its items, the same object in every task, is slow."""
        known = self._schemas.get(id(items))
        if known is None:
            known = self._schemas[id(items)] = items, self.method.schema(items)
        return known[1]

    def open(self, chat_for: ChatMaker) -> None:
        self._chat = chat_for(self.model)

    def send(self, call: JudgeCall) -> Awaitable[Reply]:
        assert self._chat is not None
        return self._chat.complete(call.request)

    async def close(self) -> None:
        if self._chat is not None:
            await self._chat.close()

    def parse(self, call: JudgeCall, reply: Reply) -> Verdict | Unscored:
        if not reply.text.strip():
            return without_words(reply.finish_reason)
        return self.method.parse(reply.text, call.question.items, reply.finish_reason)

    def correction(self, unscored: Unscored) -> Mapping[str, str]:
        return self.method.correction(unscored)

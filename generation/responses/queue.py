"""The work queue of a generation run at one endpoint: how an item becomes a chat call, and what is stored of it."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import Q

from core.clock import Clock
from generation.endpoints.clients import (
    NoEndpoint,
    context_of,
    endpoint_of,
    remember_context,
    sampling_parameters,
    served_name,
)
from generation.endpoints.pricing import prices_of
from generation.execution.engine import Retry
from generation.execution.leases import new_worker_name
from generation.execution.work_queue import InFlightCall, WorkQueue
from generation.execution.worker import ChatMaker
from generation.llm.errors import ChatError, TooLong
from generation.llm.protocol.call_limits import CallFailed
from generation.llm.protocol.messages import NO_TEXT
from generation.llm.protocol.prices import MILLIONTH, Spend
from generation.llm.protocol.token_limits import allowed_tokens, estimated_tokens, next_allowance, told_by
from generation.llm.protocol.wrapping import NothingToWrap, chat_of, first_line_of
from generation.llm.requests import Chat, Reply, Request
from generation.models import Endpoint, GenerationItem, GenerationRun, Instruction, LanguageModel
from generation.responses.manifest import models_of
from generation.responses.plan import NEW_TOKENS, Prefill
from generation.responses.recording import note_attempt, record_broken, record_failure, record_response, spent_of

LONGEST_TEXT_SECONDS = 1800.0
REPORT_SECONDS = 10.0
"""How long a text that has taken too long has to report what had arrived of it, before its call is cut off."""
NEW_TOKENS_KEYS = ("max_completion_tokens", "max_tokens")
LEFT_OPEN: dict[str, Any] = {"add_generation_prompt": False, "continue_final_message": True}
"""vLLM's parameters by which a reply goes on from the last message instead of answering it."""


@dataclass(kw_only=True)
class TextCall(InFlightCall[GenerationItem]):
    """A text to be written; `prompt_tokens` is an estimate."""

    prompt_tokens: int


class GenerationQueue(WorkQueue[GenerationItem, TextCall]):
    """The items of `models`, all at one endpoint."""

    run: GenerationRun
    endpoint: Endpoint

    def __init__(
        self, run: GenerationRun, endpoint: Endpoint, worker: str, clock: Clock, models: Sequence[int] = ()
    ) -> None:
        streamed = run.manifest.get("settings", {}).get("stall_seconds") is not None
        # A streamed text may take as long as its words keep arriving, within reason.
        self.longest_seconds = max(LONGEST_TEXT_SECONDS if streamed else 0.0, float(endpoint.timeout_seconds))
        retry = Retry(try_seconds=self.longest_seconds + REPORT_SECONDS, call_seconds=2 * self.longest_seconds)
        super().__init__(run, worker, clock, endpoint=endpoint, count_spending=spent_of, retry=retry)
        self.models = list(models)
        self.proven = run.items.filter(status=GenerationItem.Status.DONE, model__endpoint=endpoint).exists()
        self._chats: dict[int, Chat] = {}
        self._longest_answers: dict[int, int] = {}

    @property
    def own_items(self) -> Q:
        return Q(model_id__in=self.models)

    def read_items(self, pks: Sequence[int]) -> list[GenerationItem]:
        items = GenerationItem.objects.filter(pk__in=pks).select_related("instruction", "model__endpoint")
        return sorted(items, key=lambda item: item.position)

    def take_up(self, item: GenerationItem) -> TextCall | None:
        instruction = item.instruction
        try:
            messages = chat_of(
                instruction.messages or [],
                self.run.experiment,
                language=instruction.language,
                of_instruction=instruction.words_asked,
            )
        except NothingToWrap as error:
            record_failure(item, str(error))
            return None
        if first_line_of(messages) and self.settings.get("prefill") == Prefill.OFF:
            messages = messages[:-1]
        return TextCall(item=item, messages=messages, prompt_tokens=estimated_tokens(messages))

    def prepare(self, call: TextCall) -> None:
        """Allow as many new tokens as the model, its context and its server allow."""
        item = call.item
        key, limit, parameters = self._parameters(item)
        limit = min(limit, self._longest_answers.get(item.model_id, limit))
        if call.allowance is None:
            new = allowed_tokens(limit, call.prompt_tokens, context_of(item.model, self.endpoint))
        else:
            new = min(limit, call.allowance)
        parameters[key] = new
        if first_line_of(call.messages) and self.settings.get("prefill", Prefill.CONTINUE) == Prefill.CONTINUE:
            parameters |= LEFT_OPEN
        if self.run.seed:
            parameters["seed"] = self.run.seed + item.sample
        name = f"{item.instruction.external_id}/{item.model.name}" + (f"/{item.sample}" if item.sample else "")
        call.request = Request(
            model=served_name(item.model),
            messages=call.messages,
            parameters=parameters,
            subject={"response": name, "instruction": item.instruction.external_id, "sample": str(item.sample)},
            stall_seconds=self.settings.get("stall_seconds"),
            longest_seconds=self.longest_seconds,
        )
        cost = prices_of(item.model).cost(call.prompt_tokens, new).quantize(MILLIONTH, ROUND_UP)
        call.reserve = Spend(1, call.prompt_tokens + new, cost)

    def _parameters(self, item: GenerationItem) -> tuple[str, int, dict[str, Any]]:
        return new_tokens_of(item.model, item.instruction, self.run.parameters, self.settings)

    def open(self, model: int, chat: Chat) -> None:
        self._chats[model] = chat
        self.models.append(model)

    def send(self, call: TextCall) -> Awaitable[Reply]:
        return self._chats[call.item.model_id].complete(call.request)

    async def close(self) -> None:
        for chat in self._chats.values():
            await chat.close()

    def price(self, call: TextCall, reply: Reply) -> Decimal:
        return prices_of(call.item.model).cost(reply.input_tokens, reply.output_tokens).quantize(MILLIONTH)

    def record_reply(self, call: TextCall, reply: Reply) -> bool:
        record_response(call.item, reply, prices_of(call.item.model))
        self.count_usable(call.key, bool(reply.text.strip()), NO_TEXT(finish=reply.finish_reason or "-"))
        return True

    def record_attempt(self, call: TextCall, error: CallFailed, money: Decimal) -> None:
        if error.came is not None:
            record_broken(call.item, error.came, money)
        note_attempt(call.item, call.last_error)

    def record_failure(self, call: TextCall, *, too_long: bool = False) -> None:
        record_failure(call.item, call.last_error)

    def shorten(self, call: TextCall, error: TooLong) -> bool:
        sent = call.request.parameters
        limit = next(int(sent[name]) for name in NEW_TOKENS_KEYS if name in sent)
        stated = told_by(str(error))
        fewer = next_allowance(limit, call.prompt_tokens, stated)
        if fewer is None:
            return False
        call.allowance = fewer
        if stated.answer is not None:
            self._longest_answers[call.item.model_id] = stated.answer
        if stated.context is not None:
            remember_context(call.item.model, self.endpoint, stated.context)
        return True


async def open_queues(run: GenerationRun, clock: Clock, chat_for: ChatMaker) -> tuple[list[GenerationQueue], list[str]]:
    """Return a queue for each endpoint of the run; models that cannot be asked are left out, with the reasons."""
    queues: dict[int, GenerationQueue] = {}
    problems: list[str] = []
    for model in await sync_to_async(models_of)(run):
        try:
            endpoint = endpoint_of(model)
            chat = chat_for(model)
            if endpoint.pk not in queues:
                queues[endpoint.pk] = await sync_to_async(GenerationQueue)(run, endpoint, new_worker_name(), clock)
            queues[endpoint.pk].open(model.pk, chat)
        except (ChatError, NoEndpoint) as error:
            problems.append(str(error))
    return list(queues.values()), problems


def new_tokens_of(
    model: LanguageModel, instruction: Instruction, parameters: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[str, int, dict[str, Any]]:
    """Return the model's name for its limit of new tokens, that limit, and the other parameters.

    `parameters` and `settings` are those of the run; the model's own parameters take precedence over the run's.
    """
    of_model = sampling_parameters(model)
    key = next((name for name in NEW_TOKENS_KEYS if name in of_model), NEW_TOKENS_KEYS[-1])
    whole = {**parameters, **_limit_of(instruction, settings), **of_model}
    limits = [int(whole[name]) for name in (key, *NEW_TOKENS_KEYS) if whole.get(name)]
    rest = {name: value for name, value in whole.items() if value is not None and name not in NEW_TOKENS_KEYS}
    return key, limits[0] if limits else NEW_TOKENS, rest


def _limit_of(instruction: Instruction, settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the limit of new tokens that the instruction's tags set, where the run's settings have limits by tag."""
    by_tag = settings.get("max_tokens_by_tag", {})
    limits = [int(by_tag[tag]) for tag in instruction.tags or () if tag in by_tag]
    return {NEW_TOKENS_KEYS[-1]: max(limits)} if limits else {}

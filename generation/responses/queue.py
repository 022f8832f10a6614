"""What one worker has in hand of a generation run at one endpoint: what to ask next, and what to do with replies.

Everything here touches the database and knows nothing of event loops.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_UP
from typing import Any

from django.db import transaction
from django.db.models import Q

from core.clock import Clock
from generation.endpoints.clients import (
    context_of,
    prices_of,
    remember_context,
    remember_uncounted,
    sampling_parameters,
    served_name,
    terms_stand,
)
from generation.endpoints.served_names import remember_served
from generation.execution.budget import Purse
from generation.execution.engine import Answered, Failed, Outcome, Retried, Traffic, Withheld
from generation.execution.leases import lease_items, release, renew
from generation.execution.throttling import PutOff
from generation.execution.worker import seems_down
from generation.execution.write_ahead_log import Journal, JournalFailed, Kept
from generation.llm.errors import TooLong
from generation.llm.protocol.call_limits import CallFailed
from generation.llm.protocol.prices import MILLIONTH, NOTHING, Ceiling, Spend
from generation.llm.protocol.token_limits import allowed_tokens, estimated_tokens, next_allowance, told_by
from generation.llm.protocol.wrapping import NothingToWrap, chat_of
from generation.llm.requests import Reply, Request
from generation.models import Endpoint, GenerationItem, GenerationRun
from generation.responses.plan import NEW_TOKENS
from generation.responses.recording import note_attempt, record_broken, record_failure, record_response
from generation.responses.spending import spent_of

LONGEST_TEXT_SECONDS = 1800.0
NEW_TOKENS_KEYS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class Asked:
    """One call to be made. `reserve` is the most that it can cost."""

    item: int
    model: int
    request: Request
    reserve: Spend


@dataclass
class Held:
    """An item in hand. `prompt_tokens` is a guess; `allowance` caps the new tokens once the server refused more.

    `reserve` is the most that the call which it waits for can cost. `refused`: what failed was this call alone.
    """

    item: GenerationItem
    messages: list[dict[str, str]]
    prompt_tokens: int
    allowance: int | None = None
    last_error: str = ""
    reserve: Spend = NOTHING
    refused: bool = False


@dataclass
class GenerationWorklist:
    """The items of `models`, all at one endpoint. `gave_up` holds its words once going on makes no sense.

    `refused` is the most that one of the calls could cost which the engine withheld. `outdated`: the endpoint's terms
    were changed, so that another worklist is to go on; so it does where that is so of one `beside` it, in this process.
    """

    run: GenerationRun
    endpoint: Endpoint
    worker: str
    clock: Clock
    gave_up: str = ""
    answered: int = 0
    held: dict[int, Held] = field(default_factory=dict)
    failing: list[int] = field(default_factory=list)
    models: tuple[int, ...] = ()
    refused: Spend = NOTHING
    outdated: bool = False
    beside: Sequence["GenerationWorklist"] = ()

    def __post_init__(self) -> None:
        self.prices = prices_of(self.endpoint)
        self.settings: dict[str, Any] = self.run.manifest.get("settings", {})
        self.purse = Purse(self.run, self.worker, self.clock, spent_of)
        self.put_off = PutOff(self.run, self.clock)
        self.proven = self.run.items.filter(status=GenerationItem.Status.DONE, model__endpoint=self.endpoint).exists()
        self.longest_answer: dict[int, int] = {}
        self.journal = Journal(self.run.public_id, self.worker)

    @property
    def longest_seconds(self) -> float:
        """How long one text may take: a streamed one as long as its words keep coming, within reason."""
        streamed = self.settings.get("stall_seconds") is not None
        return max(LONGEST_TEXT_SECONDS if streamed else 0.0, float(self.endpoint.timeout_seconds))

    @property
    def only(self) -> Q:
        return Q(model_id__in=self.models)

    @property
    def in_hand(self) -> Spend:
        """The most that all calls in hand can cost."""
        return sum((held.reserve for held in self.held.values()), NOTHING)

    def next_questions(self, count: int) -> tuple[list[Asked], bool]:
        """At most `count` calls to make, and whether there may be more."""
        if self.purse.lowered:
            if self.held:
                return [], True
            self.purse.relent()
        pks = lease_items(self.run, self.worker, count, self.clock, self.only)
        items = GenerationItem.objects.filter(pk__in=pks).select_related("instruction", "model")
        asked = []
        with transaction.atomic():
            for item in sorted(items, key=lambda item: item.position):
                if (held := self.hold(item)) is not None:
                    asked.append(self.question_for(held))
        self.purse.fill(self.in_hand)
        return asked, len(pks) == count

    def take(self, outcomes: Sequence[Outcome[int, Reply]]) -> list[Asked]:
        """Stores what came back, in one transaction; the calls to make again with fewer new tokens."""
        again: list[Asked] = []
        cost = NOTHING
        with transaction.atomic():
            for outcome in outcomes:
                held = self.held[outcome.key]
                match outcome:
                    case Answered(result=reply):
                        cost += self.cost_of(reply)
                        self._answered(held, reply)
                    case Retried(error=error):
                        cost += self._note(held, error)
                    case Failed(error=error, fatal=fatal):
                        cost += self._note(held, error)
                        again += self._failed(held, error, fatal)
                    case Withheld():
                        self.refused = self.refused.at_least(held.reserve)
                        self._drop([outcome.key])
            self.purse.pay(cost)
        self.purse.fill(self.in_hand)
        return again

    def keep(self, key: int, reply: Reply) -> None:
        """The text is safe from now on, should this process be killed before `take` has stored it."""
        try:
            self.journal.keep(Kept.of(key, reply, self.cost_of(reply).money))
        except JournalFailed as error:
            self.gave_up = self.gave_up or str(error)

    def stored(self, keys: Collection[int]) -> None:
        self.journal.stored(keys)

    def cost_of(self, reply: Reply) -> Spend:
        money = self.prices.cost(reply.input_tokens, reply.output_tokens).quantize(MILLIONTH)
        return Spend(1, reply.input_tokens + reply.output_tokens, money)

    def settle_failures(self) -> None:
        """Nothing is left to ask: what failed has failed where others were answered, else the endpoint is down."""
        last = self.held[self.failing[-1]] if self.failing else None
        if last is not None and not (last.refused or self.answered or self.gave_up):
            self.gave_up = last.last_error
        self._close_failing()

    def renew(self) -> None:
        renew(self.run, self.worker, list(self.held), self.clock)
        self.purse.renew()

    def leave(self) -> None:
        """Gives back whatever is still in hand, of the items and of the budget; what is not stored stays in files."""
        try:
            self._drop(list(self.held))
            self.purse.close()
            self.put_off.leave()
        finally:
            self.journal.close()

    def begin_again(self) -> bool:
        """Whether the budget has room for the dearest of the calls that were withheld; then it is set aside."""
        if not self.purse.reopen(self.refused):
            return False
        self.refused = NOTHING
        return True

    def others_are_busy(self) -> bool:
        """Whether items wait that another worker holds, or held until now."""
        waiting = self.run.items.filter(self.only, status=GenerationItem.Status.WAITING)
        return waiting.exclude(leased_by=self.worker).exists()

    def still_running(self) -> bool:
        found = GenerationRun.objects.filter(pk=self.run.pk, status=GenerationRun.Status.RUNNING)
        budget = found.values_list("budget_calls", "budget_tokens", "budget_money").first()
        if budget is None:
            return False
        self.purse.look(Ceiling(*budget))
        self.put_off.tell()
        self.outdated = self.outdated or not terms_stand(self.endpoint)
        return not any(one.outdated for one in (self, *self.beside))

    def tell(self, traffic: Traffic) -> None:
        self.purse.tell(traffic)

    def hold(self, item: GenerationItem) -> Held | None:
        """Takes the item up with its conversation; None where nothing can be asked."""
        instruction = item.instruction
        try:
            messages = chat_of(instruction.messages or [], self.run.experiment, language=instruction.language)
        except NothingToWrap as error:
            record_failure(item, str(error))
            return None
        held = Held(item, messages, estimated_tokens(messages))
        self.held[item.pk] = held
        return held

    def question_for(self, held: Held) -> Asked:
        """The call for an item, with as many new tokens as its model, its context and its server allow."""
        item = held.item
        key, asked, parameters = self._parameters(item)
        asked = min(asked, self.longest_answer.get(item.model_id, asked))
        if held.allowance is None:
            new = allowed_tokens(asked, held.prompt_tokens, context_of(item.model, self.endpoint))
        else:
            new = min(asked, held.allowance)
        parameters[key] = new
        if self.run.seed:
            parameters["seed"] = self.run.seed + item.sample
        name = f"{item.instruction.external_id}/{item.model.name}" + (f"/{item.sample}" if item.sample else "")
        request = Request(
            model=served_name(item.model),
            messages=held.messages,
            parameters=parameters,
            subject={"response": name, "instruction": item.instruction.external_id, "sample": str(item.sample)},
            stall_seconds=self.settings.get("stall_seconds"),
            longest_seconds=self.longest_seconds,
        )
        cost = self.prices.cost(held.prompt_tokens, new).quantize(MILLIONTH, ROUND_UP)
        held.reserve = Spend(1, held.prompt_tokens + new, cost)
        return Asked(item.pk, item.model_id, request, held.reserve)

    def _parameters(self, item: GenerationItem) -> tuple[str, int, dict[str, Any]]:
        """What the model calls its limit of new tokens, that limit, and the other parameters; the model's go first."""
        own = sampling_parameters(item.model)
        key = next((name for name in NEW_TOKENS_KEYS if name in own), NEW_TOKENS_KEYS[-1])
        whole = {**self.run.parameters, **own}
        limits = [int(whole[name]) for name in (key, *NEW_TOKENS_KEYS) if whole.get(name)]
        rest = {name: value for name, value in whole.items() if value is not None and name not in NEW_TOKENS_KEYS}
        return key, limits[0] if limits else NEW_TOKENS, rest

    def _answered(self, held: Held, reply: Reply) -> None:
        record_response(held.item, reply, self.prices)
        remember_served(self.run, reply.served)
        if reply.estimated:
            remember_uncounted(self.endpoint, self.run)
        self.answered += 1
        self.put_off.answered()
        del self.held[held.item.pk]
        self._close_failing()

    def _note(self, held: Held, error: CallFailed) -> Spend:
        """Stores that a call brought no whole text; what it cost."""
        held.last_error = str(error) or type(error).__name__
        if error.came is not None:
            cost = self.cost_of(error.came)
            record_broken(held.item, error.came, cost.money)
        elif error.patient:
            self.put_off.delayed(held.last_error)
            return NOTHING
        else:
            cost = Spend(calls=1)
        note_attempt(held.item, held.last_error)
        return cost

    def _failed(self, held: Held, error: CallFailed, fatal: bool) -> list[Asked]:
        held.reserve, held.refused = NOTHING, error.doubtful
        if isinstance(error, TooLong):
            return self._shortened(held, error)
        if fatal:
            self.gave_up = self.gave_up or str(error)
            self._drop([held.item.pk])
            return []
        self.failing.append(held.item.pk)
        if seems_down(len(self.failing), held.refused):
            self.gave_up = self.gave_up or str(error)
            self._close_failing()
        return []

    def _shortened(self, held: Held, error: TooLong) -> list[Asked]:
        """The same question with the new tokens that the server has room for; a prompt that is too long has failed."""
        sent = self.question_for(held).request.parameters
        asked = next(int(sent[name]) for name in NEW_TOKENS_KEYS if name in sent)
        told = told_by(str(error))
        fewer = next_allowance(asked, held.prompt_tokens, told)
        if fewer is None:
            record_failure(held.item, str(error))
            del self.held[held.item.pk]
            return []
        held.allowance = fewer
        if told.answer is not None:
            self.longest_answer[held.item.model_id] = told.answer
        if told.context is not None:
            remember_context(held.item.model, self.endpoint, told.context)
        return [self.question_for(held)]

    def _close_failing(self) -> None:
        """What failed on the way: given back where the run stops for it, else, and where it was refused, failed for good."""
        for pk in self.failing:
            held = self.held.get(pk)
            if held is None:
                continue
            if self.gave_up and not held.refused:
                self._drop([pk])
            else:
                record_failure(held.item, held.last_error)
                del self.held[pk]
        self.failing.clear()

    def _drop(self, pks: Iterable[int]) -> None:
        """Gives items back."""
        found = list(pks)
        for pk in found:
            del self.held[pk]
        release(self.run, self.worker, found)

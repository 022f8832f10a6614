"""What a way from a question to a model and back has to do, and what every way needs."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from generation.endpoints.clients import NoEndpoint
from generation.execution.engine import Traffic
from generation.llm.protocol.prices import Prices, Spend
from generation.llm.requests import Chat, Reply, Request
from generation.models import Endpoint, LanguageModel
from judging.methods import messages as reply_messages
from judging.methods.guided import GuidedQuestion
from judging.methods.pairs import base as pairs
from judging.methods.parsing import Unscored, Verdict
from judging.models import Judge, PlannedItem

ChatMaker = Callable[[LanguageModel], Chat]
SlotsOf = Callable[[Endpoint], asyncio.Semaphore]


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


class OneCall:
    """A question is one call, which the engine sends and counts."""

    def share(self, slots: SlotsOf, stopped: Callable[[], bool]) -> None:
        return None

    def seen(self, traffic: Traffic) -> Traffic:
        return traffic


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

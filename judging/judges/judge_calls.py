"""A question to a judge as a call, and what every transport of such calls does."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from generation.endpoints.clients import NoEndpoint
from generation.execution.engine import CallSlots, Traffic
from generation.execution.work_queue import InFlightCall
from generation.execution.worker import ChatMaker
from generation.llm.protocol.prices import Prices
from generation.llm.requests import Reply
from generation.models import Endpoint, LanguageModel, Response
from judging.methods import messages as reply_messages
from judging.methods.guided import GuidedQuestion
from judging.methods.pairs import base as pairs
from judging.methods.parsing import Unscored, Verdict
from judging.models import Judge, PlannedItem

SlotsOf = Callable[[Endpoint], CallSlots]


@dataclass(kw_only=True)
class JudgeCall(InFlightCall[PlannedItem]):
    """A planned item with its question as shown; `attempts` and `replies` are its numbers so far.

    `writers` are the pks of the models that are asked, if the judge asks the writers' own models.
    """

    question: GuidedQuestion
    attempts: int = 0
    replies: int = 0
    writers: tuple[int, ...] = ()


class JudgeTransport(Protocol):
    """How a question reaches a model and comes back.

    `corrects`: after an unusable reply, the model is told what was wrong and asked again.
    """

    corrects: bool
    prices: Prices

    @property
    def endpoint(self) -> Endpoint | None: ...

    def begin(self, item: PlannedItem, question: GuidedQuestion) -> JudgeCall | Unscored: ...

    def prepare(self, call: JudgeCall) -> None:
        """Set the request of the call, its hash and its maximum cost."""

    def shorten(self, call: JudgeCall, error: str) -> bool:
        """Whether the question can be asked with a shorter answer, for which the server has room by its `error`."""

    def open(self, chat_for: ChatMaker) -> None:
        """Called inside the event loop. Raises ChatError, NoEndpoint."""

    def share(self, slots: SlotsOf, stopped: Callable[[], bool]) -> None:
        """Take note of the endpoints' free slots, and of whether calls may still be sent, if a question is several calls."""

    def traffic(self, traffic: Traffic) -> Traffic:
        """Return the engine's traffic in calls, if a question is several calls."""

    def send(self, call: JudgeCall) -> Awaitable[Reply]:
        """Raises ChatError."""

    async def close(self) -> None: ...

    def parse(self, call: JudgeCall, reply: Reply) -> Verdict | Unscored:
        """Return the verdict in terms of the sides as shown."""

    def correction(self, unscored: Unscored) -> Mapping[str, str]: ...


class OneCall:
    """A question is one call, which the engine sends and counts."""

    def share(self, slots: SlotsOf, stopped: Callable[[], bool]) -> None:
        return None

    def traffic(self, traffic: Traffic) -> Traffic:
        return traffic


def model_of(judge: Judge) -> LanguageModel:
    if judge.language_model is None:
        raise NoEndpoint(reply_messages.NO_MODEL(judge=judge))
    return judge.language_model


def _named(response: Response, instruction: str) -> str:
    """Return the response's own name; a name that the responses of other models share is none."""
    own = response.external_id
    return own if own and own != instruction else f"{instruction}/{response.model or ''}"


def subject_of(item: PlannedItem) -> dict[str, str]:
    """Return the keys by which a scripted reply is looked up."""
    response = item.task.response_a
    instruction = response.instruction.external_id
    name = _named(response, instruction)
    found = {"response": name, "instruction": instruction, "repeat": str(item.repeat)}
    if item.task.response_b is not None:
        other = item.task.response_b
        rival = _named(other, instruction)
        found |= {"response": f"{name} | {rival}", "first": item.shown_first}
    return found


def shown(item: PlannedItem, question: GuidedQuestion) -> GuidedQuestion:
    """Return the question with a pair's texts in the order in which they are shown."""
    if len(question.responses) != 2:
        return question
    turned = pairs.in_order(question, "b" if item.shown_first == "b" else "a")
    assert isinstance(turned, GuidedQuestion)
    return turned


def canonical(item: PlannedItem, outcome: Verdict | Unscored) -> Verdict | Unscored:
    """Return a pair's verdict in terms of the task's own A and B."""
    if item.task.response_b_id is None:
        return outcome
    return pairs.canonical(outcome, "b" if item.shown_first == "b" else "a")

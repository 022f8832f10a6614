"""The specification of a judging method: what it answers, with which kind of call, and what it needs. PURE."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from judging.methods.parsing import Unscored, Verdict
from judging.methods.prompts import Item, Question

HELLOBENCH, LLMEVAL = "HelloBench (arXiv 2409.16191)", "LLMEval (arXiv 2312.07398)"
HREF, WILDBENCH = "HREF (arXiv 2412.15524)", "WildBench (arXiv 2406.04770)"
LONGGENBENCH = "LongGenBench (arXiv 2409.02076)"


class Transport(StrEnum):
    """CHAT: one chat call. EMBEDDINGS: one call to /v1/embeddings. LOG_PROBABILITIES: two chat calls to each
    writer's endpoint. NONE: no call. VERDICTS: other methods' stored verdicts."""

    CHAT = "chat"
    EMBEDDINGS = "embeddings"
    LOG_PROBABILITIES = "log_probabilities"
    NONE = "none"
    VERDICTS = "verdicts"


class ChatMethod(Protocol):
    """How a method with a prompt is asked and its replies are read: a module or an object. TEMPLATE is the file of its
    stock prompt.
    """

    @property
    def KEY(self) -> str: ...

    @property
    def TEMPLATE(self) -> str: ...

    @property
    def TASK_KIND(self) -> str: ...

    def messages(self, template: str, question: Question, *, with_schema: bool) -> list[dict[str, str]]: ...

    def schema(self, items: Sequence[Item]) -> dict[str, object]: ...

    def answer_tokens(self, items: Sequence[Item]) -> int: ...

    def parse(self, text: str, items: Sequence[Item], finish_reason: str) -> Verdict | Unscored: ...

    def correction(self, unscored: Unscored) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class MethodSpec:
    """A judging method. `name` and `asks` are English, marked for translation; `source` is the paper.

    `task_kind` is the kind of task that it judges, `role` that of the criteria that it answers, `parts` the fields of
    GuidedQuestion that must not be empty. `chat` is how it is asked if it has a prompt; `problem_with` says why a
    question cannot be asked for reasons beyond `parts`.
    """

    key: str
    name: str
    asks: str
    source: str
    task_kind: str
    role: str
    transport: Transport
    parts: tuple[str, ...] = ()
    chat: ChatMethod | None = None
    problem_with: Callable[[Question], Unscored | None] | None = None


class Chatting(ChatMethod, Protocol):
    """A chat method that says which criteria it answers and what it needs."""

    @property
    def ROLE(self) -> str: ...

    @property
    def needs(self) -> tuple[str, ...]: ...


def chat_spec(method: Chatting, *, name: str, asks: str, source: str) -> MethodSpec:
    """Return the specification of a method that is one object."""
    return MethodSpec(
        method.KEY, name, asks, source, method.TASK_KIND, method.ROLE, Transport.CHAT, method.needs, method
    )

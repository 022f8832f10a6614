"""What a model is asked and what it replies, whoever carries the call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from generation.llm.protocol.bodies import Vectors

Message = Mapping[str, str]


@dataclass(frozen=True)
class Request:
    """What is asked. `schema` describes the answer; `structured` sends it as response_format.

    `subject` says what the request is about ({"response": id, "instruction": id, ...}); it never leaves this
    machine and is what scripted replies are looked up by. With `stall_seconds` the reply is streamed, and a
    silence of that length after its first words is a Stalled error; more than `longest_seconds` in all is TimedOut.
    """

    model: str
    messages: Sequence[Message]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    structured: bool = False
    subject: Mapping[str, str] = field(default_factory=dict)
    stall_seconds: float | None = None
    longest_seconds: float | None = None


@dataclass(frozen=True)
class Reply:
    """`seconds` is the time from sending to the whole reply. `estimated`: the server did not count the tokens.

    `calls` were made for it, as where several models are asked about one thing. `served` is what the server calls the
    model, '' where it does not say.
    """

    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    seconds: float
    estimated: bool = False
    calls: int = 1
    served: str = ""


@dataclass(frozen=True)
class PromptScores:
    """A reply and, as the server gave them, the log-probabilities of its prompt: one entry a token, the first null."""

    reply: Reply
    log_probabilities: object


class Chat(Protocol):
    async def complete(self, request: Request) -> Reply:
        """Raises ChatError."""

    async def embeddings(self, model: str, texts: Sequence[str]) -> Vectors:
        """Raises ChatError."""

    async def prompt_log_probabilities(self, request: Request) -> PromptScores:
        """Raises ChatError."""

    async def close(self) -> None: ...


def body_of(request: Request) -> dict[str, Any]:
    """What is posted for a request that is not streamed."""
    body: dict[str, Any] = {"model": request.model, "messages": list(request.messages), **request.parameters}
    if request.structured and request.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": request.schema},
        }
    return body

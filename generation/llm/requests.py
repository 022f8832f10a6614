"""A model's request and reply, the same for every transport."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from generation.llm.protocol.bodies import Vectors

Message = Mapping[str, str]


@dataclass(frozen=True)
class Request:
    """One call's request. `schema` describes the answer; `structured` sends it as response_format.

    `subject` names what the request is about ({"response": id, "instruction": id, ...}); it is never sent, and
    scripted replies are looked up by it. With `stall_seconds` the reply is streamed, and a silence of that length
    after its first words raises Stalled; more than `longest_seconds` in all raises TimedOut.
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
    """A model's reply. `seconds` is the time from sending the request to the end of the reply.

    `estimated`: the server did not count the tokens. `calls` is the number of calls made for it, more than one if
    several models were asked. `served` is the server's name for the model, '' if it does not say.
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
    """A reply and the log-probabilities of its prompt as the server gave them: one entry a token, the first null."""

    reply: Reply
    log_probabilities: object


class Chat(Protocol):
    """A transport for calls to one model: a server, vLLM in this process, or a script."""

    async def complete(self, request: Request) -> Reply:
        """Raises ChatError."""

    async def embeddings(self, model: str, texts: Sequence[str]) -> Vectors:
        """Raises ChatError."""

    async def prompt_log_probabilities(self, request: Request) -> PromptScores:
        """Raises ChatError."""

    async def close(self) -> None: ...


def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON body of a request that is not streamed."""
    body: dict[str, Any] = {"model": request.model, "messages": list(request.messages), **request.parameters}
    if request.structured and request.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": request.schema},
        }
    return body

"""The two forms in which servers of the protocol take a request: chat completions and responses."""

from collections.abc import Mapping
from typing import Any, Protocol

from generation.llm.protocol.bodies import StreamedCompletion
from generation.llm.protocol.response_bodies import StreamedResponse
from generation.llm.replies import read_completion, read_finished_response
from generation.llm.requests import Reply, Request, body_of

LENGTHS = ("max_completion_tokens", "max_tokens")
"""What chat completions call the limit of the new tokens."""


class Form(Protocol):
    """How a request is written and its reply is read. `path` is the address below the endpoint's own."""

    @property
    def path(self) -> str: ...

    def body(self, request: Request) -> dict[str, Any]:
        """Return the JSON body of a request that is not streamed."""

    def streamed(self, body: Mapping[str, Any], *, counted: bool) -> dict[str, Any]:
        """Return the body that asks for a stream; `counted`: also for the number of tokens at its end."""

    def stream(self) -> StreamedCompletion | StreamedResponse: ...

    def reply(self, body: object, seconds: float) -> Reply:
        """Return the reply in a whole body. Raises ChatError."""


class ChatForm:
    """Chat completions, which nearly every server takes."""

    path = "/chat/completions"

    def body(self, request: Request) -> dict[str, Any]:
        return body_of(request)

    def streamed(self, body: Mapping[str, Any], *, counted: bool) -> dict[str, Any]:
        return {**body, "stream": True, **({"stream_options": {"include_usage": True}} if counted else {})}

    def stream(self) -> StreamedCompletion:
        return StreamedCompletion()

    def reply(self, body: object, seconds: float) -> Reply:
        return read_completion(body, seconds)


class ResponsesForm:
    """Responses, the only form that OpenAI takes for some of its models. The server is told to keep nothing."""

    path = "/responses"

    def body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {"model": request.model, "input": list(request.messages), "store": False}
        for name, value in request.parameters.items():
            if name in LENGTHS:
                body["max_output_tokens"] = value
            elif name == "reasoning_effort":
                body["reasoning"] = {"effort": value}
            else:
                body[name] = value
        if request.structured and request.schema is not None:
            wanted = {"type": "json_schema", "name": "answer", "strict": True, "schema": request.schema}
            text = body.get("text")
            body["text"] = {**(text if isinstance(text, Mapping) else {}), "format": wanted}
        return body

    def streamed(self, body: Mapping[str, Any], *, counted: bool) -> dict[str, Any]:
        return {**body, "stream": True}

    def stream(self) -> StreamedResponse:
        return StreamedResponse()

    def reply(self, body: object, seconds: float) -> Reply:
        return read_finished_response(body, seconds)


CHAT, RESPONSES = ChatForm(), ResponsesForm()

"""Read the bodies of the responses form of the protocol (/responses), whole and streamed. PURE."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.bodies import BadBody, Choice, Completion, beginning, model_named, tokens_counted

TOKENS_READ, TOKENS_WRITTEN = "input_tokens", "output_tokens"
ENDS = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""Why a response is incomplete, and the finish reason of a completion that says the same."""
LAST_EVENTS = ("response.completed", "response.incomplete", "response.failed")
THOUGHTS = ("response.reasoning_text.delta", "response.reasoning_summary_text.delta")


class ResponseFailed(BadBody):
    """The server says that it could not finish; the sentence has its words, `code` its name for the error, '' for none."""

    def __init__(self, error: object, body: object) -> None:
        named = error if isinstance(error, Mapping) else {"message": error}
        words, code = named.get("message"), named.get("code")
        self.code = code if isinstance(code, str) else ""
        super().__init__(call_messages.ERROR_AMID(words=words if isinstance(words, str) and words else beginning(body)))


def read_response(body: object) -> Completion:
    """Read a finished response: the text of its messages, without reasoning and calls of tools.

    Where a model marks one of its messages as the final answer, only that one is the text. A refusal is the text if there is
    no other. Raises BadBody; ResponseFailed if the server names an error.
    """
    try:
        assert isinstance(body, Mapping)
        status = body.get("status")
        if status == "failed" or (body.get("error") and status != "incomplete"):
            raise ResponseFailed(body.get("error"), body)
        assert status in ("completed", "incomplete", None)
        messages = [item for item in body["output"] if item.get("type") == "message"]
        final = [item for item in messages if item.get("phase") == "final_answer"]
        contents = [part for item in final or messages for part in item["content"]]
        text = "".join(_part(part, "output_text", "text") for part in contents)
        refusal = "".join(_part(part, "refusal", "refusal") for part in contents)
        reason = _reason(body) if text or not refusal else "refusal"
    except (AssertionError, LookupError, TypeError, AttributeError) as error:
        raise BadBody(call_messages.NO_COMPLETION(words=beginning(body, 2_000))) from error
    read, written = (tokens_counted(body, name) for name in (TOKENS_READ, TOKENS_WRITTEN))
    return Completion((Choice(text or refusal, reason),), read, written, model_named(body))


def _part(part: Mapping[str, Any], kind: str, name: str) -> str:
    if part.get("type") != kind:
        return ""
    text = part[name]
    if not isinstance(text, str):
        raise TypeError(type(text))
    return text


def _reason(body: Mapping[str, Any]) -> str:
    if body.get("status") != "incomplete":
        return "stop"
    details = body.get("incomplete_details")
    why = str(details.get("reason") or "") if isinstance(details, Mapping) else ""
    return ENDS.get(why, why or "incomplete")


@dataclass
class StreamedResponse:
    """A response put together from the events of its stream.

    The last event holds the whole response, which is what counts; until then `text` is what has come of it. `thoughts` is
    the reasoning that some models write before they answer: not part of the text, but paid for.
    """

    parts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    whole: Completion | None = None

    def add(self, event: object) -> None:
        """Add an event. Raises BadBody if it is none of a response, ResponseFailed if it says that the server failed."""
        try:
            assert isinstance(event, Mapping)
            kind = str(event.get("type") or "")
            if kind == "error":
                raise ResponseFailed(event, event)
            if kind in LAST_EVENTS:
                self.whole = read_response(event["response"])
            elif kind == "response.output_text.delta":
                self.parts.append(_words(event))
            elif kind == "response.refusal.delta":
                self.refusals.append(_words(event))
            elif kind in THOUGHTS:
                self.thoughts.append(_words(event))
        except (AssertionError, LookupError, TypeError, AttributeError) as error:
            raise BadBody(call_messages.OTHER_STREAM(words=beginning(event))) from error

    @property
    def text(self) -> str:
        if self.whole is not None:
            return self.whole.choices[0].text
        return "".join(self.parts) or "".join(self.refusals)

    @property
    def finish_reason(self) -> str:
        """Return '' until the last event has come."""
        return "" if self.whole is None else self.whole.choices[0].finish_reason

    @property
    def refused(self) -> bool:
        return self.finish_reason == "refusal"

    @property
    def input_tokens(self) -> int:
        return 0 if self.whole is None else self.whole.input_tokens

    @property
    def output_tokens(self) -> int:
        return 0 if self.whole is None else self.whole.output_tokens

    @property
    def model(self) -> str:
        return "" if self.whole is None else self.whole.model

    @property
    def written(self) -> str:
        """Everything that has come so far, including the thoughts."""
        return "".join(self.thoughts) + self.text


def _words(event: Mapping[str, Any]) -> str:
    words = event["delta"]
    if not isinstance(words, str):
        raise TypeError(type(words))
    return words

"""Chat with an OpenAI-compatible server: one request, one reply, or one error of the ChatError family."""

import asyncio
import email.utils
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from generation.bodies import BadBody, ServedModel, StreamedCompletion, Vectors, read_models, read_vectors
from generation.engine import CallFailed
from generation.lanes import Lanes

if TYPE_CHECKING:
    import httpx2

Message = Mapping[str, str]
LONGEST_WORDS = 2000
CONTEXT_WORDS = (
    "context_length_exceeded",
    "maximum context length",
    "context length",
    "context window",
    "completion tokens",
    "max_model_len",
)
OWN_VARIABLES = ("PLUMBLINE_", "DATABASE_URL", "REDIS_URL", "DJANGO_")
"""Beginnings of the names of variables whose values are this program's own secrets, never an endpoint's key."""
NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached")


class ChatError(CallFailed):
    """The endpoint gave no reply; str(error) holds its own words."""


class Unreachable(ChatError):
    """Nobody listens there, the name is unknown, or the connection broke."""

    retryable = True


class TimedOut(ChatError):
    retryable = True


class Stalled(ChatError):
    """A streamed reply fell silent before its end."""

    retryable = True


class ServerFailed(ChatError):
    """A 5xx, or a reply that is no reply: broken JSON, or an error sent with status 200."""

    retryable = True


class RateLimited(ChatError):
    """Status 429; `retry_after` is the wait asked for, in seconds, or None."""

    retryable = True
    patient = True

    def __init__(self, words: str, retry_after: float | None = None) -> None:
        super().__init__(words)
        self.retry_after = retry_after


class Refused(ChatError):
    """The request as such is not accepted (400 and its kin, or no money left): every other one would be."""

    fatal = True


class TooLong(ChatError):
    """This one request is longer than the model's context; others need not be."""


class Unauthorised(ChatError):
    """401 or 403: the key is missing, wrong, or not allowed to use this model."""

    fatal = True


@dataclass(frozen=True)
class Request:
    """What is asked. `schema` describes the answer; `structured` sends it as response_format.

    `subject` says what the request is about ({"response": id, "instruction": id, ...}); it never leaves this
    machine and is what scripted replies are looked up by. With `stall_seconds` the reply is streamed, and a
    silence of that length after its first words is a Stalled error.
    """

    model: str
    messages: Sequence[Message]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    structured: bool = False
    subject: Mapping[str, str] = field(default_factory=dict)
    stall_seconds: float | None = None


@dataclass(frozen=True)
class Reply:
    """`seconds` is the time from sending to the whole reply; tokens are 0 where the server does not count."""

    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    seconds: float


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


def key_named(variable: str) -> str:
    """The key that the environment variable holds. Raises Unauthorised where it holds none."""
    if not variable:
        return "none"
    if variable.upper().startswith(OWN_VARIABLES):
        raise Unauthorised(f"The variable {variable} belongs to this program and is sent to no endpoint.")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise Unauthorised(
            f"The environment variable {variable}, which should hold the endpoint's key, is not set."
        )
    return key


class OpenAIChat:
    """A server that speaks the chat completions protocol. Make it inside the event loop that uses it."""

    def __init__(self, *, base_url: str, key: str, timeout_seconds: float, connections: int = 100) -> None:
        self._lanes = Lanes(
            base_url=base_url, key=key, timeout_seconds=timeout_seconds, connections=connections
        )

    async def complete(self, request: Request) -> Reply:
        started = time.monotonic()
        if request.stall_seconds is not None:
            return await self._streamed(body_of(request), request.stall_seconds, started)
        completion = await self._post("/chat/completions", body_of(request))
        return read_completion(completion, time.monotonic() - started)

    async def samples(self, request: Request, count: int) -> tuple[Reply, ...]:
        """`count` replies to one prompt, read once by the server; the tokens of all stand with the first."""
        started = time.monotonic()
        completion = await self._post("/chat/completions", {**body_of(request), "n": count})
        replies = read_samples(completion, time.monotonic() - started)
        if len(replies) != count:
            raise ServerFailed(f"{len(replies)} replies where n was {count}")
        return replies

    async def embeddings(self, model: str, texts: Sequence[str]) -> Vectors:
        body = {"model": model, "input": list(texts), "encoding_format": "float"}
        answer = await self._post("/embeddings", body)
        with _bodies_read():
            return read_vectors(answer, len(texts))

    async def prompt_log_probabilities(self, request: Request) -> PromptScores:
        """The prompt's own tokens scored, by vLLM's prompt_logprobs; ServerFailed where the server ignores it."""
        started = time.monotonic()
        completion = await self._post("/chat/completions", {"prompt_logprobs": 0, **body_of(request)})
        reply = read_completion(completion, time.monotonic() - started)
        scores = completion.get("prompt_logprobs") if isinstance(completion, dict) else None
        if not isinstance(scores, list):
            raise ServerFailed("status 200 without the log-probabilities of the prompt that were asked for")
        return PromptScores(reply, scores)

    async def gives_log_probabilities(self, request: Request) -> bool:
        """Whether the tokens of an answer come with theirs when asked for. False where the request is refused."""
        try:
            completion = await self._post("/chat/completions", {**body_of(request), "logprobs": True})
        except (Refused, TooLong, ServerFailed):
            return False
        choices = completion.get("choices") if isinstance(completion, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else {}
        given = first.get("logprobs") if isinstance(first, dict) else None
        return bool(isinstance(given, dict) and given.get("content"))

    async def models(self) -> tuple[ServedModel, ...]:
        """What the server says it serves."""
        with self._failures(), self._lanes.lane() as lane:
            answer = await lane.client.get("/models", cast_to=object)
        with _bodies_read():
            return read_models(answer)

    async def _post(self, path: str, body: dict[str, Any]) -> object:
        """The decoded JSON of the reply."""
        with self._failures(), self._lanes.lane() as lane:
            answer = await lane.post(path, body)
            if not answer.is_success:
                raise error_of_answer(answer)
            try:
                return json.loads(answer.content)
            except ValueError as error:
                said = answer.text.strip()[:LONGEST_WORDS] or "nothing"
                raise ServerFailed(f"status 200 with a body that is not JSON: {said}") from error

    async def _streamed(self, body: dict[str, Any], stall_seconds: float, started: float) -> Reply:
        from openai import AsyncStream

        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
        read = StreamedCompletion()
        with self._failures(), _bodies_read(), self._lanes.lane() as lane:
            stream = await lane.client.post(
                "/chat/completions", cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object]
            )
            async with stream:
                if "json" in stream.response.headers.get("content-type", ""):
                    await stream.response.aread()
                    return read_completion(stream.response.json(), time.monotonic() - started)
                while True:
                    # Nothing has come yet: the request may stand in the server's queue, which is no stall.
                    patience = stall_seconds if any(read.parts) else None
                    try:
                        async with asyncio.timeout(patience):
                            chunk = await anext(stream)
                    except StopAsyncIteration:
                        break
                    except TimeoutError as error:
                        raise Stalled(
                            f"silent for {stall_seconds:g} seconds after {len(read.text)} characters"
                        ) from error
                    read.add(chunk)
        if not read.finish_reason:
            raise Unreachable(f"the stream broke off after {len(read.text)} characters")
        reason = "refusal" if read.refused else read.finish_reason
        return Reply(read.text, reason, read.input_tokens, read.output_tokens, time.monotonic() - started)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """The library's exceptions as those of this family."""
        import httpx2
        import openai

        try:
            yield
        except (openai.APITimeoutError, httpx2.TimeoutException) as error:
            raise TimedOut(f"no reply in {self._lanes.timeout_seconds:g} seconds") from error
        except (openai.APIConnectionError, httpx2.RequestError) as error:
            raise Unreachable(f"{self._lanes.base_url}: {error.__cause__ or error}") from error
        except openai.APIStatusError as error:
            raise error_of_answer(error.response) from error
        except openai.APIError as error:
            raise ServerFailed(f"an error amid the reply: {error}") from error
        except ValueError as error:
            raise ServerFailed(f"status 200 with a body that is not JSON: {error}") from error

    async def close(self) -> None:
        await self._lanes.close()


def body_of(request: Request) -> dict[str, Any]:
    """What is posted for a request that is not streamed."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": list(request.messages),
        **request.parameters,
    }
    if request.structured and request.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": request.schema},
        }
    return body


def read_completion(completion: object, seconds: float) -> Reply:
    """Raises ServerFailed where the body is not a completion, whatever its status said."""
    return read_samples(completion, seconds)[0]


def read_samples(completion: object, seconds: float) -> tuple[Reply, ...]:
    """Every choice of a completion, at least one; the tokens are counted with the first. Raises ServerFailed."""
    try:
        assert isinstance(completion, dict) and completion["choices"]
        usage = completion.get("usage") or {}
        replies = []
        for place, choice in enumerate(completion["choices"]):
            message = choice["message"]
            refusal = message.get("refusal")
            replies.append(
                Reply(
                    text=message.get("content") or refusal or "",
                    finish_reason="refusal" if refusal else str(choice.get("finish_reason") or ""),
                    input_tokens=0 if place else int(usage.get("prompt_tokens") or 0),
                    output_tokens=0 if place else int(usage.get("completion_tokens") or 0),
                    seconds=seconds,
                )
            )
        return tuple(replies)
    except (AssertionError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise ServerFailed(f"status 200 without a completion: {str(completion)[:LONGEST_WORDS]}") from error


@contextmanager
def _bodies_read() -> Iterator[None]:
    try:
        yield
    except BadBody as error:
        raise ServerFailed(f"status 200 with {error}") from error


def error_of_answer(answer: "httpx2.Response") -> ChatError:
    """The status of an answer that is no success, and the endpoint's words for it, as one of the family."""
    status = answer.status_code
    said = _said(answer)
    words = f"{status}: {said.get('message') or answer.text.strip() or answer.reason_phrase}"[:LONGEST_WORDS]
    code = str(said.get("code") or "")
    if status == 429:
        if code in NO_MONEY:
            return Refused(words)
        return RateLimited(words, retry_after(answer.headers, time.time()))
    if status in (401, 403):
        return Unauthorised(words)
    if status == 408:
        return TimedOut(words)
    if status >= 500 or status == 409:
        return ServerFailed(words)
    if code == CONTEXT_WORDS[0] or any(phrase in words.lower() for phrase in CONTEXT_WORDS):
        return TooLong(words)
    return Refused(words)


def _said(answer: "httpx2.Response") -> Mapping[str, Any]:
    """The error object of an answer's body; empty where there is none."""
    try:
        body = json.loads(answer.content)
    except ValueError:
        return {}
    error = body.get("error", body) if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The wait in seconds from retry-after-ms or Retry-After (seconds or a date), or None; `now` is Unix time."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        word = headers.get("retry-after", "")
        if not word:
            return None
        if word.replace(".", "", 1).isdigit():
            return float(word)
        return max(0.0, email.utils.parsedate_to_datetime(word).timestamp() - now)
    except (TypeError, ValueError):
        return None

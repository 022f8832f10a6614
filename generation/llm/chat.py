"""Chat with an OpenAI-compatible server: one request, one reply, or one error of the ChatError family."""

import asyncio
import email.utils
import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from generation.llm.connections import Answer, Connections, ReplyRefused, answer_of, events_with_data
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.allowed_hosts import OWN_VARIABLES, HostRefused, Reach
from generation.llm.protocol.bodies import (
    BadBody,
    ServedModel,
    StreamedCompletion,
    Vectors,
    read_choices,
    read_models,
    read_vectors,
    tokens_counted,
)
from generation.llm.protocol.call_limits import CallFailed
from generation.llm.protocol.token_limits import estimated_tokens

Message = Mapping[str, str]
LONGEST_WORDS = 2000
LONGEST_WAIT = 3600.0
BROKEN_OFF = "broken off"
"""The finish reason of what came of a reply before it failed."""
STREAM_TYPE = "event-stream"
STREAM_LINES = (b"data:", b"event:", b"id:", b"retry:", b":")
"""How the lines of a stream begin, also where its content type calls it something else."""
CONTEXT_WORDS = (
    "context_length_exceeded",
    "maximum context length",
    "context length",
    "context window",
    "completion tokens",
    "max_model_len",
)
OPTIONS_OF_STREAMS = "stream_options"
STREAMING = re.compile(r"\bstream(s|ing|ed)?\b")
LIMITS = ("max_completion_tokens", "max_tokens")
"""What the new tokens that a reply may have are called."""
TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)
LONGEST_PAGE = 8_000
"""Characters of such a page in which words are looked for: every tag left open is looked for up to there."""
NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached")


class ChatError(CallFailed):
    """The endpoint gave no reply; str(error) holds its own words.

    `status` is that of its answer, None where none came. `quotes`: the words repeat something that no model server says
    in that place, as a page of another service.
    """

    status: int | None = None
    quotes = False


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
    """The request as such is not accepted (400 and its kin): for its settings, as every other, or for its text alone."""

    doubtful = True


class HostNotAllowed(ChatError):
    """The endpoint's address may not be called; the words say who can allow it."""

    fatal = True


class ReplyNotRead(ChatError):
    """A reply that is too large, or compressed in a way that nobody asked for."""

    doubtful = True


class NoMoney(ChatError):
    """Nothing more is answered until somebody pays."""

    fatal = True


class TooLong(ChatError):
    """This one request is longer than the model's context; others need not be."""


class Unauthorised(ChatError):
    """401: the key is missing or wrong."""

    fatal = True


class Forbidden(ChatError):
    """403: the key may not use this model, or the model not say this."""

    doubtful = True


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


def key_named(variable: str) -> str:
    """The key that the environment variable holds. Raises Unauthorised where it holds none."""
    if not variable:
        return "none"
    if variable.upper().startswith(OWN_VARIABLES):
        raise Unauthorised(call_messages.OWN_VARIABLE(variable=variable))
    key = os.environ.get(variable, "").strip()
    if not key:
        raise Unauthorised(call_messages.NO_KEY(variable=variable))
    return key


@contextmanager
def _hosts_judged() -> Iterator[None]:
    try:
        yield
    except HostRefused as error:
        raise HostNotAllowed(*error.args) from error


PUBLIC = Reach()


class OpenAIChat:
    """A server that speaks the chat completions protocol. Make it inside the event loop that uses it."""

    def __init__(
        self,
        *,
        base_url: str,
        key: str,
        timeout_seconds: float,
        connections: int = 100,
        reach: Reach = PUBLIC,
    ) -> None:
        """Raises BadAddress, HostNotAllowed."""
        with _hosts_judged():
            self._connections = Connections(
                base_url=base_url,
                key=key,
                timeout_seconds=timeout_seconds,
                connections=connections,
                reach=reach,
            )
        self._streams = self._counts = True

    async def complete(self, request: Request) -> Reply:
        """Streamed where the request has `stall_seconds`, unless the server has said that it does not stream."""
        started = time.monotonic()
        while request.stall_seconds is not None and self._streams:
            counted = self._counts
            try:
                return with_tokens(await self._streamed(request, request.stall_seconds, started), request)
            except Refused as error:
                if not self._does_without(str(error).lower(), counted):
                    raise
        completion = await self._post("/chat/completions", body_of(request))
        return with_tokens(read_completion(completion, time.monotonic() - started), request)

    def _does_without(self, words: str, counted: bool) -> bool:
        """Whether a refusal in these words is of something that can be left out, which it is from now on.

        `counted`: the call had asked that its tokens be counted.
        """
        if OPTIONS_OF_STREAMS in words:
            self._counts = False
            return counted
        if STREAMING.search(words):
            self._streams = False
            return True
        return False

    async def samples(self, request: Request, count: int) -> tuple[Reply, ...]:
        """`count` replies to one prompt, read once by the server; the tokens of all stand with the first."""
        started = time.monotonic()
        completion = await self._post("/chat/completions", {**body_of(request), "n": count})
        replies = read_samples(completion, time.monotonic() - started)
        if len(replies) != count:
            raise ServerFailed(call_messages.OTHER_COUNT(n=len(replies), asked=count))
        return (with_tokens(replies[0], request), *replies[1:])

    async def embeddings(self, model: str, texts: Sequence[str]) -> Vectors:
        body = {"model": model, "input": list(texts), "encoding_format": "float"}
        answer = await self._post("/embeddings", body)
        with _bodies_read():
            vectors = read_vectors(answer, len(texts))
        if vectors.input_tokens:
            return vectors
        return replace(vectors, input_tokens=estimated_tokens([{"content": text} for text in texts]))

    async def prompt_log_probabilities(self, request: Request) -> PromptScores:
        """The prompt's own tokens scored, by vLLM's prompt_logprobs; ServerFailed where the server ignores it."""
        started = time.monotonic()
        completion = await self._post("/chat/completions", {"prompt_logprobs": 0, **body_of(request)})
        reply = with_tokens(read_completion(completion, time.monotonic() - started), request)
        scores = completion.get("prompt_logprobs") if isinstance(completion, dict) else None
        if not isinstance(scores, list):
            failed = ServerFailed(call_messages.NO_PROMPT_SCORES())
            failed.came = reply
            raise failed
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
        with self._failures():
            answer = await self._connections.get("/models")
            if not answer.ok:
                raise error_of_answer(answer)
            listed = _decoded(answer)
        with _bodies_read():
            return read_models(listed)

    async def _post(self, path: str, body: dict[str, Any]) -> object:
        """The decoded JSON of the reply."""
        with self._failures():
            answer = await self._connections.post(path, body)
            if not answer.ok:
                raise error_of_answer(answer)
            return _decoded(answer)

    async def _streamed(self, request: Request, stall_seconds: float, started: float) -> Reply:
        """Raises ChatError, which holds what had come of the text by then."""
        read = StreamedCompletion()
        try:
            try:
                async with asyncio.timeout(request.longest_seconds):
                    return await self._read_stream(body_of(request), read, stall_seconds, started)
            except TimeoutError as error:
                words = call_messages.NOT_DONE(seconds=f"{request.longest_seconds:g}", n=len(read.text))
                raise TimedOut(words) from error
        except ChatError as error:
            error.came = error.came or _so_far(read, request, started)
            raise

    async def _read_stream(
        self, body: dict[str, Any], read: StreamedCompletion, stall_seconds: float, started: float
    ) -> Reply:
        """Fills `read` as the text comes."""
        body = {
            **body,
            "stream": True,
            **({"stream_options": {"include_usage": True}} if self._counts else {}),
        }
        with self._failures(), _bodies_read():
            stream = await self._connections.client.post(
                "/chat/completions", cast_to=object, body=body, stream=True, stream_cls=events_with_data()
            )
            async with stream:
                if STREAM_TYPE not in stream.response.headers.get("content-type", "").lower():
                    answer = await stream.response.aread()
                    if not answer.lstrip().startswith(STREAM_LINES):
                        whole = _decoded(answer_of(stream.response))
                        return read_completion(whole, time.monotonic() - started)
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
                            call_messages.SILENT(seconds=f"{stall_seconds:g}", n=len(read.text))
                        ) from error
                    read.add(chunk)
        if not read.finish_reason:
            raise Unreachable(call_messages.BROKE_OFF(n=len(read.text)))
        reason = "refusal" if read.refused else read.finish_reason
        seconds = time.monotonic() - started
        return Reply(read.text, reason, read.input_tokens, read.output_tokens, seconds, served=read.model)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """The library's exceptions as those of this family."""
        import aiohttp
        import httpx2
        import openai

        try:
            yield
        except (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError) as error:
            raise TimedOut(
                call_messages.NO_REPLY(seconds=f"{self._connections.timeout_seconds:g}")
            ) from error
        except HostRefused as error:
            raise HostNotAllowed(*error.args) from error
        except ReplyRefused as error:
            raise ReplyNotRead(*error.args) from error
        except (openai.APIConnectionError, httpx2.RequestError, aiohttp.ClientError) as error:
            cause = (error.__cause__ if isinstance(error, openai.APIConnectionError) else error) or error
            if isinstance(cause, HostRefused | ReplyRefused):
                kind = HostNotAllowed if isinstance(cause, HostRefused) else ReplyNotRead
                raise kind(*cause.args) from error
            unsent = isinstance(cause, (aiohttp.ClientConnectorError, httpx2.ConnectError))
            away = Unreachable(self._connections.away(cause, unsent))
            away.unsent, away.quotes = unsent, not unsent
            raise away from error
        except openai.APIStatusError as error:
            raise error_of_answer(answer_of(error.response)) from error
        except openai.APIError as error:
            raise ServerFailed(call_messages.ERROR_AMID(words=error)) from error
        except (ValueError, RecursionError) as error:
            raise _quoting(ServerFailed(call_messages.NOT_JSON(words=error))) from error

    async def close(self) -> None:
        await self._connections.close()


def _decoded(answer: Answer) -> object:
    """Raises ServerFailed."""
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError) as error:
        words = _readable(answer)[:LONGEST_WORDS] or "nothing"
        raise _quoting(ServerFailed(call_messages.NOT_JSON(words=words))) from error


def _quoting(error: ServerFailed) -> ServerFailed:
    """The error as one of status 200 whose words repeat what came with it."""
    error.status, error.quotes = 200, True
    return error


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


def with_tokens(reply: Reply, request: Request) -> Reply:
    """The reply with an upper guess of its tokens where the server counted none: what nobody counts is paid as well."""
    return _with_guesses(reply, request, reply.text)


def _counted(completion: object, seconds: float) -> Reply | None:
    """What an answer of no use says that it cost; None where it says nothing of that."""
    if not isinstance(completion, Mapping):
        return None
    read, written = (tokens_counted(completion, name) for name in ("prompt_tokens", "completion_tokens"))
    return Reply("", BROKEN_OFF, read, written, seconds) if read or written else None


def _so_far(read: StreamedCompletion, request: Request, started: float) -> Reply | None:
    """What came of a text before its stream failed, its tokens guessed where they were not counted by then."""
    if not (read.written or read.output_tokens):
        return None
    seconds = time.monotonic() - started
    reply = Reply(read.text, BROKEN_OFF, read.input_tokens, read.output_tokens, seconds)
    return _with_guesses(reply, request, read.written)


def _with_guesses(reply: Reply, request: Request, written: str) -> Reply:
    read_uncounted, written_uncounted = not reply.input_tokens, bool(written) and not reply.output_tokens
    if not (read_uncounted or written_uncounted):
        return reply
    guess = estimated_tokens([{"content": written}])
    most = next((int(request.parameters[name]) for name in LIMITS if request.parameters.get(name)), guess)
    return replace(
        reply,
        input_tokens=estimated_tokens(request.messages) if read_uncounted else reply.input_tokens,
        output_tokens=min(guess, most) if written_uncounted else reply.output_tokens,
        estimated=True,
    )


def read_completion(completion: object, seconds: float) -> Reply:
    """Raises ServerFailed where the body is not a completion, whatever its status said."""
    return read_samples(completion, seconds)[0]


def read_samples(completion: object, seconds: float) -> tuple[Reply, ...]:
    """Every choice of a completion, at least one; the tokens are counted with the first. Raises ServerFailed."""
    try:
        with _bodies_read():
            read = read_choices(completion)
    except ServerFailed as error:
        error.came = _counted(completion, seconds)
        raise
    return tuple(
        Reply(
            text=choice.text,
            finish_reason=choice.finish_reason,
            input_tokens=0 if place else read.input_tokens,
            output_tokens=0 if place else read.output_tokens,
            seconds=seconds,
            served=read.model,
        )
        for place, choice in enumerate(read.choices)
    )


@contextmanager
def _bodies_read() -> Iterator[None]:
    try:
        yield
    except BadBody as error:
        raise _quoting(ServerFailed(call_messages.BAD_BODY(what=error.args[0]))) from error


def error_of_answer(answer: Answer) -> ChatError:
    """The status of an answer that is no success, and the endpoint's words for it, as one of the family."""
    said = _said(answer)
    words = f"{answer.status}: {said.get('message') or _readable(answer) or answer.reason}"[:LONGEST_WORDS]
    error = _error_of(answer, words, str(said.get("code") or ""))
    error.status = answer.status
    error.quotes = not (isinstance(said.get("message"), str) and isinstance(said.get("type"), str))
    return error


def _error_of(answer: Answer, words: str, code: str) -> ChatError:
    status = answer.status
    if status == 429:
        if code in NO_MONEY:
            return NoMoney(words)
        return RateLimited(words, retry_after(answer.headers, time.time()))
    if status == 401:
        return Unauthorised(words)
    if status == 402:
        return NoMoney(words)
    if status == 403:
        return Forbidden(words)
    if status == 413:
        return TooLong(words)
    if status in (408, 409) or status >= 500:
        failed = TimedOut(words) if status == 408 else ServerFailed(words)
        failed.retry_after = retry_after(answer.headers, time.time())
        return failed
    if code == CONTEXT_WORDS[0] or any(phrase in words.lower() for phrase in CONTEXT_WORDS):
        return TooLong(words)
    return Refused(words)


def _readable(answer: Answer) -> str:
    """The beginning of a body as plain text; nobody reads more of a page, and a large one takes long to strip."""
    return said_plainly(answer.content[:LONGEST_PAGE].decode("utf-8", errors="replace"))


def said_plainly(body: str) -> str:
    """A page, as proxies send them, without its tags; anything else as it is."""
    text = body.strip()
    return " ".join(TAGS.sub(" ", text[:LONGEST_PAGE]).split()) if text.startswith("<") else text


def _said(answer: Answer) -> Mapping[str, Any]:
    """The error object of an answer's body, in whichever of the usual places; empty where there is none."""
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):
        return {}
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, dict) and isinstance(error.get("detail"), str):
        return {"message": error["detail"], **error}
    return {"message": error} if isinstance(error, str) else error if isinstance(error, dict) else {}


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The wait in seconds from retry-after-ms or Retry-After (seconds or a date), or None; `now` is Unix time.

    Never more than an hour: a server that asks for a day is asked again before, in case it has changed its mind.
    """
    try:
        if "retry-after-ms" in headers:
            wait = float(headers["retry-after-ms"]) / 1000
        elif not (word := headers.get("retry-after", "")):
            return None
        elif word.replace(".", "", 1).isdigit():
            wait = float(word)
        else:
            wait = email.utils.parsedate_to_datetime(word).timestamp() - now
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(wait) else min(max(0.0, wait), LONGEST_WAIT)

"""Call an OpenAI-compatible server: each request gets one reply, or raises one error of the ChatError family."""

import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from generation.llm.connections import Connections, events_in
from generation.llm.errors import (
    ChatError,
    HostNotAllowed,
    Refused,
    ReplyNotRead,
    ServerFailed,
    Stalled,
    TimedOut,
    TooLong,
    Unauthorised,
    Unreachable,
    decoded,
    error_of_answer,
    quoting,
)
from generation.llm.forms import CHAT, RESPONSES, Form
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.allowed_hosts import OWN_VARIABLES, HostRefused, Reach
from generation.llm.protocol.bodies import (
    ServedModel,
    StreamedCompletion,
    Vectors,
    beginning,
    read_models,
    read_vectors,
)
from generation.llm.protocol.reply_sizes import ReplyRefused
from generation.llm.protocol.response_bodies import StreamedResponse
from generation.llm.protocol.token_limits import estimated_tokens
from generation.llm.replies import bodies_read, read_completion, read_samples, so_far, with_tokens
from generation.llm.requests import PromptScores, Reply, Request, body_of

STREAM_LINES = (b"data:", b"event:", b"id:", b"retry:", b":")
"""How the lines of a stream of events begin, used where its content type does not say that it is one."""
OPTIONS_OF_STREAMS = "stream_options"
OF_THE_TEMPLATE = ("add_generation_prompt", "continue_final_message")
"""vLLM's parameters that leave the last message open, so that the reply goes on from it."""
STREAMING = re.compile(r"\bstream(s|ing|ed)?\b")
NO_CHAT = re.compile(r"not a chat model|/responses\b|\bresponses api\b")
"""How servers refuse chat completions of a model that they serve in the responses form."""
NO_ADDRESS = (404, 405)
"""The statuses of a server that has no address for chat completions at all."""


def key_named(variable: str) -> str:
    """Return the key in the environment variable. Raises Unauthorised if it is empty or belongs to this program."""
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
    """A client of a server that speaks OpenAI's protocol. Create it inside the event loop that uses it."""

    def __init__(
        self,
        *,
        base_url: str,
        key: str,
        timeout_seconds: float,
        connections: int = 100,
        reach: Reach = PUBLIC,
        responses: Collection[str] = (),
    ) -> None:
        """`responses` are models that are known to take the responses form alone. Raises BadAddress, HostNotAllowed."""
        with _hosts_judged():
            self._connections = Connections(
                base_url=base_url, key=key, timeout_seconds=timeout_seconds, connections=connections, reach=reach
            )
        self._streams = self._counts = self._continues = True
        self._forms: dict[str, Form] = dict.fromkeys(responses, RESPONSES)

    def form_of(self, model: str) -> Form:
        """Return the form in which the model is asked, as far as it is known."""
        return self._forms.get(model, CHAT)

    async def complete(self, request: Request) -> Reply:
        """Return the reply, streamed if the request has `stall_seconds` and the server has not refused to stream.

        Where the server does not know how to leave the last message open, it gets that message as a turn. Where it takes no
        chat completions of this model, it is asked in the responses form from then on. Raises ChatError.
        """
        return await self._in_its_form(request.model, lambda: self._completed(request))

    async def _in_its_form(self, model: str, ask: Callable[[], Coroutine[Any, Any, Reply]]) -> Reply:
        """Ask, and where chat completions of the model are refused, ask once in the responses form."""
        asked = self.form_of(model)
        try:
            return await ask()
        except Refused as error:
            refused = NO_CHAT.search(str(error).lower()) or error.status in NO_ADDRESS
            if asked is RESPONSES or self._forms.get(model) is CHAT or not refused:
                raise
            self._forms[model] = RESPONSES
            try:
                return await ask()
            except Refused as other:
                if other.status not in NO_ADDRESS:
                    raise
                self._forms[model] = CHAT
                raise error from other

    async def _completed(self, request: Request) -> Reply:
        started = time.monotonic()
        while request.stall_seconds is not None and self._streams:
            counted, continued = self._counts, self._continues
            try:
                return with_tokens(await self._streamed(self._known(request), request.stall_seconds, started), request)
            except Refused as error:
                if not self._does_without(str(error).lower(), counted, continued):
                    raise
        form = self.form_of(request.model)
        completion = await self._post(form.path, form.body(self._known(request)))
        return with_tokens(form.reply(completion, time.monotonic() - started), request)

    def _known(self, request: Request) -> Request:
        """Return the request without the parameters of the chat template that the server has refused."""
        if self._continues:
            return request
        kept = {name: value for name, value in request.parameters.items() if name not in OF_THE_TEMPLATE}
        return replace(request, parameters=kept)

    def _does_without(self, words: str, counted: bool, continued: bool) -> bool:
        """Return whether a server that refuses in these words is to be asked again, without what it refused.

        Later calls leave the same out. `counted`: the refused call asked the server to count its tokens; `continued`: it
        could ask it to leave the last message open.
        """
        if any(name in words for name in OF_THE_TEMPLATE):
            self._continues = False
            return continued
        if OPTIONS_OF_STREAMS in words:
            self._counts = False
            return counted
        if STREAMING.search(words):
            self._streams = False
            return True
        return False

    async def samples(self, request: Request, count: int) -> tuple[Reply, ...]:
        """Return `count` replies to one prompt, which the server reads once; the first reply has the tokens of all.

        A model that is served in the responses form is asked `count` times, and each reply has its own. Raises ChatError.
        """
        if self.form_of(request.model) is RESPONSES:
            return tuple(await asyncio.gather(*(self.complete(request) for _ in range(count))))
        started = time.monotonic()
        completion = await self._post("/chat/completions", {**body_of(request), "n": count})
        replies = read_samples(completion, time.monotonic() - started)
        if len(replies) != count:
            raise ServerFailed(call_messages.OTHER_COUNT(n=len(replies), asked=count))
        return (with_tokens(replies[0], request), *replies[1:])

    async def embeddings(self, model: str, texts: Sequence[str]) -> Vectors:
        body = {"model": model, "input": list(texts), "encoding_format": "float"}
        answer = await self._post("/embeddings", body)
        with bodies_read():
            vectors = read_vectors(answer, len(texts))
        if vectors.input_tokens:
            return vectors
        return replace(vectors, input_tokens=estimated_tokens([{"content": text} for text in texts]))

    async def prompt_log_probabilities(self, request: Request) -> PromptScores:
        """Return the log-probabilities of the prompt's own tokens, which vLLM calls prompt_logprobs.

        Raises ChatError; ServerFailed if the server ignores the parameter.
        """
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
        """Return whether the server gives log-probabilities of what it writes; False if it refuses the request."""
        try:
            completion = await self._post("/chat/completions", {**body_of(request), "logprobs": True})
        except (Refused, TooLong, ServerFailed):
            return False
        choices = completion.get("choices") if isinstance(completion, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else {}
        given = first.get("logprobs") if isinstance(first, dict) else None
        return bool(isinstance(given, dict) and given.get("content"))

    async def models(self) -> tuple[ServedModel, ...]:
        """Return the models that the server says it serves. Raises ChatError."""
        with self._failures():
            answer = await self._connections.get("/models")
            if not answer.ok:
                raise error_of_answer(answer)
            listed = decoded(answer)
        with bodies_read():
            return read_models(listed)

    async def _post(self, path: str, body: dict[str, Any]) -> object:
        """Post the body and return the decoded JSON of the reply. Raises ChatError."""
        with self._failures():
            answer = await self._connections.post(path, body)
            if not answer.ok:
                raise error_of_answer(answer)
            return decoded(answer)

    async def _streamed(self, request: Request, stall_seconds: float, started: float) -> Reply:
        """Return a reply that is streamed. Raises ChatError, which holds the part of the text that had come."""
        form = self.form_of(request.model)
        read = form.stream()
        try:
            try:
                async with asyncio.timeout(request.longest_seconds):
                    return await self._read_stream(form, request, read, stall_seconds, started)
            except TimeoutError as error:
                words = call_messages.NOT_DONE(seconds=f"{request.longest_seconds:g}", n=len(read.text))
                raise TimedOut(words) from error
        except ChatError as error:
            error.came = error.came or so_far(read, request, started)
            raise

    async def _read_stream(
        self,
        form: Form,
        request: Request,
        read: StreamedCompletion | StreamedResponse,
        stall_seconds: float,
        started: float,
    ) -> Reply:
        """Add each chunk to `read` as it comes and return the reply. Raises ChatError."""
        body = form.streamed(form.body(request), counted=self._counts)
        with self._failures(), bodies_read():
            async with self._connections.stream(form.path, body) as stream:
                if not stream.ok:
                    raise error_of_answer(await stream.whole())
                if stream.is_events:
                    events = stream.events()
                else:
                    answer = await stream.whole()
                    if not answer.content.lstrip().startswith(STREAM_LINES):
                        return form.reply(decoded(answer), time.monotonic() - started)
                    events = events_in(answer.content)
                while True:
                    # Before the first words the request may be in the server's queue, which is no stall.
                    patience = stall_seconds if any(read.parts) else None
                    try:
                        async with asyncio.timeout(patience) as silence:
                            event = await anext(events)
                    except StopAsyncIteration:
                        break
                    except TimeoutError as error:
                        if not silence.expired():
                            raise
                        raise Stalled(call_messages.SILENT(seconds=f"{stall_seconds:g}", n=len(read.text))) from error
                    read.add(_chunk_in(event))
        if not read.finish_reason:
            raise Unreachable(call_messages.BROKE_OFF(n=len(read.text)))
        reason = "refusal" if read.refused else read.finish_reason
        seconds = time.monotonic() - started
        return Reply(read.text, reason, read.input_tokens, read.output_tokens, seconds, served=read.model)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise the HTTP library's exceptions as those of the ChatError family."""
        import aiohttp

        try:
            yield
        except TimeoutError as error:
            raise TimedOut(call_messages.NO_REPLY(seconds=f"{self._connections.timeout_seconds:g}")) from error
        except HostRefused as error:
            raise HostNotAllowed(*error.args) from error
        except ReplyRefused as error:
            raise ReplyNotRead(*error.args) from error
        except aiohttp.ClientError as error:
            unsent = isinstance(error, aiohttp.ClientConnectorError)
            away = Unreachable(self._connections.away(error, unsent))
            away.unsent, away.quotes = unsent, not unsent
            raise away from error
        except (ValueError, RecursionError) as error:
            raise quoting(ServerFailed(call_messages.NOT_JSON(words=error))) from error

    async def close(self) -> None:
        await self._connections.close()


def _chunk_in(event: str) -> object:
    """Decode one event of a stream. Raises ServerFailed if it is an error, ValueError if it is not JSON."""
    chunk = json.loads(event)
    if isinstance(chunk, dict) and chunk.get("error"):
        error = chunk["error"]
        words = error.get("message") if isinstance(error, dict) else error
        raise ServerFailed(call_messages.ERROR_AMID(words=words if isinstance(words, str) else beginning(error)))
    return chunk

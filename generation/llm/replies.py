"""Convert the bodies of completions into replies, and estimate the tokens that the server did not count."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from generation.llm.errors import NO_MONEY, ChatError, NoMoney, RateLimited, Refused, ServerFailed, quoting
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.bodies import BadBody, StreamedCompletion, read_choices, tokens_counted
from generation.llm.protocol.response_bodies import (
    TOKENS_READ,
    TOKENS_WRITTEN,
    ResponseFailed,
    StreamedResponse,
    read_response,
)
from generation.llm.protocol.token_limits import estimated_tokens
from generation.llm.requests import Reply, Request

BROKEN_OFF = "broken off"
"""The finish reason of the part of a reply that came before the call failed."""
LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
"""The parameters that limit the new tokens of a reply."""
KINDS: Mapping[str, type[ChatError]] = {
    "rate_limit_exceeded": RateLimited,
    "invalid_prompt": Refused,
    **dict.fromkeys(NO_MONEY, NoMoney),
}
"""The kinds of errors that a server names by a code in a body of status 200; all others may pass."""


def read_completion(completion: object, seconds: float) -> Reply:
    """Return the first choice of a completion. Raises ServerFailed if the body is not a completion."""
    return read_samples(completion, seconds)[0]


def read_samples(completion: object, seconds: float) -> tuple[Reply, ...]:
    """Return all choices of a completion, at least one; the first has the tokens of all. Raises ServerFailed."""
    try:
        with bodies_read():
            read = read_choices(completion)
    except ServerFailed as error:
        error.came = _counted(completion, seconds, "prompt_tokens", "completion_tokens")
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


def read_finished_response(body: object, seconds: float) -> Reply:
    """Return the reply that a body of the responses form holds. Raises ChatError if it holds none."""
    try:
        with bodies_read():
            read = read_response(body)
    except ChatError as error:
        error.came = _counted(body, seconds, TOKENS_READ, TOKENS_WRITTEN)
        raise
    (choice,) = read.choices
    return Reply(choice.text, choice.finish_reason, read.input_tokens, read.output_tokens, seconds, served=read.model)


def _counted(body: object, seconds: float, name_read: str, name_written: str) -> Reply | None:
    """Return the tokens that an unusable answer says it cost, as an empty reply; None if it does not say."""
    if not isinstance(body, Mapping):
        return None
    read, written = (tokens_counted(body, name) for name in (name_read, name_written))
    return Reply("", BROKEN_OFF, read, written, seconds) if read or written else None


def with_tokens(reply: Reply, request: Request) -> Reply:
    """Return the reply with an upper estimate of tokens that the server did not count, since they are paid for too."""
    return _with_guesses(reply, request, reply.text)


def so_far(read: StreamedCompletion | StreamedResponse, request: Request, started: float) -> Reply | None:
    """Return the part of a text that came before its stream failed, with estimated tokens; None if nothing came."""
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


@contextmanager
def bodies_read() -> Iterator[None]:
    """Raise BadBody as ServerFailed, and an error that the server names in its body as the error of its kind."""
    try:
        yield
    except ResponseFailed as error:
        raise KINDS.get(error.code, ServerFailed)(*error.args) from error
    except BadBody as error:
        raise quoting(ServerFailed(call_messages.BAD_BODY(what=error.args[0]))) from error

"""The bodies of completions as replies, with a guess of the tokens that the server did not count."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from generation.llm.errors import ServerFailed, quoting
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.bodies import BadBody, StreamedCompletion, read_choices, tokens_counted
from generation.llm.protocol.token_limits import estimated_tokens
from generation.llm.requests import Reply, Request

BROKEN_OFF = "broken off"
"""The finish reason of what came of a reply before it failed."""
LIMITS = ("max_completion_tokens", "max_tokens")
"""What the new tokens that a reply may have are called."""


def read_completion(completion: object, seconds: float) -> Reply:
    """Raises ServerFailed where the body is not a completion, whatever its status said."""
    return read_samples(completion, seconds)[0]


def read_samples(completion: object, seconds: float) -> tuple[Reply, ...]:
    """Every choice of a completion, at least one; the tokens are counted with the first. Raises ServerFailed."""
    try:
        with bodies_read():
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


def _counted(completion: object, seconds: float) -> Reply | None:
    """What an answer of no use says that it cost; None where it says nothing of that."""
    if not isinstance(completion, Mapping):
        return None
    read, written = (tokens_counted(completion, name) for name in ("prompt_tokens", "completion_tokens"))
    return Reply("", BROKEN_OFF, read, written, seconds) if read or written else None


def with_tokens(reply: Reply, request: Request) -> Reply:
    """The reply with an upper guess of its tokens where the server counted none: what nobody counts is paid as well."""
    return _with_guesses(reply, request, reply.text)


def so_far(read: StreamedCompletion, request: Request, started: float) -> Reply | None:
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


@contextmanager
def bodies_read() -> Iterator[None]:
    try:
        yield
    except BadBody as error:
        raise quoting(ServerFailed(call_messages.BAD_BODY(what=error.args[0]))) from error

"""Errors of calls without a reply: one class for each kind, chosen by the status and the words of the answer."""

import email.utils
import json
import math
import re
import time
from collections.abc import Mapping
from typing import Any

from generation.llm.connections import Answer
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.call_limits import CallFailed

LONGEST_WORDS = 2000
LONGEST_WAIT = 3600.0
CONTEXT_WORDS = (
    "context_length_exceeded",
    "maximum context length",
    "context length",
    "context window",
    "completion tokens",
    "max_model_len",
)
TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)
LONGEST_PAGE = 8_000
"""The characters of such a page that are searched for text: an unclosed tag is searched to the end."""
NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached")


class ChatError(CallFailed):
    """The endpoint gave no reply; str(error) holds its own words.

    `status` is the HTTP status, None if no answer came. `quotes`: the words quote a body that no model server sends
    there, such as a page of another service.
    """

    status: int | None = None
    quotes = False


class Unreachable(ChatError):
    """No server listens at the address, its name is unknown, or the connection broke."""

    retryable = True


class TimedOut(ChatError):
    retryable = True


class Stalled(ChatError):
    """A streamed reply fell silent before its end."""

    retryable = True


class ServerFailed(ChatError):
    """A status of 500 or more, or status 200 with broken JSON or an error."""

    retryable = True


class RateLimited(ChatError):
    """Status 429; `retry_after` is the requested wait in seconds, or None."""

    retryable = True
    patient = True

    def __init__(self, words: str, retry_after: float | None = None) -> None:
        super().__init__(words)
        self.retry_after = retry_after


class Refused(ChatError):
    """The request is not accepted (400 and similar), either for its settings, as all others, or for its text alone."""

    doubtful = True


class HostNotAllowed(ChatError):
    """The endpoint's address may not be called; the sentence says who can allow it."""

    fatal = True


class ReplyNotRead(ChatError):
    """A reply that is too large, or compressed in a way that was not requested."""

    doubtful = True


class NoMoney(ChatError):
    """The account has no money left, so that no call is answered."""

    fatal = True


class TooLong(ChatError):
    """This request is longer than the model's context; others may fit."""


class Unauthorised(ChatError):
    """401: the key is missing or wrong."""

    fatal = True


class Forbidden(ChatError):
    """403: the key may not use this model, or the model may not answer this request."""

    doubtful = True


def error_of_answer(answer: Answer) -> ChatError:
    """Convert an answer with a failure status into the error of its kind, with the endpoint's words."""
    fields = _error_fields(answer)
    words = f"{answer.status}: {fields.get('message') or _readable(answer) or answer.reason}"[:LONGEST_WORDS]
    error = _error_of(answer, words, str(fields.get("code") or ""))
    error.status = answer.status
    error.quotes = not (isinstance(fields.get("message"), str) and isinstance(fields.get("type"), str))
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


def _error_fields(answer: Answer) -> Mapping[str, Any]:
    """Return the error object in an answer's body, from any of the usual places; empty if there is none."""
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):
        return {}
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, dict) and isinstance(error.get("detail"), str):
        return {"message": error["detail"], **error}
    return {"message": error} if isinstance(error, str) else error if isinstance(error, dict) else {}


def decoded(answer: Answer) -> object:
    """Decode an answer's JSON. Raises ServerFailed."""
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError) as error:
        words = _readable(answer)[:LONGEST_WORDS] or "nothing"
        raise quoting(ServerFailed(call_messages.NOT_JSON(words=words))) from error


def quoting(error: ServerFailed) -> ServerFailed:
    """Mark the error as one of status 200 whose words quote the body."""
    error.status, error.quotes = 200, True
    return error


def _readable(answer: Answer) -> str:
    """Return the beginning of a body as plain text; removing the tags of a whole large page would take long."""
    return said_plainly(answer.content[:LONGEST_PAGE].decode("utf-8", errors="replace"))


def said_plainly(body: str) -> str:
    """Return an HTML page, such as proxies send, without its tags; return anything else unchanged."""
    text = body.strip()
    return " ".join(TAGS.sub(" ", text[:LONGEST_PAGE]).split()) if text.startswith("<") else text


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait in seconds from retry-after-ms or Retry-After (seconds or a date), or None; `now` is Unix time.

    The wait is at most an hour: a server that asks for a day is tried again earlier, in case it has become available.
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

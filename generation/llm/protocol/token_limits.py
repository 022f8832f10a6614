"""The number of tokens that a reply may have, from the request, the model's context and the server's words. PURE."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LEAST_ROOM = 16
MARGIN = 16
TOKENS_A_MESSAGE = 8
# A longer row of digits is no number of tokens.
_TOKENS = r"(?<!\d)(\d{1,12})"
_CONTEXT = (
    re.compile(rf"maximum context length (?:is|of) {_TOKENS}(?!\d)"),
    re.compile(rf"max_model_len={_TOKENS}(?!\d)"),
    re.compile(r"context (?:length|window|size)[^.\d]{0,40}?(\d{3,12})(?!\d)"),
)
_PROMPT = (
    re.compile(rf"{_TOKENS} (?:tokens )?in the messages"),
    re.compile(rf"{_TOKENS} input tokens"),
    re.compile(rf"(?:input|prompt)[^.]{{0,60}}?{_TOKENS} tokens"),
)
_ANSWER = (re.compile(rf"at most {_TOKENS} (?:completion|output) tokens"),)


@dataclass(frozen=True)
class Told:
    """The limits that a server names when it refuses a request as too long; None if it does not say."""

    context: int | None = None
    prompt: int | None = None
    answer: int | None = None


def told_by(words: str) -> Told:
    """Read words such as "maximum context length is 1024 tokens ... 900 input tokens"."""
    return Told(_first(_CONTEXT, words), _first(_PROMPT, words), _first(_ANSWER, words))


def _first(patterns: Iterable[re.Pattern[str]], words: str) -> int | None:
    found = (pattern.search(words) for pattern in patterns)
    return next((int(match[1]) for match in found if match), None)


def estimated_tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """Return an upper estimate: one token for three ASCII characters, 1.5 tokens for any other character."""
    tokens = 0
    for message in messages:
        text = message["content"]
        ascii_characters = len(text.encode("ascii", errors="ignore"))
        tokens += ascii_characters // 3 + (len(text) - ascii_characters) * 3 // 2 + TOKENS_A_MESSAGE
    return tokens


def allowed_tokens(asked: int, prompt: int, context: int | None) -> int:
    """Return the new tokens to request: `asked`, or fewer if the context has less room beside the prompt.

    The result is at least a few, since `prompt` may be an upper estimate; the server decides in the end.
    """
    if context is None:
        return asked
    return max(min(LEAST_ROOM, asked), min(asked, context - prompt - MARGIN))


def next_allowance(asked: int, prompt: int, told: Told) -> int | None:
    """Return fewer new tokens than the `asked` that were refused, or None if fewer would not help.

    `prompt` is the estimate used if the server does not count the prompt itself.
    """
    if told.answer is not None and told.answer < asked:
        return told.answer
    if told.context is None:
        return None
    if told.prompt is not None and told.prompt >= told.context:
        return None
    guessed = max(LEAST_ROOM, told.context - prompt - MARGIN)
    room = guessed if told.prompt is None else told.context - told.prompt
    fewer = room if room < asked else asked // 2
    return fewer if fewer >= 1 else None

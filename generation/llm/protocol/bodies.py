"""Read the bodies of servers' answers strictly: completions, embeddings, streams and lists of models. PURE."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import UserError
from core.text import storable
from generation.llm.protocol import messages as call_messages

MOST_MODELS = 1_000
LONGEST_NAME = 200
"""The models of a list, and the characters of a name, that are kept."""
MOST_TOKENS = 10**8
"""The most tokens of one call. A higher or negative count of a server is ignored."""


class BadBody(UserError):
    """The body is not what was requested, although its status is 200; the sentence says what it is."""


@dataclass(frozen=True)
class ServedModel:
    """A model of a server. `context_tokens` is the most tokens of prompt and answer together, if the server says so."""

    name: str
    context_tokens: int | None = None


@dataclass(frozen=True)
class Vectors:
    """One embedding for each text, in the order of the texts."""

    vectors: tuple[tuple[float, ...], ...]
    input_tokens: int


def read_vectors(body: object, count: int) -> Vectors:
    """Return the embeddings of `count` texts in the order of their index. Raises BadBody."""
    try:
        assert isinstance(body, Mapping)
        rows = sorted(body["data"], key=lambda row: int(row["index"]))
        places = [int(row["index"]) for row in rows]
        vectors = tuple(tuple(float(number) for number in row["embedding"]) for row in rows)
    except (AssertionError, LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise BadBody(call_messages.NO_EMBEDDINGS(words=beginning(body))) from error
    if places != list(range(count)):
        raise BadBody(call_messages.OTHER_EMBEDDINGS(n=len(places), asked=count))
    if not all(vector and all(map(math.isfinite, vector)) for vector in vectors):
        raise BadBody(call_messages.BAD_EMBEDDING())
    return Vectors(vectors, tokens_counted(body, "prompt_tokens"))


def read_models(body: object) -> tuple[ServedModel, ...]:
    """Return the models of a /models list. Raises BadBody."""
    try:
        assert isinstance(body, Mapping)
        return tuple(
            ServedModel(storable(str(row["id"])[:LONGEST_NAME]), _whole(row.get("max_model_len")))
            for row in body["data"][:MOST_MODELS]
        )
    except (AssertionError, LookupError, TypeError, AttributeError) as error:
        raise BadBody(call_messages.NO_LIST(words=beginning(body))) from error


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


@dataclass
class StreamedCompletion:
    """A completion put together from the chunks of its stream.

    `thoughts` is the reasoning that some models write before they answer: not part of the text, but paid for.
    """

    parts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""

    def add(self, chunk: object) -> None:
        """Add a chunk. Raises BadBody if it is not a chunk of a completion."""
        try:
            assert isinstance(chunk, Mapping)
            self.model = self.model or model_named(chunk)
            self.input_tokens = tokens_counted(chunk, "prompt_tokens") or self.input_tokens
            self.output_tokens = tokens_counted(chunk, "completion_tokens") or self.output_tokens
            for choice in chunk.get("choices") or []:
                if choice.get("index"):
                    continue  # One was asked for: what comes beside it is another text.
                delta = choice.get("delta") or {}
                self.parts.append(text_in(delta.get("content")))
                self.refusals.append(text_in(delta.get("refusal")))
                thought = delta.get("reasoning_content") or delta.get("reasoning")
                self.thoughts += [thought] if isinstance(thought, str) else []
                self.finish_reason = str(choice.get("finish_reason") or self.finish_reason)
        except (AssertionError, LookupError, TypeError, AttributeError) as error:
            raise BadBody(call_messages.OTHER_STREAM(words=beginning(chunk))) from error

    @property
    def text(self) -> str:
        return "".join(self.parts) or "".join(self.refusals)

    @property
    def refused(self) -> bool:
        return not any(self.parts) and any(self.refusals)

    @property
    def written(self) -> str:
        """Everything that has come so far, including the thoughts."""
        return "".join(self.thoughts) + self.text


@dataclass(frozen=True)
class Choice:
    """One answer of a completion. A refusal is its text if there is no other."""

    text: str
    finish_reason: str


@dataclass(frozen=True)
class Completion:
    """At least one choice, the tokens of all of them, and the server's name of the model, '' if it does not say."""

    choices: tuple[Choice, ...]
    input_tokens: int
    output_tokens: int
    model: str


def read_choices(body: object) -> Completion:
    """Read the choices of a completion. Raises BadBody."""
    try:
        assert isinstance(body, Mapping)
        choices = tuple(_choice(choice) for choice in body["choices"])
        assert choices
    except (AssertionError, LookupError, TypeError, AttributeError) as error:
        raise BadBody(call_messages.NO_COMPLETION(words=beginning(body, 2_000))) from error
    read, written = (tokens_counted(body, name) for name in ("prompt_tokens", "completion_tokens"))
    return Completion(choices, read, written, model_named(body))


def _choice(choice: Mapping[str, Any]) -> Choice:
    refusal = text_in(choice["message"].get("refusal"))
    reason = "refusal" if refusal else str(choice.get("finish_reason") or "")
    return Choice(text_in(choice["message"].get("content")) or refusal, reason)


def text_in(content: object) -> str:
    """Return the text of a message's content, which may be missing or a list of parts. Raises TypeError."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TypeError(type(content))
    parts = [part for part in content if part["type"] == "text"]
    return "".join(part["text"] for part in parts)


def model_named(body: Mapping[str, Any]) -> str:
    """Return the model that a body names, '' if it names none."""
    name = body.get("model")
    return name[:LONGEST_NAME] if isinstance(name, str) else ""


def tokens_counted(body: Mapping[str, Any], name: str) -> int:
    """Return a count from a body's usage, 0 if it is missing or impossible for one call."""
    usage = body.get("usage")
    count = usage.get(name) if isinstance(usage, Mapping) else None
    if isinstance(count, bool) or not isinstance(count, int | float):
        return 0
    return int(count) if 0 <= count <= MOST_TOKENS else 0


def beginning(body: object, characters: int = 300) -> str:
    """Return the beginning of a body, for a sentence about it."""
    try:
        return str(body)[:characters]
    except (RecursionError, ValueError):
        return type(body).__name__

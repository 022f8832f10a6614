"""What stands in the bodies that servers answer with, read strictly: completions, embeddings, streams, models. PURE."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import UserError
from generation.llm.protocol import messages as call_messages

MOST_MODELS = 1_000
LONGEST_NAME = 200
"""Of a list of models: more of it, and more of a name, is not kept."""
MOST_TOKENS = 10**8
"""Of one call. What a server counts beyond that, or below 0, counts nothing."""


class BadBody(UserError):
    """Status 200 and not what was asked for; the words say what stood there."""


@dataclass(frozen=True)
class ServedModel:
    """`context_tokens` is the longest prompt and answer together where the server says so, as vLLM does."""

    name: str
    context_tokens: int | None = None


@dataclass(frozen=True)
class Vectors:
    """One embedding a text, in the order of the texts."""

    vectors: tuple[tuple[float, ...], ...]
    input_tokens: int


def read_vectors(body: object, count: int) -> Vectors:
    """The embeddings of `count` texts, put in order by their index. Raises BadBody."""
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
    """The models of a /models list. Raises BadBody."""
    try:
        assert isinstance(body, Mapping)
        return tuple(
            ServedModel(str(row["id"])[:LONGEST_NAME], _whole(row.get("max_model_len")))
            for row in body["data"][:MOST_MODELS]
        )
    except (AssertionError, LookupError, TypeError, AttributeError) as error:
        raise BadBody(call_messages.NO_LIST(words=beginning(body))) from error


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


@dataclass
class StreamedCompletion:
    """A completion put together from the chunks of its stream.

    `thoughts` are what some models say to themselves before they answer: no part of the text, and paid for as well.
    """

    parts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""

    def add(self, chunk: object) -> None:
        """Raises BadBody where the chunk is not one of a completion."""
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
        """All that has come so far, the thoughts too."""
        return "".join(self.thoughts) + self.text


@dataclass(frozen=True)
class Choice:
    """One answer of a completion. A refusal is the text where there is no other."""

    text: str
    finish_reason: str


@dataclass(frozen=True)
class Completion:
    """At least one choice, the tokens of all of them together, and what the server calls the `model`, '' if nothing."""

    choices: tuple[Choice, ...]
    input_tokens: int
    output_tokens: int
    model: str


def read_choices(body: object) -> Completion:
    """Raises BadBody."""
    try:
        assert isinstance(body, Mapping)
        choices = tuple(_choice(one) for one in body["choices"])
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
    """A message's content, which may be missing, or in parts of which the texts count. Raises TypeError."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TypeError(type(content))
    parts = [part for part in content if part["type"] == "text"]
    return "".join(part["text"] for part in parts)


def model_named(body: Mapping[str, Any]) -> str:
    """The model that a body says it is of; '' where it does not say."""
    name = body.get("model")
    return name[:LONGEST_NAME] if isinstance(name, str) else ""


def tokens_counted(body: Mapping[str, Any], name: str) -> int:
    """Of a body's usage; 0 where the server does not count, or not in numbers that a call can have."""
    usage = body.get("usage")
    count = usage.get(name) if isinstance(usage, Mapping) else None
    if isinstance(count, bool) or not isinstance(count, int | float):
        return 0
    return int(count) if 0 <= count <= MOST_TOKENS else 0


def beginning(body: object, characters: int = 300) -> str:
    """Of what stood there, for a sentence about it."""
    try:
        return str(body)[:characters]
    except (RecursionError, ValueError):
        return type(body).__name__

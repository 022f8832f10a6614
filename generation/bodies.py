"""What stands in the bodies that servers answer with, read strictly: embeddings, streams, lists of models. PURE."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class BadBody(ValueError):
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
        tokens = int((body.get("usage") or {}).get("prompt_tokens") or 0)
    except (AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise BadBody(f"no embeddings: {_start(body)}") from error
    if places != list(range(count)):
        raise BadBody(f"embeddings of {len(places)} texts where {count} were asked for")
    if not all(vector and all(map(math.isfinite, vector)) for vector in vectors):
        raise BadBody("an embedding that is empty or not finite")
    return Vectors(vectors, tokens)


def read_models(body: object) -> tuple[ServedModel, ...]:
    """The models of a /models list. Raises BadBody."""
    try:
        assert isinstance(body, Mapping)
        return tuple(ServedModel(str(row["id"]), _whole(row.get("max_model_len"))) for row in body["data"])
    except (AssertionError, LookupError, TypeError, AttributeError) as error:
        raise BadBody(f"no list of models: {_start(body)}") from error


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


@dataclass
class StreamedCompletion:
    """A completion put together from the chunks of its stream."""

    parts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, chunk: object) -> None:
        """Raises BadBody where the chunk is not one of a completion."""
        try:
            assert isinstance(chunk, Mapping)
            usage: Mapping[str, Any] = chunk.get("usage") or {}
            self.input_tokens = int(usage.get("prompt_tokens") or self.input_tokens)
            self.output_tokens = int(usage.get("completion_tokens") or self.output_tokens)
            for choice in chunk["choices"][:1]:
                delta = choice.get("delta") or {}
                self.parts.append(delta.get("content") or "")
                self.refusals.append(delta.get("refusal") or "")
                self.finish_reason = str(choice.get("finish_reason") or self.finish_reason)
        except (AssertionError, LookupError, TypeError, AttributeError, ValueError) as error:
            raise BadBody(f"a stream of something else: {_start(chunk)}") from error

    @property
    def text(self) -> str:
        return "".join(self.parts) or "".join(self.refusals)

    @property
    def refused(self) -> bool:
        return not any(self.parts) and any(self.refusals)


def _start(body: object) -> str:
    return str(body)[:300]

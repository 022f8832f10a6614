"""The response or pair of responses that a row of another tool is about, and the records of their texts. PURE."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.tables.bad_rows import Place
from generation.importers.formats.source import Source, name_of_text
from generation.importers.records import InstructionRecord, ResponseRecord


@dataclass(frozen=True, slots=True)
class Described:
    """An item, its instruction and the models and texts of its response, or of two; what is not known is empty.

    `prompt` is None where the file does not say what was asked.
    """

    item: str
    instruction: str = ""
    category: str = ""
    prompt: str | None = None
    model: str = ""
    response: str | None = None
    model_a: str = ""
    response_a: str | None = None
    model_b: str = ""
    response_b: str | None = None
    reference: str = ""
    history: tuple[tuple[str, str], ...] = ()


def described(source: Source, value: Mapping[str, Any], row: str) -> Described:
    """Return what the fields of an object say; `row` is the name of the item where none is given.

    Where responses are compared and no models are named, they are called A and B.
    """
    said = source.described(value)
    pair = bool(said["response_a"] or said["model_a"])
    prompt = said["prompt"]
    return Described(
        item=said["item"] or row,
        instruction=said["instruction"],
        category=said["category"],
        prompt=prompt or None,
        model=said["model"] or source.options.model,
        response=said["response"] or None,
        model_a=said["model_a"] or ("A" if pair else ""),
        response_a=said["response_a"] or None,
        model_b=said["model_b"] or ("B" if pair else ""),
        response_b=said["response_b"] or None,
    )


def responses_of(place: Place, about: Described) -> Iterator[ResponseRecord]:
    """Yield the responses whose texts the file holds, with what was asked."""
    asked = InstructionRecord(
        place,
        about.instruction or about.item,
        about.prompt,
        about.category,
        reference=about.reference,
        history=about.history,
    )
    if about.response is not None or (about.prompt is not None and not about.model_a):
        yield ResponseRecord(place, asked, about.model, about.response, item=about.item)
    for model, text in ((about.model_a, about.response_a), (about.model_b, about.response_b)):
        if text is not None:
            yield ResponseRecord(place, asked, model, text)


def instruction_named(text: str, given: object) -> str:
    """Return the name of an instruction: the one that the file gives, else one made from the text."""
    return str(given).strip() if given not in (None, "") else name_of_text(text)

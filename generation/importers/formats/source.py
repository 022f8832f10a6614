"""A file of another tool as a reader gets it: its rows one by one, what the user says of it, what is not read. PURE."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.tables import messages as of_tables
from core.tables.bad_rows import OnBadRow, Place, refuse
from core.tables.json_arrays import BrokenArray, elements_at
from core.tables.paths import value_at
from core.tables.reading import (
    LONGEST_LINE,
    ElementPlace,
    format_of,
    json_lines,
    json_objects,
    parquet_objects,
    text_pieces,
)
from core.tables.rows import as_text
from generation.importers.formats import messages

MOST_UNREAD = 200
"""Names of fields that are listed as not read."""
PROMPTS = ("prompt", "instruction", "question", "input", "query", "task", "source")
RESPONSES = ("response", "output", "answer", "completion", "generation", "reply", "text", "generated_text")
MODELS = ("model", "generator", "model_name", "model_id", "system")
FIRSTS = ("response_a", "answer_a", "output_a", "response_1", "response1", "answer1", "output_1", "text1", "response-1")
SECONDS = (
    "response_b",
    "answer_b",
    "output_b",
    "response_2",
    "response2",
    "answer2",
    "output_2",
    "text2",
    "response-2",
)
GUESSED = {
    "prompt": PROMPTS,
    "response": RESPONSES,
    "model": MODELS,
    "response_a": FIRSTS,
    "response_b": SECONDS,
    "model_a": ("model_a", "generator_a", "model_1", "model1", "generator_1"),
    "model_b": ("model_b", "generator_b", "model_2", "model2", "generator_2"),
    "item": ("item", "item_id"),
    "instruction": ("instruction_id", "prompt_id", "question_id"),
    "category": ("category", "topic", "subject"),
}
"""What a file says of the responses that its answers are about, and the names by which its fields are recognised."""
NAMES = tuple(GUESSED)
PEOPLE = frozenset({"person", "slot", "key"})


@dataclass(frozen=True)
class Options:
    """What the user says of a file: the dotted path of each of NAMES, the model, and which raters are judges.

    `judges` are the names of raters that are judges; None leaves that to the format, and "*" stands for all of them.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    judges: frozenset[str] | None = None


@dataclass
class Source:
    """A file to read. `unread` gets the names of fields that the reader does not know, in the order of their appearance."""

    path: Path
    on_bad: OnBadRow = refuse
    options: Options = field(default_factory=Options)
    unread: dict[str, None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.name

    def objects(self, within: Sequence[str] = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Yield the objects of a JSON array, of JSON Lines or of Parquet with their places.

        `within` is where an object that is the whole file holds its array. Raises BadRow.
        """
        ending = format_of(self.path)
        if ending == ".parquet":
            yield from parquet_objects(self.path)
        elif within and self._begins_with_object():
            yield from self._inside(within)
        elif ending in (".jsonl", ".ndjson"):
            yield from json_lines(self.path, self.on_bad)
        else:
            yield from json_objects(self.path, self.on_bad)

    def _begins_with_object(self) -> bool:
        pieces = text_pieces(self.path, self.name)
        start = next((piece for piece in pieces if piece.strip()), "")
        pieces.close()
        return start.lstrip()[:1] == "{"

    def _inside(self, within: Sequence[str]) -> Iterator[tuple[Place, dict[str, Any]]]:
        some = False
        pieces = text_pieces(self.path, self.name)
        try:
            for element in elements_at(pieces, within, LONGEST_LINE):
                some = True
                place = ElementPlace(self.name, element.line, element.number)
                if not element.decoded:
                    self.on_bad(place.bad(of_tables.BYTES_NOT_UTF8(), of_tables.SAVE_AS_UTF8()))
                elif isinstance(element.value, dict):
                    yield place, element.value
                else:
                    self.on_bad(place.bad(of_tables.ELEMENT_NO_OBJECT(), of_tables.OBJECT_PER_ROW()))
        except BrokenArray as error:
            if some:
                self.on_bad(Place(self.name, error.line).bad(error.reason, of_tables.COPY_WHOLE()))
                return
            pieces.close()
            if format_of(self.path) in (".jsonl", ".ndjson") or "\n{" in next(text_pieces(self.path, self.name), ""):
                yield from json_lines(self.path, self.on_bad)
                return
            raise Place(self.name, 0).bad(error.reason, of_tables.COPY_WHOLE()) from error

    def note_unknown(self, value: Mapping[str, Any], known: Iterable[str], before: str = "") -> None:
        """List the fields of an object that are not among the known ones, each after the path to the object."""
        for key, item in value.items():
            if key not in known and item not in (None, "", [], {}):
                self.note(f"{before}{key}")

    def note(self, name: str) -> None:
        if len(self.unread) < MOST_UNREAD:
            self.unread.setdefault(name)

    def is_judge(self, rater: str, usual: bool, stated: object = None) -> bool:
        """Whether a rater is a judge: as the user says, else as the row states, else as is usual in the format."""
        if self.options.judges is not None:
            return "*" in self.options.judges or rater in self.options.judges
        if isinstance(stated, str) and stated:
            return stated not in PEOPLE
        return usual

    def described(self, value: Mapping[str, Any], names: Sequence[str] = NAMES) -> dict[str, str]:
        """Return what an object says of its response, by our names; '' for what it does not say.

        A path that the user gave is followed; otherwise the first field with one of the usual names is taken.
        """
        found, taken = {}, set()
        for name in names:
            path = self.options.fields.get(name)
            if path is None:
                path = next((key for key in GUESSED[name] if key in value and key not in taken), "")
            taken.add(path)
            found[name] = text_of(value_at(value, path)) if path else ""
        self.used = taken
        return found

    used: set[str] = field(default_factory=set)
    """The fields that `described` read last."""


def text_of(value: object) -> str:
    """Return a text as it is, the text of a conversation or of parts of content, and other values as JSON."""
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        if all("role" in part for part in value):
            return "\n\n".join(f"{as_text(part['role'])}: {text_of(part.get('content'))}" for part in value)
        parts = [part["text"] for part in value if isinstance(part.get("text"), str)]
        if parts:
            return as_text("".join(parts))
    if isinstance(value, bool):
        return "1" if value else "0"
    return as_text(value)


def required(place: Place, value: Mapping[str, Any], name: str) -> str:
    """Return the text of a field. Raises BadRow where it is missing or empty."""
    text = text_of(value.get(name))
    if not text.strip():
        raise place.bad(messages.NO_FIELD(field=name), messages.FILL_FIELD())
    return text


def seconds_of(value: object) -> float | None:
    """Return a plausible number of seconds, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value)


def name_of_text(text: str) -> str:
    """Return a name for an instruction that has none: the same for the same text in every file."""
    return "text-" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def rater_name(value: object, fallback: str) -> str:
    """Return the name of a rater from a number, a text or an object that describes a user."""
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("id", "username", "email") if value.get(key)), "")
    return re.sub(r"\s+", " ", as_text(value)).strip() or fallback

"""Rows of a table -> responses that were generated elsewhere, each with what it says of its instruction."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from core.tables import messages
from core.tables.bad_rows import BadRow, OnBadRow, refuse
from core.tables.reading import Row, read_rows
from generation.importers.instructions import (
    COLUMNS as INSTRUCTION_COLUMNS,
    LONGEST_NAME,
    InstructionLayout,
    instruction_of,
    whole,
)
from generation.importers.records import ResponseRecord
from generation.importers.tidy import EMPTY_WORDS, LONGEST_SECONDS

OWN_COLUMNS = ("model", "response", "sample", "finish_reason", "input_tokens", "tokens", "seconds")
COLUMNS = ("instruction", *OWN_COLUMNS, *INSTRUCTION_COLUMNS[1:])
BY_OWN_NAME = ("instruction", "response", "model", "prompt", "category", "words_asked")
LONGEST_FINISH_REASON = 30


def response_layout(columns: Mapping[str, str], *, model: str = "") -> InstructionLayout:
    """`columns` gives our name -> the file's column; that of the model is not read where `model` wrote them all."""
    return InstructionLayout(
        {name: column for name, column in columns.items() if not (model and name == "model")},
        [name for name in BY_OWN_NAME if not (model and name == "model")],
    )


def read_responses(
    path: Path,
    columns: Mapping[str, str],
    on_bad: OnBadRow = refuse,
    *,
    model: str = "",
    met: dict[str, None] | None = None,
) -> Iterator[ResponseRecord]:
    """`columns` gives our name -> the file's column; `model` wrote them all, whatever a column says.

    A response that is a list has a sample in each part, numbered from 0. A model's second answer to an instruction with
    the same sample number is a bad row. `met` as in read_rows.
    """
    layout = response_layout(columns, model=model)
    needed = dict.fromkeys(("instruction", "response", *layout.named))
    seen: set[tuple[str, str, int]] = set()
    for row in read_rows(path, [layout.named.get(name, name) for name in needed], on_bad, met=met):
        try:
            records = _responses_of(row, layout, model)
            keys = {(record.instruction.external_id, record.model, record.sample) for record in records}
            if keys & seen:
                name = repr(records[0].instruction.external_id)
                said = messages.ANSWERED_TWICE(model=records[0].model, name=name)
                raise row.place.bad(said, messages.KEEP_ONE_OR_SAMPLE())
            seen |= keys
        except BadRow as problem:
            on_bad(problem)
            continue
        yield from records


def _responses_of(row: Row, layout: InstructionLayout, model: str) -> list[ResponseRecord]:
    column = layout.column_of("response")
    texts = row.texts(column) if column in row.nested else [row.values[column]]
    if len(texts) > 1 and layout.value(row, "sample").strip():
        raise row.place.bad(f"{column} is a list of {len(texts)} and the row has the number of one sample", "keep one")
    record = _response_of(row, layout, model, (texts or [""])[0])
    return [record, *(replace(record, text=text, sample=number) for number, text in enumerate(texts[1:], start=1))]


def _response_of(row: Row, layout: InstructionLayout, model: str, text: str) -> ResponseRecord:
    writer = model or layout.value(row, "model").strip()
    instruction = instruction_of(row, layout)
    if not writer:
        raise row.place.bad("it names no model", "fill that column in")
    if len(writer) > LONGEST_NAME:
        raise row.place.bad("the model's name is too long", f"keep names to {LONGEST_NAME} characters")
    return ResponseRecord(
        place=row.place,
        instruction=instruction,
        model=writer,
        text=text,
        sample=whole(row.place, "number of a sample", layout.value(row, "sample")) or 0,
        finish_reason=layout.value(row, "finish_reason").strip()[:LONGEST_FINISH_REASON],
        input_tokens=whole(row.place, "number of tokens", layout.value(row, "input_tokens")),
        tokens=whole(row.place, "number of tokens", layout.value(row, "tokens")),
        seconds=_seconds(row, layout),
    )


def _seconds(row: Row, layout: InstructionLayout) -> float | None:
    text = layout.value(row, "seconds").strip()
    if text.lower() in EMPTY_WORDS:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise row.place.bad(f"{text[:40]!r} is no number of seconds", "write a number or leave it empty")
    return seconds

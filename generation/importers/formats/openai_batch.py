"""Reader of the output file of an OpenAI batch: replies of chat completions or of responses, by their custom_id. PURE.

The output does not repeat what was asked; load the instructions first, with the same names as the custom ids.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from core.tables.paths import value_at
from generation.importers.formats import messages
from generation.importers.formats.format import RESPONSES, Format, Record
from generation.importers.formats.source import Source, required, text_of
from generation.importers.records import InstructionRecord, ResponseRecord

LINE = {"id", "custom_id", "response", "error"}
OK = 200


def read_openai_batch(source: Source) -> Iterator[Record]:
    for place, row in source.objects():
        try:
            source.note_unknown(row, LINE)
            yield _response(source, place, row)
        except BadRow as problem:
            source.on_bad(problem)


def _response(source: Source, place: Place, row: Mapping[str, Any]) -> ResponseRecord:
    name = required(place, row, "custom_id").strip()
    status, body = value_at(row, "response.status_code"), value_at(row, "response.body")
    if status != OK or not isinstance(body, dict):
        why = text_of(value_at(row, "error.message") or value_at(row, "response.body.error.message") or status)
        raise place.bad(messages.FAILED_REQUEST(name=repr(name), why=why[:200] or "?"), messages.ASK_AGAIN())
    model = source.options.model or required(place, body, "model").strip()
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return ResponseRecord(
        place,
        InstructionRecord(place, name, None),
        model,
        _text(place, body),
        finish_reason=text_of(value_at(body, "choices.0.finish_reason"))[:30],
        input_tokens=_whole(counts.get("prompt_tokens", counts.get("input_tokens"))),
        tokens=_whole(counts.get("completion_tokens", counts.get("output_tokens"))),
    )


def _text(place: Place, body: Mapping[str, Any]) -> str:
    content = value_at(body, "choices.0.message.content")
    if content is None and isinstance(body.get("output"), list):
        parts = [part.get("content") for part in body["output"] if isinstance(part, dict) and part.get("content")]
        content = "".join(map(text_of, parts)) if parts else None
    if content is None:
        raise place.bad(messages.NO_FIELD(field="choices[0].message.content"), messages.ASK_AGAIN())
    return text_of(content)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


OPENAI_BATCH = Format(
    "openai-batch", "OpenAI batch output", read_openai_batch, (frozenset({"custom_id", "response"}),), holds=RESPONSES
)

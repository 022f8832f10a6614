"""Reader of scores as Langfuse's API lists them and takes them. PURE.

A score belongs to an observation, a trace or a session, which is the item. Scores of people's annotation are people's
answers, all others a judge's: that of the metadata, else the source.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from generation.importers.formats import messages
from generation.importers.formats.format import Format, Record
from generation.importers.formats.source import Source, rater_name, required, text_of
from generation.importers.records import RatingRecord

SCORE = {
    "id", "traceId", "observationId", "sessionId", "datasetRunId", "name", "value", "stringValue", "dataType", "source",
    "comment", "authorUserId", "configId", "queueId", "createdAt", "updatedAt", "timestamp", "environment", "metadata",
    "projectId", "trace", "executionTraceId",
}  # fmt: skip
ITEMS = ("observationId", "traceId", "sessionId")
NUMBERS = ("NUMERIC", "BOOLEAN", "")
ANNOTATION = "ANNOTATION"


def read_langfuse(source: Source) -> Iterator[Record]:
    for place, row in source.objects(LANGFUSE.within):
        try:
            source.note_unknown(row, SCORE)
            if (record := _score(source, place, row)) is not None:
                yield record
        except BadRow as problem:
            source.on_bad(problem)


def _score(source: Source, place: Place, row: Mapping[str, Any]) -> RatingRecord | None:
    criterion = required(place, row, "name").strip()
    kind = text_of(row.get("dataType"))
    if kind not in (*NUMBERS, "CATEGORICAL"):
        source.note(f"dataType={kind}")
        return None
    item = next((text_of(row[name]).strip() for name in ITEMS if row.get(name)), "")
    if not item:
        raise place.bad(messages.NO_FIELD(field=" / ".join(ITEMS)), messages.FILL_FIELD())
    value = row.get("stringValue") if kind == "CATEGORICAL" and row.get("stringValue") else row.get("value")
    found = row.get("metadata")
    metadata = found if isinstance(found, dict) else {}
    origin = text_of(row.get("source"))
    rater = rater_name(metadata.get("rater") or row.get("authorUserId") or origin, "langfuse")
    stated = metadata.get("rater_kind")
    text = text_of(value)
    if kind == "BOOLEAN":
        text = {"true": "1", "false": "0"}.get(text.lower(), text)
    return RatingRecord(
        place,
        item,
        rater,
        source.is_judge(rater, origin != ANNOTATION, stated),
        criterion,
        text,
        instruction=text_of(metadata.get("instruction")),
        model=text_of(metadata.get("model")),
        reason=text_of(row.get("comment")),
        is_key=stated == "key",
    )


LANGFUSE = Format(
    "langfuse",
    "Langfuse scores",
    read_langfuse,
    (
        frozenset({"name", "value", "traceId"}),
        frozenset({"name", "value", "sessionId"}),
        frozenset({"name", "value", "observationId"}),
    ),
    within=("data",),
)

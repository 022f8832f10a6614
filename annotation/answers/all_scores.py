"""All scores of a study, read and written in parts, so that a million take no more memory than a thousand."""

import io
import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from annotation.models import Assignment, Criterion, Score, Study, why_not_counted

BATCH = 1000
"""Answers that are read at a time."""
ROW_GROUP = 20_000
"""Scores that Parquet keeps together."""
COLUMNS = {
    "task": "string",
    "response_a": "string",
    "response_b": "string",
    "rater": "string",
    "rater_kind": "string",
    "status": "string",
    "not_counted": "string",
    "repeat": "int64",
    "shown_first": "string",
    "submitted_at": "string",
    "discredited": "bool",
    "criterion": "string",
    "role": "string",
    "revision": "int64",
    "value": "float64",
    "level": "string",
    "not_applicable": "bool",
    "reason": "string",
    "evidence": "string",
}
"""The columns and their types, by Arrow's names. Evidence is a list, which Parquet holds as JSON."""
OF_ANSWER = (
    "task__public_id",
    "task__response_a__public_id",
    "task__response_b__public_id",
    "rater__public_id",
    "rater__kind",
    "status",
    "reason",
    "repeat",
    "shown_first",
    "submitted_at",
    "discredited",
)
OF_SCORE = ("assignment_id", "criterion_id", "revision", "value", "level", "not_applicable", "reason", "evidence")


@dataclass(frozen=True)
class WantedScores:
    """Which scores: of one criterion, of one kind of rater, and with those that were changed later; "" means all."""

    criterion: str = ""
    rater_kind: str = ""
    every_revision: bool = False


Row = tuple[Any, ...]
"""A score's values in the order of COLUMNS."""


def score_rows(study: Study, wanted: WantedScores) -> Iterator[list[Row]]:
    """Yield the scores in the order of the answers, a batch of answers at a time; of a changed one the last revision.

    What is added while they are read may be missing. No score comes twice.
    """
    answers = Assignment.objects.filter(task__study=study)
    if wanted.rater_kind:
        answers = answers.filter(rater__kind=wanted.rater_kind)
    # The keys of a million answers take 8 MB; with them every batch is found by its keys alone.
    keys = array("q", sorted(answers.order_by().values_list("pk", flat=True).iterator(chunk_size=10_000)))
    criteria: dict[int, tuple[str, str]] = {}
    for start in range(0, len(keys), BATCH):
        yield _of_batch(keys[start : start + BATCH].tolist(), wanted, criteria)


def _of_batch(keys: Sequence[int], wanted: WantedScores, criteria: dict[int, tuple[str, str]]) -> list[Row]:
    answers = {
        pk: _of_answer(*rest) for pk, *rest in Assignment.objects.filter(pk__in=keys).values_list("pk", *OF_ANSWER)
    }
    scores = Score.objects.filter(assignment__in=keys).order_by("assignment_id", "criterion_id", "revision")
    if wanted.criterion:
        scores = scores.filter(criterion__key=wanted.criterion)
    return [
        (*answers[answer], *criteria[criterion], *rest)
        for answer, criterion, *rest in _counted(scores, wanted, criteria)
        if answer in answers
    ]


def _of_answer(
    task: str, a: str | None, b: str | None, rater: str, kind: str, status: str, reason: str, *rest: Any
) -> Row:
    repeat, shown_first, submitted_at, discredited = rest
    given = submitted_at.isoformat() if submitted_at else None
    return (
        *(task, a, b, rater, kind, status, why_not_counted(status, reason)),
        *(repeat, shown_first, given, bool(discredited)),
    )


def _counted(
    scores: QuerySet[Score], wanted: WantedScores, criteria: dict[int, tuple[str, str]]
) -> list[tuple[Any, ...]]:
    """Return the scores, and note their criteria."""
    found: list[tuple[Any, ...]] = []
    for row in scores.values_list(*OF_SCORE):
        if found and not wanted.every_revision and found[-1][:2] == row[:2]:
            found.pop()
        found.append(row)
    unknown = {row[1] for row in found} - set(criteria)
    for pk, key, role in Criterion.objects.filter(pk__in=unknown).values_list("pk", "key", "role") if unknown else ():
        criteria[pk] = (key, role)
    return found


def as_json_lines(batches: Iterator[list[Row]]) -> Iterator[bytes]:
    """Yield the scores as JSON Lines, an object a line."""
    names = list(COLUMNS)
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for batch in batches:
        yield "".join([write(dict(zip(names, row, strict=True))) + "\n" for row in batch]).encode(errors="replace")


def as_parquet(batches: Iterator[list[Row]]) -> Iterator[bytes]:
    """Yield the scores as a Parquet file, piece by piece."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    sent = _Sent()
    held: list[Row] = []

    def group() -> Any:
        columns: list[Row] = list(zip(*held, strict=True)) if held else [()] * len(COLUMNS)
        columns[-1] = tuple(None if one is None else json.dumps(one) for one in columns[-1])
        held.clear()
        return pyarrow.table(
            [pyarrow.array(one, kind) for one, kind in zip(columns, schema.types, strict=True)], schema
        )

    with ParquetWriter(sent, schema, compression="zstd") as writer:
        for batch in batches:
            held += batch
            if len(held) >= ROW_GROUP:
                writer.write_table(group())
                yield sent.taken()
        writer.write_table(group())
    yield sent.taken()


class _Sent(io.RawIOBase):
    """A file to which a writer writes and from which what it wrote is taken."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._written += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        """Return what was written since this was asked last."""
        found = b"".join(self._pieces)
        self._pieces.clear()
        return found


FORMS: dict[str, tuple[str, Callable[[Iterator[list[Row]]], Iterator[bytes]]]] = {
    "jsonl": ("application/x-ndjson", as_json_lines),
    "parquet": ("application/vnd.apache.parquet", as_parquet),
}
"""The media type and the writer of each form."""

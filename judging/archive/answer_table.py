"""The answers of a study as one plain table: a row for each answer, a column for each criterion.

Raters are named by pseudonym. Texts (instructions, responses and the raters' reasons) are left out unless they are asked
for. Values are on each criterion's own scale; a pair's value is positive where the task's response A is better, whatever
was shown first. What an answer changed later has its last value.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from django.db.models import QuerySet

from annotation.models import Assignment, Score, Study, latest_scores, why_not_counted
from annotation.monitoring.lead_names import names_outside
from core.tables.formula_cells import CsvWriter

Cell: TypeAlias = str | float | int | bool | None
CSV, JSONL, PARQUET = "csv", "jsonl", "parquet"
FORMATS = (CSV, JSONL, PARQUET)
BATCH = 1000
"""Answers that are read, and written, at a time."""
FIXED = {
    "study": "string",
    "task": "string",
    "instruction": "string",
    "category": "string",
    "model": "string",
    "model_b": "string",
    "item": "string",
    "item_b": "string",
    "rater": "string",
    "rater_kind": "string",
    "cohort": "string",
    "order": "int64",
    "repeat": "int64",
    "status": "string",
    "not_counted": "string",
    "discredited": "bool",
    "shown_first": "string",
    "submitted_at": "string",
    "active_seconds": "float64",
    "not_applicable": "string",
}
"""The columns of every study and their types, by Arrow's names."""
TEXTS = ("instruction_text", "response_text", "response_b_text")
UNANSWERED = (Assignment.Status.OPEN, Assignment.Status.SKIPPED, Assignment.Status.ABSENT, Assignment.Status.UNSCORED)


def answer_count(study: Study) -> int:
    """Return the number of rows that the table of a study has."""
    return _answers(study).count()


def write_answers(study: Study, path: Path, form: str, *, texts: bool = False) -> Iterator[int]:
    """Write the table to a file, and yield the number of rows written so far after each batch.

    `form` is one of FORMATS. CSV is written in UTF-8 with a byte order mark, by which spreadsheets recognise it.
    """
    columns = columns_of(study, texts=texts)
    rows = answer_rows(study, texts=texts)
    yield from {CSV: _write_csv, JSONL: _write_jsonl, PARQUET: _write_parquet}[form](path, columns, rows)


def columns_of(study: Study, *, texts: bool = False) -> dict[str, str]:
    """Return the columns and their types: what describes an answer, a number for each criterion, and the texts if wanted."""
    columns = dict(FIXED)
    keys = _criterion_keys(study)
    columns |= {_column(key): "float64" for key in keys}
    if texts:
        columns |= {_column(key) + "_reason": "string" for key in keys}
        columns |= dict.fromkeys(TEXTS, "string")
    return columns


def answer_rows(study: Study, *, texts: bool = False) -> Iterator[dict[str, Cell]]:
    """Yield the rows in the order of the answers, each with the columns of `columns_of` that it has a value for."""
    related = ["task__response_a__instruction__category", "task__response_a__model", "task__response_b__model"]
    answers = _answers(study).select_related(*related, "rater__cohort").order_by("pk")
    if not texts:
        left_out = ["task__response_a__text", "task__response_b__text", "task__response_a__instruction__messages"]
        answers = answers.defer(*left_out)
    every, leads = answers.iterator(chunk_size=BATCH), names_outside(study)
    while batch := list(islice(every, BATCH)):
        scores: dict[int, list[Score]] = {}
        for score in Score.objects.filter(assignment__in=batch).select_related("criterion"):
            scores.setdefault(score.assignment_id, []).append(score)
        for answer in batch:
            name = leads.get(answer.rater_id) or answer.rater.name
            yield _row(study, answer, name, scores.get(answer.pk, []), texts=texts)


def _answers(study: Study) -> QuerySet[Assignment]:
    return Assignment.objects.filter(task__study=study).exclude(status__in=UNANSWERED)


def _criterion_keys(study: Study) -> list[str]:
    """The keys of all criteria that the study's tasks ask for, in the order of the rubrics."""
    asked = study.asked_criteria().order_by("rubric", "position", "pk")
    return list(dict.fromkeys(asked.values_list("key", flat=True)))


def _column(key: str) -> str:
    """A criterion's column is its key, unless another column has that name."""
    return f"criterion_{key}" if key in FIXED or key in TEXTS else key


def _row(study: Study, answer: Assignment, name: str, scores: list[Score], *, texts: bool) -> dict[str, Cell]:
    task, rater = answer.task, answer.rater
    response, other = task.response_a, task.response_b
    latest = sorted(latest_scores(scores).values(), key=lambda score: score.criterion.position)
    row: dict[str, Cell] = {
        "study": study.slug,
        "task": task.key,
        "instruction": response.instruction.external_id,
        "category": response.instruction.category.key if response.instruction.category else None,
        "model": response.model.name if response.model else None,
        "model_b": other.model.name if other and other.model else None,
        "item": response.external_id or None,
        "item_b": (other.external_id or None) if other else None,
        "rater": name,
        "rater_kind": rater.kind,
        "cohort": rater.cohort.name if rater.cohort else None,
        "order": answer.order,
        "repeat": answer.repeat,
        "status": answer.status,
        "not_counted": why_not_counted(answer.status, answer.reason) or None,
        "discredited": bool(answer.discredited),
        "shown_first": answer.shown_first or None,
        "submitted_at": answer.submitted_at.isoformat() if answer.submitted_at else None,
        "active_seconds": answer.active_seconds,
        "not_applicable": ", ".join(one.criterion.key for one in latest if one.not_applicable) or None,
    }
    for score in latest:
        row[_column(score.criterion.key)] = score.value
        if texts:
            row[_column(score.criterion.key) + "_reason"] = score.reason or None
    if texts:
        written = (_conversation(response.instruction.messages), response.text, other.text if other else None)
        row |= dict(zip(TEXTS, written, strict=True))
    return row


def _conversation(messages: list[dict[str, object]] | None) -> str | None:
    """The text of an instruction: of a single message its content, of several each after its role."""
    told = [(str(one.get("role", "")), _content(one.get("content"))) for one in messages or []]
    if len(told) < 2:
        return told[0][1] if told else None
    return "\n\n".join(f"{role}: {content}" for role, content in told)


def _content(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


Rows: TypeAlias = Iterable[Mapping[str, Cell]]


def _write_csv(path: Path, columns: Mapping[str, str], rows: Rows) -> Iterator[int]:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = CsvWriter(file)
        writer.writerow(columns)
        for number, row in enumerate(rows, 1):
            writer.writerow(row.get(name) for name in columns)
            if number % BATCH == 0:
                yield number


def _write_jsonl(path: Path, columns: Mapping[str, str], rows: Rows) -> Iterator[int]:
    with path.open("w", encoding="utf-8") as file:
        for number, row in enumerate(rows, 1):
            file.write(json.dumps({name: row.get(name) for name in columns}, ensure_ascii=False) + "\n")
            if number % BATCH == 0:
                yield number


def _write_parquet(path: Path, columns: Mapping[str, str], rows: Rows) -> Iterator[int]:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in columns.items()])
    written, every = 0, iter(rows)
    with ParquetWriter(path, schema) as writer:
        while batch := list(islice(every, BATCH)):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
            written += len(batch)
            yield written

"""What the buttons of the question editor do to the rows that are sent, without saving anything: move, copy, take from a
table."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict

from annotation.models import Criterion, Study
from annotation.rubrics.offered_scales import offer_of
from annotation.rubrics.question_table import QuestionRead, TableRead, read_questions
from annotation.rubrics.scales import number_text
from annotation.rules.subtasks import write_numbers
from annotation.web.rubric.forms import AS_IT_IS, MOST_QUESTIONS, OWN, OWN_OVERALL
from core.messages.localized import localized

LARGEST_TABLE = 1_000_000


def moved(data: QueryDict, place: int, by: int) -> QueryDict:
    """The rows with row `place` (from 0) moved up (-1) or down (1); as they are where there is no such place."""
    rows, other = _rows(data), place + by
    if 0 <= place < len(rows) and 0 <= other < len(rows):
        rows[place], rows[other] = rows[other], rows[place]
    return _with(data, rows)


def without(data: QueryDict, place: int) -> QueryDict:
    """The rows without row `place` (from 0)."""
    return _with(data, [row for number, row in enumerate(_rows(data)) if number != place])


def of_rubric(data: QueryDict, study: Study, criteria: Iterable[Criterion], source: int) -> QueryDict:
    """The questions of another rubric in place of the rows; nothing of theirs is changed."""
    sent = _with(data, [_row_of(study, criterion) for criterion in criteria])
    sent["source"] = str(source)
    return sent


def with_questions(data: QueryDict, questions: Iterable[QuestionRead]) -> QueryDict:
    """The written rows, then the questions of a table."""
    written = [row for row in _rows(data) if row.get("question_en") or row.get("question_zh")]
    return _with(data, [*written, *map(_row_read, questions)])


def questions_of_file(sent: "UploadedFile[Any]", kind: str) -> TableRead:
    """Read an uploaded table of at most 1 MB."""
    suffix = "".join(Path(sent.name or "").suffixes[-1:]).lower() or ".csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"questions{suffix if suffix.isascii() and len(suffix) < 9 else '.csv'}"
        path.write_bytes(sent.read(LARGEST_TABLE))
        return read_questions(path, kind)


def _rows(data: QueryDict) -> list[dict[str, str]]:
    written = str(data.get("rows", ""))
    count = min(MOST_QUESTIONS, int(written)) if written.isdecimal() and written.isascii() else 0
    return [
        {name.removeprefix(f"q{number}-"): str(data[name]) for name in data if name.startswith(f"q{number}-")}
        for number in range(count)
    ]


def _with(data: QueryDict, rows: list[dict[str, str]]) -> QueryDict:
    sent = QueryDict(mutable=True)
    for name in data:
        if not (name[:1] == "q" and "-" in name and name[1 : name.index("-")].isdecimal()):
            sent[name] = str(data[name])
    for number, row in enumerate(rows[:MOST_QUESTIONS]):
        for name, value in row.items():
            sent[f"q{number}-{name}"] = value
    sent["rows"] = str(min(len(rows), MOST_QUESTIONS))
    return sent


def _row_of(study: Study, one: Criterion) -> dict[str, str]:
    row = {
        "origin": one.key,
        "question_en": one.questions.get("en", ""),
        "question_zh": one.questions.get("zh-hans", ""),
        "scale": offer_of(study.kind, one) or AS_IT_IS,
        "numbers": write_numbers((one.subtasks or {}).get("numbers", ())),
        **level_fields(one.levels),
    }
    return row | ({"may_not_apply": "on"} if one.may_not_apply else {})


def _row_read(one: QuestionRead) -> dict[str, str]:
    levels = [
        {"value": level.value, "label": {"en": level.name}, "description": {"en": level.meaning}}
        for level in one.levels
    ]
    return {
        "wanted_key": one.key,
        "question_en": one.question,
        "question_zh": one.question_zh,
        "scale": one.scale or (OWN_OVERALL if one.overall else OWN),
        **level_fields(levels),
    }


def level_fields(levels: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The levels as values of a row's fields."""
    return {
        f"level{place}_{name}": text
        for place, level in enumerate(levels)
        for name, text in (
            ("value", number_text(float(level["value"]))),
            ("name", localized(level.get("label") or {})),
            ("meaning", localized(level.get("description") or {})),
        )
    }

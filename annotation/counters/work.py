"""Reading the counts of a study by rater and by instruction, all of which the database keeps (see RaterWork)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.counters.triggers import IN_USE
from annotation.counters.work_triggers import CHANGES, INSTRUCTIONS, OF_INSTRUCTION, OF_RATER, RATERS
from annotation.models import Study, StudyCounter


@dataclass(frozen=True)
class WorkCounts:
    """`raters` and `categories` are counts by the names of columns, by rater and by the instructions' category."""

    raters: dict[int, dict[str, Any]]
    categories: dict[int | None, dict[str, int]]


def work_of(study: Study) -> WorkCounts | None:
    """Return the counts; three queries. None while nothing is counted."""
    if not StudyCounter.objects.filter(study=IN_USE).exists():
        return None
    changes = connection.vendor == "postgresql"
    raters, categories = _sums(RATERS, "rater", OF_RATER, ", MAX(last)"), _of_categories()
    with connection.cursor() as cursor:
        cursor.execute(raters, [study.pk] * (1 + changes))
        by_rater = {int(key): _of_rater(values) for key, *values in cursor.fetchall()}
        cursor.execute(categories, [study.pk] * (1 + changes))
        by_category = {
            key: dict(zip(OF_INSTRUCTION, map(int, values), strict=True)) for key, *values in cursor.fetchall()
        }
    return WorkCounts(by_rater, by_category)


def _of_rater(values: Sequence[Any]) -> dict[str, Any]:
    *sums, last = values
    row = dict(zip(OF_RATER, sums, strict=True))
    counts: dict[str, Any] = {name: float(value) if name == "seconds" else int(value) for name, value in row.items()}
    return counts | {"last": _as_time(last)}


def _as_time(last: datetime | str | None) -> datetime | None:
    """SQLite has no type for times: its texts are of UTC."""
    found = parse_datetime(last) if isinstance(last, str) else last
    return timezone.make_aware(found, timezone.get_default_timezone()) if found and found.tzinfo is None else found


def _rows(table: str, key: str, columns: Sequence[str]) -> str:
    names = ", ".join((key, *columns))
    own = f"SELECT {names} FROM {table} WHERE study = %s"  # nosec B608 # names of our own
    if connection.vendor != "postgresql":
        return own
    return f"{own} UNION ALL SELECT {names} FROM {CHANGES} WHERE study = %s AND {key} <> 0"  # nosec B608 # names of our own


def _sums(table: str, key: str, columns: Sequence[str], more: str) -> str:
    sums = ", ".join(f"SUM({name})" for name in columns)
    rows = _rows(table, key, (*columns, "last"))
    return f"SELECT {key}, {sums}{more} FROM ({rows}) each_one GROUP BY {key}"  # nosec B608 # names of our own


def _of_categories() -> str:
    sums = ", ".join(f"SUM(c.{name})" for name in OF_INSTRUCTION)
    rows = _rows(INSTRUCTIONS, "instruction", OF_INSTRUCTION)
    return (
        f"SELECT i.category_id, {sums} FROM ({rows}) c JOIN generation_instruction i ON i.id = c.instruction "  # nosec B608 # names of our own
        "GROUP BY i.category_id"
    )

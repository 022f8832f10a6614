"""Reading the counts of a study by rater and by instruction, all of which the database keeps (see RaterWork)."""

from collections.abc import Collection, Sequence
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


MARK = -1
"""The rater of the row that says that the database counts."""


def work_of(study: Study) -> WorkCounts | None:
    """Return the counts; two queries. None while nothing is counted."""
    changes = connection.vendor == "postgresql"
    zeros = ", ".join(["0"] * len(OF_RATER))
    marked = f" UNION ALL SELECT {MARK}, {zeros}, NULL FROM annotation_studycounter WHERE study = {IN_USE}"  # nosec B608 # names of our own
    raters, categories = _sums(RATERS, "rater", OF_RATER, ", MAX(last)", marked), _of_categories()
    with connection.cursor() as cursor:
        cursor.execute(raters, [study.pk] * (1 + changes))
        by_rater = {int(key): _of_rater(values) for key, *values in cursor.fetchall()}
        if by_rater.pop(MARK, None) is None:
            return None
        cursor.execute(categories, [study.pk] * (1 + changes))
        by_category = {
            key: dict(zip(OF_INSTRUCTION, map(int, values), strict=True)) for key, *values in cursor.fetchall()
        }
    return WorkCounts(by_rater, by_category)


@dataclass(frozen=True)
class StudyTotals:
    """The counts of a whole study: tasks (quality checks too), slots, answers by people and by judges, and which
    provenances the raters have who answered."""

    tasks: int = 0
    seats: int = 0
    taken: int = 0
    people: int = 0
    judged: int = 0
    provenance: tuple[str, ...] = ()


def totals_of(studies: Collection[int]) -> dict[int, StudyTotals] | None:
    """Return the totals of the studies that have any; three queries. None while nothing is counted."""
    if not studies:
        return {}
    if not StudyCounter.objects.filter(study=IN_USE).exists():
        return None
    wanted = ", ".join(["%s"] * len(studies))
    changes = connection.vendor == "postgresql"
    sums = ", ".join(f"SUM({name})" for name in OF_INSTRUCTION)
    works = _of_studies(INSTRUCTIONS, "instruction", OF_INSTRUCTION, wanted)
    raters = _of_studies(RATERS, "rater", ("rater", "answered"), wanted)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT study, {sums} FROM ({works}) each_one GROUP BY study", [*studies] * (1 + changes))  # nosec B608 # names of our own
        found = {int(study): [int(value) for value in values] for study, *values in cursor.fetchall()}
        cursor.execute(
            f"SELECT c.study, r.provenance FROM ({raters}) c JOIN annotation_rater r ON r.id = c.rater "  # nosec B608 # names of our own
            "WHERE r.provenance <> '' GROUP BY c.study, r.provenance HAVING SUM(c.answered) > 0 ORDER BY r.provenance",
            [*studies] * (1 + changes),
        )
        provenances: dict[int, list[str]] = {}
        for study, provenance in cursor.fetchall():
            provenances.setdefault(int(study), []).append(provenance)
    none = [0] * len(OF_INSTRUCTION)
    return {
        study: StudyTotals(
            **dict(zip(OF_INSTRUCTION, found.get(study, none), strict=True)),
            provenance=tuple(provenances.get(study, ())),
        )
        for study in found.keys() | provenances.keys()
    }


def instructions_of(study: Study) -> int | None:
    """Return how many instructions the study's tasks have, quality checks included; None while nothing is counted."""
    if not StudyCounter.objects.filter(study=IN_USE).exists():
        return None
    rows = _rows(INSTRUCTIONS, "instruction", ("tasks",))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT COUNT(*) FROM (SELECT instruction FROM ({rows}) e GROUP BY instruction HAVING SUM(tasks) > 0) c",  # nosec B608 # names of our own
            [study.pk] * (1 + (connection.vendor == "postgresql")),
        )
        return int(cursor.fetchone()[0])


def _of_studies(table: str, key: str, columns: Sequence[str], wanted: str) -> str:
    names = ", ".join(("study", *columns))
    own = f"SELECT {names} FROM {table} WHERE study IN ({wanted})"  # nosec B608 # names of our own
    if connection.vendor != "postgresql":
        return own
    return f"{own} UNION ALL SELECT {names} FROM {CHANGES} WHERE study IN ({wanted}) AND {key} <> 0"  # nosec B608 # names of our own


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


def _sums(table: str, key: str, columns: Sequence[str], more: str, beside: str) -> str:
    sums = ", ".join(f"SUM({name})" for name in columns)
    rows = _rows(table, key, (*columns, "last"))
    return f"SELECT {key}, {sums}{more} FROM ({rows}{beside}) each_one GROUP BY {key}"  # nosec B608 # names of our own


def _of_categories() -> str:
    sums = ", ".join(f"SUM(c.{name})" for name in OF_INSTRUCTION)
    rows = _rows(INSTRUCTIONS, "instruction", OF_INSTRUCTION)
    return (
        f"SELECT i.category_id, {sums} FROM ({rows}) c JOIN generation_instruction i ON i.id = c.instruction "  # nosec B608 # names of our own
        "GROUP BY i.category_id"
    )

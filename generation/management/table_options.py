"""Options of the commands that read a table: the columns to use and the benchmark that the rows belong to."""

import re
from collections.abc import Iterable, Sequence

from django.core.management.base import CommandError

from accounts.models import Workspace
from core.db.created_rows import note_created
from core.tables.rows import unread
from generation.models import Benchmark

MOST_NAMED = 5


def named_columns(given: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """Return the column for each name given with --column NAME=COLUMN. Raises CommandError."""
    columns: dict[str, str] = {}
    for text in given:
        name, equals, column = text.partition("=")
        if name not in names or not equals or not column:
            raise CommandError(
                f"--column {text!r} must have the form NAME=COLUMN, where NAME is one of {', '.join(names)}."
            )
        if columns.setdefault(name, column) != column:
            raise CommandError(f"--column names two columns for {name}; name one.")
    return columns


def checked_slug(slug: str) -> str:
    """Return the slug. Raises CommandError if it cannot be part of a URL."""
    if not re.fullmatch(r"[-\w]{1,100}", slug, re.ASCII):
        raise CommandError(f"The slug {slug[:50]!r} must consist of at most 100 letters, digits, - and _.")
    return slug


def benchmark_to_fill(workspace: Workspace, slug: str, *, title: str = "") -> Benchmark:
    """Return the benchmark with this slug; create it under the title if it is new."""
    names = {"en": title} if title else {}
    benchmark, made = Benchmark.objects.get_or_create(workspace=workspace, slug=slug, defaults={"names": names})
    note_created([benchmark] if made else [])
    return benchmark


def unread_columns(met: Iterable[str], read: Iterable[str]) -> str:
    """Return a note on columns of the file that were not read, '' where there are none."""
    columns = unread(met, read)
    if not columns:
        return ""
    return f"Columns that were not read: {', '.join(columns)}. Name those that matter with --column NAME=COLUMN."


def kept_otherwise(names: Iterable[str]) -> str:
    """Return a note on instructions whose text or reference in the file differs from the stored one."""
    listed = sorted(names)
    shown = ", ".join(listed[:MOST_NAMED]) + (", ..." if len(listed) > MOST_NAMED else "")
    return (
        f"The text or reference of {len(listed)} instructions differs from the stored one, which was kept: {shown}. "
        "If these are different instructions, load them into another benchmark."
    )

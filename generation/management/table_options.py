"""What a command that reads a table may be told: which column holds what, and whose benchmark the rows are."""

import re
from collections.abc import Iterable, Sequence

from django.core.management.base import CommandError

from accounts.models import Workspace
from generation.models import Benchmark

MOST_NAMED = 5


def named_columns(given: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """--column NAME=COLUMN, each name once. Raises CommandError."""
    columns: dict[str, str] = {}
    for text in given:
        name, equals, column = text.partition("=")
        if name not in names or not equals or not column:
            raise CommandError(f"--column {text!r} is not NAME=COLUMN with one of the names {', '.join(names)}.")
        if columns.setdefault(name, column) != column:
            raise CommandError(f"--column says twice which column is the {name}; say it once.")
    return columns


def checked_slug(slug: str) -> str:
    """Raises CommandError where it cannot stand in an address."""
    if not re.fullmatch(r"[-\w]{1,100}", slug, re.ASCII):
        raise CommandError(f"The benchmark's name {slug[:50]!r} must be letters, digits, - and _, 100 at most.")
    return slug


def benchmark_to_fill(workspace: Workspace, slug: str, *, title: str = "") -> Benchmark:
    """The benchmark of this slug, made where it is new, under its title."""
    names = {"en": title} if title else {}
    return Benchmark.objects.get_or_create(workspace=workspace, slug=slug, defaults={"names": names})[0]


def kept_otherwise(names: Iterable[str]) -> str:
    """What to say of instructions that the file has with another text or reference than is stored."""
    listed = sorted(names)
    shown = ", ".join(listed[:MOST_NAMED]) + (", ..." if len(listed) > MOST_NAMED else "")
    return (
        f"{len(listed)} instructions are stored with another text or reference, which stays: {shown}. "
        "Load them into another benchmark if these are others."
    )

"""What a table probably holds, from the names of its columns and its first rows; a person confirms it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from annotation.rubrics.scales import number_in
from annotation.uploads.kinds import CRITERION, KINDS, TableKind
from core.messages.message import Message
from core.tables.bad_rows import BadRow
from core.tables.messages import NOT_UTF8, PERHAPS_GBK
from core.tables.reading import read_rows

TOLD_BY = {
    "checklists": (("instruction", "category"),),
    "rubrics": (("question", "criterion"), ("scale", "level_value")),
    "raters": (("email",),),
}
"""Kinds with no column that every table needs: one column of each group tells them from others."""
ROWS_SHOWN = 5
LONGEST_SHOWN = 200


@dataclass(frozen=True)
class FirstRows:
    """The names of a table's columns and the values of its first rows, cut to LONGEST_SHOWN characters."""

    columns: list[str]
    rows: list[list[str]]


def first_rows(path: Path) -> FirstRows:
    """Read the beginning of a table, without its bad rows, which a check names.

    Raises BadRow where the whole file cannot be read, or is written in another encoding.
    """
    met: dict[str, None] = {}
    found = [row.values for row in islice(read_rows(path, on_bad=_pass_over, met=met), ROWS_SHOWN)]
    columns = list(met)
    return FirstRows(columns, [[row.get(name, "")[:LONGEST_SHOWN] for name in columns] for row in found])


def _pass_over(problem: BadRow) -> None:
    """Raise the problem of a row in another encoding: all rows are read otherwise once that is chosen."""
    if isinstance(problem.reason, Message) and problem.reason.code in (NOT_UTF8.code, PERHAPS_GBK.code):
        raise problem


def recognised_kind(first: FirstRows) -> str:
    """Return the kind of table of which most columns are recognised among those whose needed columns are all there."""
    best, most = "", 0
    for kind in KINDS.values():
        columns = recognised_columns(kind, first)
        held = set(columns.values())
        rated = kind.key != "ratings" or bool(held & {"value", CRITERION})
        asked = kind.key != "instructions" or bool(held & {"prompt", "messages", "task"})
        # A table that names raters holds what they answered, not what they should have.
        known = kind.key != "gold" or "rater" not in recognised_columns(KINDS["ratings"], first).values()
        own = all(held & set(some) for some in TOLD_BY.get(kind.key, ()))
        count = len(columns) if rated and asked and known and own and held.issuperset(kind.needed) else 0
        if count > most:
            best, most = kind.key, count
    return best


def recognised_columns(kind: TableKind, first: FirstRows) -> dict[str, str]:
    """Return what each recognised column holds. A column with a field's own name is preferred over a similar one."""
    plain = {column: _plain(column) for column in first.columns}
    found: dict[str, str] = {}
    for exact in (True, False):
        for field in kind.fields:
            names = (_plain(field.name),) if exact else field.names
            if field.name in found.values():
                continue
            free = [
                column for name in names for column in first.columns if plain[column] == name and column not in found
            ]
            if free:
                found[free[0]] = field.name
    if kind.key == "ratings" and "value" not in found.values():
        found |= {column: CRITERION for column in _numeric(first) if column not in found}
    return found


def _numeric(first: FirstRows) -> Sequence[str]:
    """Return the columns whose first values are numbers."""
    values: Mapping[str, list[str]] = {
        column: [row[place] for row in first.rows if row[place]] for place, column in enumerate(first.columns)
    }
    return [column for column, some in values.items() if some and all(number_in(one) is not None for one in some)]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())

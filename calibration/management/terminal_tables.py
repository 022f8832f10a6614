"""Results of commands: JSON, a table as a file, or tables in the terminal, turned or parted where they are wider."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.management.base import OutputWrapper
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as TerminalTable

from calibration.web.blocks import Table
from calibration.web.table_files import as_csv, as_latex, as_markdown

BORDER = 3
"""Characters that each column takes beside its text, and the table once more."""


def print_result(
    out: OutputWrapper,
    options: Mapping[str, Any],
    *,
    told: Callable[[], object],
    opening: str,
    table: Table,
    titled: Sequence[tuple[str, Table]],
    notes: Sequence[str] = (),
) -> None:
    """Print a result in the shape that the options name: `told` as JSON, the `table` as CSV or LaTeX, with the `opening`
    in Markdown, or the opening, the `titled` tables and the notes in the terminal.
    """
    if options["json"]:
        out.write(json.dumps(told(), ensure_ascii=False, indent=2))
    elif options["csv"]:
        out.write(as_csv(table).removeprefix("\ufeff"), ending="")
    elif options["latex"]:
        out.write(as_latex(table), ending="")
    elif options["markdown"]:
        out.write(f"{opening}\n\n{as_markdown(table)}", ending="")
    else:
        paper = io.StringIO()
        console = Console(file=paper, width=None if out.isatty() else 120)
        console.print(opening, markup=False, highlight=False)
        for title, one in titled:
            for part in terminal_tables(one, console.width, title=title):
                console.print(part)
        for note in notes:
            console.print(note, markup=False, highlight=False)
        out.write(paper.getvalue(), ending="")


def terminal_tables(table: Table, width: int, *, title: str = "") -> list[TerminalTable]:
    """Return the table in parts of at most `width` characters, each with the first column: one part where it fits.

    Rows become columns where that needs fewer parts. A single column that is wider than the terminal is left to it.
    """
    columns, places = table.shown_columns, table.shown_places
    lines = [[column.label for column in columns]]
    lines += [[column.shown(row[place]) for place, column in zip(places, columns, strict=True)] for row in table.rows]
    numeric = [column.digits is not None for column in columns]
    turned = [list(line) for line in zip(*lines, strict=True)]
    upright, sideways = _parts(lines, width), _parts(turned, width)
    if len(sideways) < len(upright):
        return [_part(turned, part, [False] + [True] * (len(lines) - 1), title) for part in sideways]
    return [_part(lines, part, numeric, title) for part in upright]


def _parts(lines: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Divide the columns after the first into runs that fit beside it."""
    widths = [max(cell_len(line[place]) for line in lines) + BORDER for place in range(len(lines[0]))]
    parts: list[list[int]] = [[]]
    taken = widths[0] + 1
    for place, needed in enumerate(widths[1:], 1):
        if parts[-1] and taken + needed > width:
            parts.append([])
            taken = widths[0] + 1
        parts[-1].append(place)
        taken += needed
    return parts


def _part(lines: Sequence[Sequence[str]], places: Sequence[int], numeric: Sequence[bool], title: str) -> TerminalTable:
    found = TerminalTable(title=_plain(title) or None)
    for place in (0, *places):
        found.add_column(_plain(lines[0][place]), justify="right" if numeric[place] else "left")
    for line in lines[1:]:
        found.add_row(*(_plain(line[place]) for place in (0, *places)))
    return found


def _plain(text: str) -> str:
    """Text in which brackets are no markup."""
    return text.replace("[", "\\[")

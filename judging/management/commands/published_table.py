"""Print a table of a benchmark's paper beside our recomputation, cell by cell."""

import io
import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from calibration.data.verdicts import JudgesVerdicts
from calibration.management.terminal_tables import terminal_tables
from calibration.web.blocks import Column, Table
from calibration.web.table_files import as_csv, as_latex, as_markdown
from core.errors import UserError
from core.terminal import progress_shown
from judging.published.computed_tables import ComputedTable, compute_table
from judging.published.paper_table import Status
from judging.published.registry import table_numbered, tables_of
from judging.web.leaderboards.paper_layout import (
    cell_list,
    failed_on,
    laid_out,
    latex_of,
    lines_beside,
    list_json,
    scripted_on,
    title_of,
)

WIDTH = 160
"""Characters of a line where the output is not a terminal."""


class Command(BaseCommand):
    help = (
        "Print a table of a benchmark's paper beside our recomputation, each cell equal, misprint, differs or not "
        "computable. Without a number: list the tables with their counts."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("benchmark", help="Slug of the benchmark, such as wildbench.")
        parser.add_argument("number", nargs="*", help="Number of the table in the paper, such as 3 or figure 3.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--csv", action="store_true", help="Print one line a cell.")
        shapes.add_argument("--latex", action="store_true", help="Print a tabular of the booktabs package.")
        shapes.add_argument("--markdown", action="store_true", help="Print a table in Markdown.")

    def handle(self, *args: Any, **options: Any) -> None:
        number = options["number"]
        number = " ".join(number) if isinstance(number, list) else str(number or "")
        try:
            workspace = workspace_for_command(options["workspace"])
            if number:
                found = compute_table(workspace, table_numbered(options["benchmark"], number))
                if found.error:
                    raise CommandError(found.error)
                scripted = scripted_on(workspace, found)
                shown = self._shown(found, failed_on(workspace, found.table), scripted, options)
            else:
                shown = self._listed(options["benchmark"], _all(workspace, options["benchmark"]), options)
        except UserError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(shown, ending="")

    def _shown(
        self, found: ComputedTable, failed: Sequence[JudgesVerdicts], scripted: Sequence[str], options: dict[str, Any]
    ) -> str:
        names = [row.judge.name for row in failed]
        if options["json"]:
            return _dumped(found.as_json(names, scripted))
        if options["csv"]:
            return as_csv(cell_list(found, names, scripted)).removeprefix("\ufeff")
        layout = laid_out(found, names)
        lines = lines_beside(found, layout, names, scripted)
        if options["latex"]:
            return latex_of(layout, lines)
        if options["markdown"]:
            return as_markdown(layout.as_table) + "".join(f"\n{line}\n" for line in lines)
        return self._printed(layout.as_table, lines)

    def _listed(self, benchmark: str, found: list[ComputedTable], options: dict[str, Any]) -> str:
        if options["json"]:
            return _dumped(list_json(benchmark, found))
        counts = [Column(status.value, 0) for status in Status]
        table = Table(
            [Column("table"), Column("title"), Column("cells", 0), *counts],
            [
                [one.table.number, title_of(one.table), len(one.cells), *(one.counts[status] for status in Status)]
                for one in found
            ],
        )
        if options["csv"]:
            return as_csv(table).removeprefix("\ufeff")
        if options["latex"]:
            return as_latex(table)
        errors = [f"Table {one.table.number}: {one.error}" for one in found if one.error]
        if options["markdown"]:
            return as_markdown(table) + "".join(f"\n{line}\n" for line in errors)
        return self._printed(table, errors)

    def _printed(self, table: Table, lines: list[str]) -> str:
        """As a table of the terminal; turned where it has more columns than fit."""
        paper = io.StringIO()
        console = Console(file=paper, width=None if self.stdout.isatty() else WIDTH)
        for part in terminal_tables(table, console.width):
            console.print(part)
        for line in lines:
            console.print(line, markup=False, highlight=False)
        return paper.getvalue()


def _all(workspace: Workspace, benchmark: str) -> list[ComputedTable]:
    tables = tables_of(benchmark)
    found = []
    with progress_shown("Tables", len(tables)) as done:
        for table in tables:
            found.append(compute_table(workspace, table))
            done(1)
    return found


def _dumped(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False) + "\n"

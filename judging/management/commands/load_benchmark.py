"""Load a benchmark from its own files."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.members.workspaces import workspace_for_command
from core.errors import UserError
from core.tables.bad_rows import BadRow
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_shown
from generation.library.loading import Counts
from judging.importing.benchmarks import Loaded, chosen_parts, load_files
from judging.importing.registry import BENCHMARKS, registered

LISTED = 20
"""How many names of one kind the terminal shows; --json has all."""


class Command(BaseCommand):
    help = (
        "Load a benchmark's own files: instructions, rubrics, responses, published answers and weights. Loading them "
        "again changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", choices=sorted(BENCHMARKS), metavar="NAME", help=", ".join(sorted(BENCHMARKS)))
        self.add_files(parser)

    def add_files(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("path", type=Path, metavar="PATH", help="The folder with the files, such as a clone of the repository.")
        add("--tasks", type=Path, help="The file of tasks, where the benchmark publishes it apart from the results.")
        add("--experiment", default="all", metavar="NAME", help="Load only this experiment; all is the default.")
        add("--workspace", default="", metavar="SLUG")
        add(
            "--on-error",
            choices=["refuse", "skip"],
            default="refuse",
            help="refuse stops at the first bad row; skip leaves out bad rows and unreadable files and writes a report.",
        )
        add("--json", action="store_true", help="Print the result as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        skipped = SkippedRows() if options["on_error"] == "skip" else None
        try:
            benchmark = registered(options["benchmark"])
            workspace = workspace_for_command(options["workspace"])
            files = benchmark.files(options["path"], options["tasks"])
            parts = chosen_parts(files, "" if options["experiment"] == "all" else options["experiment"])
            total = sum(part.size for part in parts)
            with progress_shown(f"Loading {benchmark.title}", total, of_bytes=True) as progress:
                loaded = load_files(
                    workspace=workspace,
                    registered=benchmark,
                    files=files,
                    parts=parts,
                    source=options["path"],
                    skipped=skipped,
                    on_part=lambda part: progress(part.size),
                )
        except BadRow as error:
            raise CommandError(
                f"{error} Nothing of these files was loaded; --on-error skip loads what can be read."
            ) from error
        except UserError as error:
            raise CommandError(str(error)) from error
        if skipped:
            loaded.add("lines", Counts(skipped=len(skipped)))
        report = skipped.write(settings.DATA_DIR / "reports", benchmark.slug, timezone.now()) if skipped else None
        if options["json"]:
            self.stdout.write(json.dumps({**loaded.as_json(), "report": str(report) if report else None}))
        else:
            self._print(loaded, report)

    def _print(self, loaded: Loaded, report: Path | None) -> None:
        for kind, count in loaded.counts.items():
            if count != Counts():
                self.stdout.write(f"{kind}: {count}.")
        if not loaded.changed:
            self.stdout.write("Nothing has changed.")
        if loaded.absent:
            self.stdout.write("Absent, empty or not understood: " + _some(loaded.absent) + ".")
        if loaded.unknown:
            found = [f"{name} ({count:,} rows)" for name, count in loaded.unknown.items()]
            self.stdout.write("Fields that are not read: " + _some(found) + ".")
        if loaded.differing:
            self.stdout.write(
                "Stored with another text or reference, which stays: " + _some(loaded.differing) + ". The files are of "
                "another revision than what was loaded before."
            )
        if report:
            self.stdout.write(f"The skipped lines are listed in {report}.")


def _some(names: list[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more:,} more" if more > 0 else "")

"""Load a clone of HelloBench's repository."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.members.workspaces import workspace_for_command
from core.errors import UserError
from core.tables.bad_rows import OnBadRow, refuse
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_shown
from generation.importers.hellobench import EXPERIMENTS, Clone
from generation.library.loading import Counts
from generation.llm.protocol.wrapping import LENGTHS
from judging.importing.hellobench import CloneLoaded, files_of, load_clone


class Command(BaseCommand):
    help = (
        "Load a clone of HelloBench's repository: instructions, checklists, responses, GPT-4o's verdicts and the "
        "published weights. Loading it again changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("clone", type=Path)
        parser.add_argument(
            "--experiment",
            choices=["all", "length", *EXPERIMENTS],
            default="all",
            help="One experiment, or length for the four that request a length.",
        )
        parser.add_argument("--workspace", default="", metavar="SLUG")
        parser.add_argument(
            "--on-error",
            choices=["refuse", "skip"],
            default="refuse",
            help="skip omits invalid lines and writes a report about them.",
        )
        parser.add_argument("--json", action="store_true", help="Print the result as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        skipped = SkippedRows()
        on_bad: OnBadRow = skipped if options["on_error"] == "skip" else refuse
        groups = {"all": EXPERIMENTS, "length": tuple(LENGTHS)}
        chosen = groups.get(options["experiment"], (options["experiment"],))
        try:
            workspace = workspace_for_command(options["workspace"])
            clone = Clone(options["clone"])
            files = files_of(clone, chosen)
            with progress_shown("Loading HelloBench", sum(file.size for file in files)) as progress:
                loaded = load_clone(workspace=workspace, clone=clone, files=files, on_bad=on_bad, progress=progress)
        except UserError as error:
            raise CommandError(str(error)) from error
        if skipped:
            loaded.add("lines", Counts(skipped=len(skipped)))
        report = skipped.write(settings.DATA_DIR / "reports", "hellobench", timezone.now())
        self._print(loaded, report, options["json"])

    def _print(self, loaded: CloneLoaded, report: Path | None, as_json: bool) -> None:
        if as_json:
            names = Counts.__dataclass_fields__
            counts = {kind: {name: getattr(one, name) for name in names} for kind, one in loaded.counts.items()}
            result = {**counts, "absent": loaded.absent, "report": str(report) if report else None}
            self.stdout.write(json.dumps(result))
            return
        for kind, count in loaded.counts.items():
            self.stdout.write(f"{kind}: {count}.")
        if not any(one.changed for one in loaded.counts.values()):
            self.stdout.write("Nothing has changed.")
        if loaded.absent:
            self.stdout.write("Not in this clone, or empty: " + ", ".join(loaded.absent) + ".")
        if report:
            self.stdout.write(f"The skipped lines are listed in {report}.")

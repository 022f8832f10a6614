"""Load a benchmark's instructions: finished prompts, conversations, or tasks with their data and requirements."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from accounts.members.workspaces import workspace_for_load
from accounts.models import Event
from annotation.importing.instruction_rubrics import InstructionRubrics
from annotation.rubrics.scales import parse_scale
from core.errors import UserError
from core.tables.bad_rows import OnBadRow, Place, refuse
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_shown
from generation.importers.instructions import COLUMNS, InstructionLayout, language_code, read_instructions
from generation.importers.records import InstructionRecord
from generation.library.imports import recorded
from generation.library.loading import Counts, Instructions, batches
from generation.management.table_options import (
    benchmark_to_fill,
    checked_slug,
    kept_otherwise,
    named_columns,
    unread_columns,
)

LONGEST_TITLE = 200


class Command(BaseCommand):
    help = "Load a table of instructions into a benchmark: CSV, TSV, JSON, JSON Lines (also .gz), Parquet or .xlsx."
    stealth_options = ("by", "skipped")
    """Who loads the file, and the collector of bad rows, where a page asked for it."""

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("file", type=Path)
        add("--benchmark", required=True, metavar="SLUG", help="Benchmark of the instructions; created if it is new.")
        add("--title", default="", help="Name of a new benchmark on pages.")
        add(
            "--column",
            action="append",
            default=[],
            metavar="NAME=COLUMN",
            help=f"Column of the file for NAME, which is one of {', '.join(COLUMNS)}. The instruction is in prompt, in "
            "messages (a chat as JSON), or in task, data and requirements, which are joined into one prompt. checklist "
            "holds an instruction's own questions, as a JSON list or one a line; rubric the key of a rubric.",
        )
        add(
            "--rubric",
            default="",
            metavar="KEY",
            help="Rubric whose criteria each instruction that names none gets as its own.",
        )
        add(
            "--overall",
            default="",
            metavar="SCALE",
            help="Give each instruction's own rubric an overall score on this scale, such as 1:10.",
        )
        add("--language", default="", help="Language of instructions that name none, such as en or zh-hans.")
        add(
            "--on-error",
            choices=["refuse", "skip"],
            default="refuse",
            help="refuse stops at the first bad row; skip leaves bad rows out and writes a report.",
        )
        add("--workspace", default="", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        skipped = SkippedRows() if options.get("skipped") is None else options["skipped"]
        on_bad: OnBadRow = skipped if options["on_error"] == "skip" else refuse
        file: Path = options["file"]
        layout = InstructionLayout(
            named_columns(options["column"], COLUMNS),
            language=_language(options),
            rubric=options["rubric"],
            overall=_overall(options),
        )
        slug = checked_slug(options["benchmark"])
        if len(options["title"]) > LONGEST_TITLE:
            raise CommandError(f"--title is too long; keep it to {LONGEST_TITLE} characters.")
        try:
            with (
                recorded("load_instructions", file, options.get("by")) as recording,
                progress_shown(f"Reading {file.name}") as progress,
                transaction.atomic(),
            ):
                workspace = workspace_for_load(options["workspace"])
                loader = Instructions(benchmark_to_fill(workspace, slug, title=options["title"]), compare=True)
                own = InstructionRubrics(loader.benchmark)
                counts = rubrics = Counts()
                met: dict[str, None] = {}
                records = _counted(read_instructions(file, layout, on_bad, met=met), progress)
                for batch in batches(records):
                    counts += loader.load(batch)
                    rubrics += own.load(batch, on_bad)
                if skipped and not (counts.created or counts.completed or counts.already_there):
                    raise CommandError(f"No row can be loaded. The first problem: {skipped.problems[0]}")
                recording.store(workspace, slug, counts + rubrics)
                if counts.changed or rubrics.changed:
                    Event.objects.create(
                        workspace=workspace,
                        verb="loaded instructions",
                        object_type="generation.Benchmark",
                        object_id=str(loader.benchmark.pk),
                        after={"file": file.name, "created": counts.created, "completed": counts.completed},
                    )
        except UserError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Benchmark {slug}: {counts + Counts(skipped=len(skipped))} (instructions).")
        if rubrics != Counts():
            self.stdout.write(f"Rubrics of single instructions: {rubrics}.")
        if note := unread_columns(met, map(layout.column_of, COLUMNS)):
            self.stdout.write(note)
        if loader.differing:
            self.stderr.write(kept_otherwise(loader.differing))
        report = None
        if options.get("skipped") is None:
            report = skipped.write(settings.DATA_DIR / "reports", slug, timezone.now())
        if report:
            self.stdout.write(f"The skipped rows are listed in {report}.")


def _language(options: dict[str, Any]) -> str:
    try:
        return language_code(Place("--language", 0), options["language"])
    except UserError as error:
        raise CommandError(str(error)) from error


def _overall(options: dict[str, Any]) -> str:
    """The scale as given, once it has been read. Raises CommandError."""
    try:
        if options["overall"]:
            parse_scale(options["overall"])
    except UserError as error:
        raise CommandError(str(error)) from error
    return str(options["overall"])


def _counted(records: Iterator[InstructionRecord], progress: Callable[[int], None]) -> Iterator[InstructionRecord]:
    for record in records:
        progress(1)
        yield record

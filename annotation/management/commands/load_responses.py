"""Load responses that were generated elsewhere, and the instructions that the benchmark lacks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from accounts.members.workspaces import workspace_for_load
from accounts.models import Event
from annotation.masking.scan import excerpts_of
from core.db.created_rows import note_created
from core.errors import UserError
from core.tables.bad_rows import OnBadRow, refuse
from core.tables.reading import read_rows
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_shown
from generation.importers.records import ResponseRecord
from generation.importers.responses import COLUMNS, read_responses, response_layout
from generation.library.imports import recorded
from generation.library.loading import Counts, Instructions, Responses
from generation.management.table_options import (
    benchmark_to_fill,
    checked_slug,
    kept_otherwise,
    named_columns,
    unread_columns,
)
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun

LONGEST = {"run": 100, "experiment": 50, "model": 200}


class Command(BaseCommand):
    help = "Load a table of responses generated elsewhere: CSV, TSV, JSON, JSON Lines (also .gz), Parquet or .xlsx."
    stealth_options = ("by", "skipped")
    """Who loads the file, and the collector of bad rows, where a page asked for it."""

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("file", type=Path)
        add(
            "--benchmark",
            required=True,
            metavar="SLUG",
            help="The benchmark of the responses; it is created if it does not exist.",
        )
        add("--model", default="", help="The model that wrote all responses, if no column names it.")
        add(
            "--run",
            default="",
            metavar="NAME",
            help="The run to load into; the default is the benchmark's run of imports.",
        )
        add("--experiment", default=MAIN_EXPERIMENT, help="The experiment: main, or another such as length-4k.")
        add(
            "--column",
            action="append",
            default=[],
            metavar="NAME=COLUMN",
            help=f"The column of the file that holds a value; the names are {', '.join(COLUMNS)}. Columns of an "
            "instruction are used if the benchmark lacks it; sample numbers a model's responses to it from 0.",
        )
        add(
            "--on-error",
            choices=["refuse", "skip"],
            default="refuse",
            help="skip leaves out bad rows and reports them.",
        )
        add("--workspace", default="", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        skipped = SkippedRows() if options.get("skipped") is None else options["skipped"]
        on_bad: OnBadRow = skipped if options["on_error"] == "skip" else refuse
        columns = named_columns(options["column"], COLUMNS)
        slug = checked_slug(options["benchmark"])
        for name, most in LONGEST.items():
            if len(options[name]) > most:
                raise CommandError(f"--{name} is too long; keep it to {most} characters.")
        if "model" not in columns and not options["model"] and not _has_model(options["file"]):
            raise CommandError(
                "Name the model that wrote the responses with --model NAME, or its column with --column model=COLUMN."
            )
        try:
            with (
                recorded("load_responses", options["file"], options.get("by")) as recording,
                progress_shown(f"Reading {options['file'].name}") as progress,
                transaction.atomic(),
            ):
                workspace = workspace_for_load(options["workspace"])
                benchmark = benchmark_to_fill(workspace, slug)
                run = _run(benchmark, options["run"], options["experiment"])
                loader = Responses(Instructions(benchmark, compare=True), run)
                met: dict[str, None] = {}
                records = read_responses(options["file"], columns, on_bad, model=options["model"], met=met)
                counts = loader.load(_counted(records, progress)) + Counts(skipped=len(skipped))
                if skipped and counts == Counts(skipped=len(skipped)):
                    raise CommandError(f"No row can be loaded. The first problem: {skipped.problems[0]}")
                recording.store(workspace, benchmark.slug, counts)
                if counts.created:
                    Event.objects.create(
                        workspace=workspace,
                        verb="loaded responses",
                        object_type="generation.GenerationRun",
                        object_id=run.public_id,
                        after={"file": options["file"].name, "created": counts.created},
                    )
        except UserError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Run {run.name} of {benchmark.slug}: {counts} (responses).")
        layout = response_layout(columns, model=options["model"])
        if note := unread_columns(met, map(layout.column_of, COLUMNS)):
            self.stdout.write(note)
        if loader.instructions.differing:
            self.stderr.write(kept_otherwise(loader.instructions.differing))
        self._tell_self_naming(loader.created)
        report = None
        if options.get("skipped") is None:
            report = skipped.write(settings.DATA_DIR / "reports", benchmark.slug, timezone.now())
        if report:
            self.stdout.write(f"The skipped rows are listed in {report}.")

    def _tell_self_naming(self, created: list[int]) -> None:
        """Report self-revealing responses. Called after the load is stored because it reads every text again."""
        found = excerpts_of(created)
        if found:
            self.stderr.write(
                f"Responses that say which model wrote them: {len(found)}, such as {found[0]!r}. A new study "
                "of them asks at its launch how to handle the words. For a study that is open, run "
                f"{settings.PROGRAM} scan_self_naming STUDY --mask"
            )


def _counted(records: Iterator[ResponseRecord], progress: Callable[[int], None]) -> Iterator[ResponseRecord]:
    for record in records:
        progress(1)
        yield record


def _has_model(file: Path) -> bool:
    try:
        return "model" in next(iter(read_rows(file, ()))).values
    except UserError as error:
        raise CommandError(str(error)) from error


def _run(benchmark: Benchmark, name: str, experiment: str) -> GenerationRun:
    name = name or f"{benchmark.slug} {experiment.replace('_', ' ')}"
    run, made = GenerationRun.objects.get_or_create(
        benchmark=benchmark,
        name=name[:100],
        defaults={"experiment": experiment, "status": GenerationRun.Status.IMPORTED},
    )
    note_created([run] if made else [])
    if run.status != GenerationRun.Status.IMPORTED or run.experiment != experiment:
        raise CommandError(
            f"Run {name!r} of {benchmark.slug} was generated here or belongs to experiment {run.experiment}; "
            "name another with --run."
        )
    return run

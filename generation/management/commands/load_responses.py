"""Load responses that were generated elsewhere, with their instructions where the benchmark lacks them."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from accounts.models import Event
from accounts.workspaces import UnknownWorkspace, workspace_for_load
from generation.interchange.records import BadRow, InstructionRecord, OnBadRow, ResponseRecord, refuse
from generation.interchange.table import Row, read_rows
from generation.loading import Counts, Instructions, Responses
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun
from generation.progress import progress_shown
from generation.skipped_rows import SkippedRows

COLUMNS = ("instruction", "model", "response", "prompt", "category", "words_asked")
NEEDED = ("instruction", "response")
LONGEST_NAME = 200


class Command(BaseCommand):
    help = (
        "Load a CSV, TSV, JSON Lines (also .gz) or Parquet table of responses that were generated elsewhere."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("file", type=Path)
        add("--benchmark", required=True, metavar="SLUG", help="The benchmark they answer; made where new.")
        add("--model", default="", help="Who wrote them all, where no column says.")
        add(
            "--run",
            default="",
            metavar="NAME",
            help="The run to load them into; several samples are several runs.",
        )
        add("--experiment", default=MAIN_EXPERIMENT, help="main, or another such as length-4k.")
        add("--column", action="append", default=[], metavar="NAME=COLUMN",
            help=f"Which column of the file holds what; the names are {', '.join(COLUMNS)}.")  # fmt: skip
        add("--on-error", choices=["refuse", "skip"], default="refuse",
            help="skip leaves bad rows out and writes a report of them.")  # fmt: skip
        add("--workspace", default="", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        skipped = SkippedRows()
        on_bad: OnBadRow = skipped if options["on_error"] == "skip" else refuse
        columns = _columns(options["column"])
        _check_names(options)
        if "model" not in columns and not options["model"] and not _has_model(options["file"]):
            raise CommandError(
                "Say who wrote the responses: --model NAME, or the column with --column model=COLUMN."
            )
        if options["model"]:
            columns.pop("model", None)
        try:
            with progress_shown(f"Reading {options['file'].name}") as progress, transaction.atomic():
                workspace = workspace_for_load(options["workspace"])
                benchmark, _made = Benchmark.objects.get_or_create(
                    workspace=workspace, slug=options["benchmark"]
                )
                run = _run(benchmark, options["run"], options["experiment"])
                loader = Responses(Instructions(benchmark), run)
                records = _records(options["file"], columns, options["model"], on_bad)
                counts = loader.load(_counted(records, progress)) + Counts(skipped=len(skipped))
                if counts.created:
                    Event.objects.create(
                        workspace=workspace, verb="loaded responses", object_type="generation.GenerationRun",
                        object_id=run.public_id, after={"file": options["file"].name, "created": counts.created},
                    )  # fmt: skip
        except (BadRow, UnknownWorkspace) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Run {run.name} of {benchmark.slug}: {counts} (responses).")
        report = skipped.write(settings.DATA_DIR / "reports", benchmark.slug, timezone.now())
        if report:
            self.stdout.write(f"The skipped rows are listed in {report}.")


def _counted(records: Iterator[ResponseRecord], progress: Callable[[int], None]) -> Iterator[ResponseRecord]:
    for record in records:
        progress(1)
        yield record


def _check_names(options: dict[str, Any]) -> None:
    if not re.fullmatch(r"[-\w]{1,100}", options["benchmark"], re.ASCII):
        raise CommandError(
            f"The benchmark's name {options['benchmark'][:50]!r} must be letters, digits, - and _, 100 at most."
        )
    for name, most in (("run", 100), ("experiment", 50), ("model", 200)):
        if len(options[name]) > most:
            raise CommandError(f"--{name} is too long; keep it to {most} characters.")


def _columns(given: list[str]) -> dict[str, str]:
    """Which column holds what; unnamed ones go by their own names."""
    columns = {name: name for name in NEEDED}
    for text in given:
        name, equals, column = text.partition("=")
        if name not in COLUMNS or not equals or not column:
            raise CommandError(
                f"--column {text!r} is not NAME=COLUMN with one of the names {', '.join(COLUMNS)}."
            )
        columns[name] = column
    return columns


def _has_model(file: Path) -> bool:
    try:
        return "model" in next(iter(read_rows(file, ()))).values
    except BadRow as error:
        raise CommandError(str(error)) from error


def _run(benchmark: Benchmark, name: str, experiment: str) -> GenerationRun:
    name = name or f"{benchmark.slug} {experiment.replace('_', ' ')}"
    run, _made = GenerationRun.objects.get_or_create(
        benchmark=benchmark,
        name=name[:100],
        defaults={"experiment": experiment, "status": GenerationRun.Status.IMPORTED},
    )
    if run.status != GenerationRun.Status.IMPORTED or run.experiment != experiment:
        raise CommandError(
            f"Run {name!r} of {benchmark.slug} was generated here or belongs to experiment {run.experiment}; "
            "name another with --run."
        )
    return run


def _records(file: Path, columns: dict[str, str], model: str, on_bad: OnBadRow) -> Iterator[ResponseRecord]:
    """The rows as records; one instruction answered twice by a model is a bad row."""
    seen: set[tuple[str, str]] = set()
    for row in read_rows(file, list(columns.values()), on_bad):
        try:
            record = _record(row, columns, model)
            key = record.instruction.external_id, record.model
            if key in seen:
                raise row.place.bad(
                    f"{record.model} has answered {record.instruction.external_id!r} in an earlier row",
                    "keep one of them, or load further samples with another --run",
                )
            seen.add(key)
        except BadRow as problem:
            on_bad(problem)
            continue
        yield record


def _record(row: Row, columns: dict[str, str], model: str) -> ResponseRecord:
    def value(name: str) -> str:
        return row.values.get(columns.get(name, name), "")

    writer = model or value("model").strip()
    instruction = value("instruction").strip()
    for what, name in (("instruction", instruction), ("model", writer)):
        if not name:
            raise row.place.bad(f"it names no {what}", "fill that column in")
        if len(name) > LONGEST_NAME:
            raise row.place.bad(f"the {what}'s name is too long", f"keep names to {LONGEST_NAME} characters")
    asked = value("words_asked").strip()
    if asked and not asked.isdigit():
        raise row.place.bad(f"{asked!r} is no number of words", "write a whole number or leave it empty")
    record = InstructionRecord(
        row.place,
        instruction,
        value("prompt") or None,
        value("category"),
        words_asked=int(asked) if asked else None,
    )
    return ResponseRecord(row.place, record, writer, value("response"))

"""Load the checks of a benchmark's instructions, which people or a judge answer part by part."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.members.workspaces import workspace_for_command
from annotation.importing.instruction_checks import load_checks
from core.errors import UserError
from generation.library.imports import recorded
from generation.models import Benchmark


class Command(BaseCommand):
    help = "Load the checks of a benchmark's instructions: yes-or-no questions about the parts of long responses."
    stealth_options = ("by",)
    """Who loads the file, where a page asked for it."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", metavar="BENCHMARK", help="the benchmark's slug")
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help="a table with one row per check: instruction, question, and optionally question_zh, numbers (19, 23-25 or "
            "13-52/5; empty for the whole text), mark (Week), kind (single, range, periodic), asked (number of parts)",
        )
        parser.add_argument("--workspace", default="", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            benchmark = Benchmark.objects.get(workspace=workspace, slug=options["benchmark"])
            with recorded("load_checks", options["file"], options.get("by")) as recording, transaction.atomic():
                counts = load_checks(benchmark, options["file"])
                recording.store(workspace, benchmark.slug, counts)
        except UserError as problem:
            raise CommandError(str(problem)) from problem
        except Benchmark.DoesNotExist as problem:
            raise CommandError(
                f"Workspace {workspace.slug} has no benchmark {options['benchmark']!r}; the library lists them."
            ) from problem
        self.stdout.write(f"Rubrics of checks, one per instruction: {counts}.")

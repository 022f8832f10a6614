"""Make a benchmark of long texts with instructions to check, in the manner of LongGenBench, from lists of our own."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.members.workspaces import workspace_for_command
from annotation.importing.long_tasks import LongTasksRequest, make_long_tasks
from core.errors import UserError
from generation.importers.longgenbench import VERSIONS
from generation.library.imports import recorded
from generation.task_making.longgenbench import read_scenarios

LISTS = settings.BASE_DIR / "fixtures" / "long_tasks" / "scenarios.json"


class Command(BaseCommand):
    help = "Make a benchmark of long texts: four scenarios, short and long, with the instructions to check in them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--benchmark", default="longgenbench-own", help="Slug of the benchmark (default: longgenbench-own).")
        add("--workspace", default="", help="Slug of the workspace, if there are several.")
        add("--each", type=int, default=100, help="Number of tasks per scenario and version (default: 100).")
        add("--length", choices=VERSIONS, action="append", default=[], help="Only this version; can be repeated.")
        add("--scenario", action="append", default=[], help="Only this scenario; can be repeated.")
        add("--seed", type=int, default=0, help="The same seed gives the same tasks.")
        add("--lists", type=Path, default=LISTS, help="A JSON file of scenarios in place of the program's own.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            scenarios = read_scenarios(_json(options["lists"]))
            request = LongTasksRequest(
                workspace,
                options["benchmark"],
                scenarios,
                versions=options["length"] or VERSIONS,
                chosen=options["scenario"] or tuple(scenarios),
                each=options["each"],
                seed=options["seed"],
            )
            with recorded("make_longgenbench", options["lists"]) as recording, transaction.atomic():
                made = make_long_tasks(request)
                recording.store(workspace, made.benchmark.slug, made.instructions)
        except UserError as problem:
            raise CommandError(str(problem)) from problem
        self.stdout.write(
            f"Benchmark {made.benchmark.slug}: instructions: {made.instructions}; rubrics of checks: {made.checks}."
        )


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read as JSON ({error}); give a file of scenarios.") from error

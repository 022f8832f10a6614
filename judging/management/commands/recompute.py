"""Recompute every stored number of an export from the export alone and compare to the last digit."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.errors import UserError
from judging.archive.recompute import Recomputation, recompute


class Command(BaseCommand):
    help = (
        "Rebuild every report and fit of an exported study from the file alone and compare them with the stored ones."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("export", type=Path, metavar="EXPORT", help="A file made by `export`.")
        parser.add_argument("--json", action="store_true", help="Print the result as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = recompute(options["export"], self._say)
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps({**asdict(found), "same": found.same}))
        else:
            self._print(found)
        if not found.same:
            raise CommandError("Some numbers differ; they are listed above.")

    def _say(self, done: int, total: int, what: str) -> None:
        if what:
            self.stderr.write(f"{done + 1} of {total}: {what}")

    def _print(self, found: Recomputation) -> None:
        for one in found.results:
            said = "the same" if one.same else "DIFFERENT"
            self.stdout.write(f"{one.kind} ({one.name}): {one.values} values, {said}")
            for difference in one.differences:
                self.stdout.write(f"  {difference}")
        if dict(found.versions_then) != dict(found.versions_now):
            self.stdout.write(
                f"Originally computed with {dict(found.versions_then)}, now with {dict(found.versions_now)}."
            )
        values = sum(one.values for one in found.results)
        verdict = "all the same to the last digit" if found.same else "not all the same"
        self.stdout.write(f"{found.study}: {len(found.results)} results, {values} values, {verdict}.")

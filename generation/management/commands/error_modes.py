"""Count in how many responses of each model a sentence is repeated, the task refused, nothing meant, or a length missed."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from core.errors import UserError
from generation.library.error_modes import base_of, error_modes, installed_rules, rules_file
from generation.library.error_phrases import rules_of
from generation.models import MAIN_EXPERIMENT, Benchmark
from generation.text_metrics.error_modes import MODES, RULES, as_plain


class Command(BaseCommand):
    help = (
        "Print for each model the share of responses with each error mode. A lead edits the phrases of a workspace on its "
        "page; --write-rules writes the limits and the phrases of all other workspaces into the installation's data folder."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("benchmark", nargs="?", help="Slug of the benchmark.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument("--experiment", default=MAIN_EXPERIMENT, help="main, or another such as length-16k.")
        parser.add_argument("--each", type=int, help="Maximum number of responses to read per model (default: all).")
        parser.add_argument("--seed", type=int, default=0, help="Seed of the sample of responses that --each draws.")
        parser.add_argument("--passages", type=int, default=0, help="Number of passages to print per model and mode.")
        parser.add_argument("--rules", type=Path, help="Use the rules of this file instead of the workspace's.")
        parser.add_argument(
            "--write-rules", action="store_true", help="Write the usual rules where they can be edited."
        )
        parser.add_argument("--json", action="store_true", help="Print counts and all passages as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["write_rules"]:
                self._write_rules()
            else:
                self._print(options)
        except UserError as error:
            raise CommandError(str(error)) from error

    def _write_rules(self) -> None:
        file = rules_file()
        if file.exists():
            raise CommandError(f"{file} is already there; edit it, or remove it first.")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(as_plain(RULES), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        self.stdout.write(
            f"The rules are in {file}; pages and commands read them from there, except phrases that a workspace has "
            "of its own."
        )

    def _print(self, options: dict[str, Any]) -> None:
        workspace = workspace_for_command(options["workspace"])
        benchmark = Benchmark.objects.filter(workspace=workspace, slug=options["benchmark"]).first()
        if benchmark is None:
            known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
            raise CommandError(f"There is no benchmark {options['benchmark']!r}; there are: {known or 'none'}.")
        for name in ("each", "passages"):
            if options[name] is not None and options[name] < (name == "each"):
                raise CommandError(f"--{name} {options[name]} is too small.")
        rules = installed_rules(options["rules"]) if options["rules"] else rules_of(workspace)
        given = {name: options[name] for name in ("experiment", "each", "seed")}
        rows = error_modes(benchmark, rules=rules, **given)
        if not rows:
            raise CommandError(
                f"Benchmark {benchmark.slug} has no response with a text in experiment {options['experiment']}; "
                "load or generate some."
            )
        if options["json"]:
            self.stdout.write(json.dumps([asdict(row) for row in rows], ensure_ascii=False))
            return
        width = max(len(row.model) for row in rows)
        self.stdout.write("  ".join([f"{'model':{width}}", f"{'n':>6}", *(f"{mode:>12}" for mode in MODES), "off by"]))
        for row in rows:
            shares = [row.counts[mode] / base_of(row, mode) if base_of(row, mode) else None for mode in MODES]
            cells = [f"{'-' if share is None else f'{100 * share:.1f} %':>12}" for share in shares]
            off = "-" if row.length_error is None else f"{row.length_error:.1f} words"
            self.stdout.write("  ".join([f"{row.model:{width}}", f"{row.read:>6}", *cells, off]))
            for mode in MODES:
                for passage in [one for one in row.passages if one.mode == mode][: options["passages"]]:
                    self.stdout.write(f"    {mode}, {passage.instruction}: {passage.passage}")

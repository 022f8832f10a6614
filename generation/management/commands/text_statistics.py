"""Print text statistics of a benchmark's responses for each model."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from core.errors import UserError
from generation.library.text_statistics import Mean, as_plain, experiments_with_texts, text_statistics
from generation.models import MAIN_EXPERIMENT, Benchmark

COLUMNS = ("words", "length_error", "repetition", "distinct", "bleu", "rouge_l", "meteor")


class Command(BaseCommand):
    help = "Print words, length error, repetition-4, distinct-4, BLEU, ROUGE-L and METEOR for each model."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("benchmark", help="Slug of the benchmark.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument(
            "--experiment",
            default=MAIN_EXPERIMENT,
            help="main, or another experiment that has responses, such as length-4k.",
        )
        parser.add_argument("--each", type=int, help="Maximum number of responses to read per model (default: all).")
        parser.add_argument("--seed", type=int, default=0, help="Seed of the sample of responses that --each draws.")
        parser.add_argument("--json", action="store_true", help="Print all figures with their intervals as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
        except UserError as error:
            raise CommandError(str(error)) from error
        benchmark = Benchmark.objects.filter(workspace=workspace, slug=options["benchmark"]).first()
        if benchmark is None:
            known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
            raise CommandError(f"There is no benchmark {options['benchmark']!r}; there are: {known or 'none'}.")
        if options["each"] is not None and options["each"] < 1:
            raise CommandError(f"--each {options['each']} is too small; give at least 1.")
        rows = text_statistics(benchmark, experiment=options["experiment"], each=options["each"], seed=options["seed"])
        if not rows:
            others = [one for one in experiments_with_texts(benchmark) if one != options["experiment"]]
            instead = f", or name another with --experiment: {', '.join(others)}" if others else ""
            raise CommandError(
                f"Benchmark {benchmark.slug} has no response with a text in experiment {options['experiment']}; "
                f"load or generate some{instead}."
            )
        if options["json"]:
            self.stdout.write(json.dumps(as_plain(rows)))
            return
        width = max(len(row.model) for row in rows)
        self.stdout.write("  ".join([f"{'model':{width}}", f"{'n':>6}", *(f"{name:>12}" for name in COLUMNS)]))
        for row in rows:
            cells = [f"{_shown(getattr(row, name)):>12}" for name in COLUMNS]
            self.stdout.write("  ".join([f"{row.model:{width}}", f"{row.responses:>6}", *cells]))


def _shown(value: Mean | float | None) -> str:
    number = value.value if isinstance(value, Mean) else value
    if number is None:
        return "-"
    return f"{number:.1f}" if number > 1 else f"{number:.4f}"

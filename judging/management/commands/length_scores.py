"""Print each model's score by requested length, and what a length costs over the prompts that both have."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from calibration.statistics.errors import NoStatistic
from calibration.web.failed_judges import failed_note
from core.errors import UserError
from generation.models import Benchmark
from judging.leaderboards.lengths import scores_by_length
from judging.management.scripted_judges import scripted_line


class Command(BaseCommand):
    help = (
        "Print the scores of a judge by requested length, which are never pooled, with the difference from no requested "
        "length over the same prompts (HelloBench, table 3)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("benchmark", help="Slug of the benchmark.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument("--judge", required=True, help="Name of the judge.")
        parser.add_argument("--weights", default="equal", help="equal, published, or a fit (default: equal).")
        parser.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            benchmark = Benchmark.objects.filter(workspace=workspace, slug=options["benchmark"]).first()
            if benchmark is None:
                known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no benchmark {options['benchmark']!r}; there are: {known or 'none'}.")
            rows = scores_by_length(benchmark, options["judge"], options["weights"])
        except (UserError, NoStatistic) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps([asdict(row) for row in rows]))
            return
        width = max(len(row.model) for row in rows)
        self.stdout.write(
            f"{'model':{width}}  {'experiment':11} {'n':>5} {'score':>9} {'words':>7}  difference from no length"
        )
        for row in rows:
            words = "-" if row.words is None else f"{row.words:,.0f}"
            gap = "-" if row.difference is None else f"{row.difference:.2f} [{row.low:.2f}, {row.high:.2f}]"
            over = f" over {row.shared} prompts" if row.shared else ""
            self.stdout.write(
                f"{row.model:{width}}  {row.experiment:11} {row.n:>5} {row.score:>9.2f} {words:>7}  {gap}{over}"
            )
        if any(row.judge_failed for row in rows):
            self.stdout.write(failed_note(options["judge"]))
        if any(row.judge_scripted for row in rows):
            self.stdout.write(scripted_line(options["judge"]))

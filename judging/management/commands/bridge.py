"""Bridge a new judge's run to an old judge's: model means on the old scale."""

import io
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from calibration.management.terminal_tables import terminal_tables
from calibration.reports.codec import stored
from calibration.web.table_files import as_csv, as_latex, as_markdown
from core.errors import UserError
from judging.comparison.run_bridge import run_bridge
from judging.models import JudgeRun
from judging.web.runs.bridge import means_table, opening_of


class Command(BaseCommand):
    help = (
        "Estimate the model means that an old judge would give, from a new judge's run and the responses that both scored, "
        "and test whether one bridge serves all models and categories."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("old", help="Id of the old judge's run, as in the address of its page.")
        parser.add_argument("new", help="Id of the new judge's run, over the same study or benchmark.")
        parser.add_argument(
            "--margin",
            type=float,
            metavar="POINTS",
            help="Difference that matters, in points of the old scale; 5 %% of the scale if it is not given.",
        )
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--csv", action="store_true", help="Print the models' means as CSV.")
        shapes.add_argument("--latex", action="store_true", help="Print the models' means as a tabular.")
        shapes.add_argument("--markdown", action="store_true", help="Print the answer and the means in Markdown.")

    def handle(self, *args: Any, **options: Any) -> None:
        old, new = _run(options["old"]), _run(options["new"])
        if old.study.workspace_id != new.study.workspace_id or (
            old.study_id != new.study_id and old.study.benchmark_id != new.study.benchmark_id
        ):
            raise CommandError("The two runs are over different benchmarks; name two runs over the same responses.")
        try:
            found = run_bridge(old, new, margin=options["margin"])
        except UserError as error:
            raise CommandError(str(error)) from error
        table = means_table(found)
        if options["json"]:
            self.stdout.write(json.dumps(stored(found), ensure_ascii=False, indent=2))
        elif options["csv"]:
            self.stdout.write(as_csv(table).removeprefix("\ufeff"), ending="")
        elif options["latex"]:
            self.stdout.write(as_latex(table), ending="")
        elif options["markdown"]:
            self.stdout.write(f"{opening_of(found)}\n\n{as_markdown(table)}", ending="")
        else:
            paper = io.StringIO()
            console = Console(file=paper, width=None if self.stdout.isatty() else 120)
            console.print(opening_of(found), markup=False, highlight=False)
            for part in terminal_tables(table, console.width, title=f"Model means on the scale of {found.old}"):
                console.print(part)
            self.stdout.write(paper.getvalue(), ending="")


def _run(public_id: str) -> JudgeRun:
    found = JudgeRun.objects.filter(public_id=public_id).select_related("study__workspace", "judge__rater").first()
    if found is None:
        raise CommandError(f"There is no judge run {public_id!r}; `manage.py judge_runs` lists them.")
    return found

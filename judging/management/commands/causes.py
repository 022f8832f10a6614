"""Say why a judge and people differ: the judge, the guideline, or one rater who stands apart."""

import io
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from calibration.management.terminal_tables import terminal_tables
from calibration.reports.registry import report_of, stored_report
from calibration.web.table_files import as_latex, as_markdown
from core.errors import UserError
from judging.comparison.causes import CAUSES_REPORT, causes_settings
from judging.comparison.judge_against_people import judge_in
from judging.web.comparison.causes import causes_page


class Command(BaseCommand):
    help = "Say why a judge and people differ: the judge, the guideline, or one rater who stands apart from the others."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Slug of the study in which people and the judge answered.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument(
            "--judge", default="", help="Name of the judge; the one with the most verdicts if not given."
        )
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--latex", action="store_true", help="Print the tables as tabulars.")
        shapes.add_argument("--markdown", action="store_true", help="Print the answer and the tables in Markdown.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
            if study is None:
                known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no study {options['study']!r}; there are: {known or 'none'}.")
            judge = judge_in(study, options["judge"]) if options["judge"] else None
        except UserError as error:
            raise CommandError(str(error)) from error
        settings = causes_settings(judge.public_id if judge else "")
        if options["json"]:
            self.stdout.write(json.dumps(stored_report(study, CAUSES_REPORT, settings), ensure_ascii=False, indent=2))
            return
        page = causes_page(study, report_of(study, CAUSES_REPORT, settings))
        if not page.blocks:
            raise CommandError(page.opening)
        tables = [(block.title, block.table) for block in page.blocks if block.table]
        if options["latex"]:
            self.stdout.write("\n".join(as_latex(table) for _title, table in tables), ending="")
        elif options["markdown"]:
            parts = [page.opening, *(f"## {title}\n\n{as_markdown(table)}" for title, table in tables)]
            self.stdout.write("\n\n".join(parts), ending="")
        else:
            paper = io.StringIO()
            console = Console(file=paper, width=None if self.stdout.isatty() else 120)
            console.print(page.opening, markup=False, highlight=False)
            for title, table in tables:
                for part in terminal_tables(table, console.width, title=title):
                    console.print(part)
            self.stdout.write(paper.getvalue(), ending="")

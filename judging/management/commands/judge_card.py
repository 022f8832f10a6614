"""Print a judge's card, or the table of all judges of a study or of a workspace."""

import io
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from annotation.models import Rater, Study
from calibration.management.terminal_tables import terminal_tables
from calibration.report_store.refreshes import Refresh
from calibration.reports.codec import stored
from calibration.reports.registry import report_of
from calibration.web.blocks import ResultPage
from calibration.web.table_files import as_csv, as_latex, as_markdown
from core.errors import UserError
from generation.endpoints.pricing import currency_of
from judging.cards.card import judge_card
from judging.cards.table import TABLE, compute_missing, table_settings, workspace_json, workspace_table
from judging.web.judges.card import card_page
from judging.web.judges.table import table_page, workspace_page

NOTHING_ASKED = Refresh(under_way=False)


class Command(BaseCommand):
    help = (
        "Print a judge's card: what it is, its agreement with people, its biases, probes and costs; or the table of all "
        "judges of a study, or of a workspace, a row for each."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("judge", nargs="?", default="", help="Name of the judge.")
        whose.add_argument("--study", default="", metavar="SLUG", help="All judges of this study.")
        whose.add_argument(
            "--all",
            action="store_true",
            help="All judges, as their studies' tables were last computed; missing tables are computed first.",
        )
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument(
            "--csv", action="store_true", help="Print the table of judges as CSV with unrounded numbers."
        )
        shapes.add_argument("--latex", action="store_true", help="Print the tables as tabulars.")
        shapes.add_argument("--markdown", action="store_true", help="Print the sentence and the tables in Markdown.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
        except UserError as error:
            raise CommandError(str(error)) from error
        values, page = self._asked(workspace, options)
        tables = [(block.title, block.table) for block in page.blocks if block.table]
        if options["json"]:
            self.stdout.write(json.dumps(values, ensure_ascii=False, indent=2))
        elif options["csv"]:
            if options["judge"]:
                raise CommandError("A judge's card has several tables; --csv is for --study and --all.")
            self.stdout.write(as_csv(tables[0][1]).removeprefix("\ufeff") if tables else "", ending="")
        elif options["latex"]:
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

    def _asked(self, workspace: Workspace, options: dict[str, Any]) -> tuple[Any, ResultPage]:
        """Return what is asked for as JSON values and as a page."""
        if options["all"]:
            compute_missing(workspace_table([workspace]).without)
            found = workspace_table([workspace])
            return workspace_json(found, NOTHING_ASKED), workspace_page(found, NOTHING_ASKED)
        if options["study"]:
            study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
            if study is None:
                slugs = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no study {options['study']!r}; there are: {slugs or 'none'}.")
            report = report_of(study, TABLE, table_settings(study))
            return stored(report), table_page(study, report)
        judges = Rater.objects.filter(workspace=workspace, kind=Rater.Kind.JUDGE)
        rater = judges.filter(label=options["judge"]).first()
        if rater is None:
            known = ", ".join(judges.order_by("label").values_list("label", flat=True))
            raise CommandError(f"There is no judge {options['judge']!r}; there are: {known or 'none'}.")
        card = judge_card(rater, currency_of(workspace.pk))
        return stored(card), card_page(card)

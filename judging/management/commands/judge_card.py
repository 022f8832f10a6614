"""Print a judge's card: what it is, its agreement with people, its biases, probes and costs."""

import io
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from accounts.members.workspaces import workspace_for_command
from annotation.models import Rater
from calibration.management.terminal_tables import terminal_tables
from calibration.reports.codec import stored
from calibration.web.table_files import as_latex, as_markdown
from core.errors import UserError
from generation.endpoints.pricing import currency_of
from judging.cards.card import judge_card
from judging.web.judges.card import card_page


class Command(BaseCommand):
    help = "Print a judge's card: what it is, its agreement with people, its biases, probes and costs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("judge", help="Name of the judge.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--latex", action="store_true", help="Print the tables as tabulars.")
        shapes.add_argument("--markdown", action="store_true", help="Print the sentence and the tables in Markdown.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
        except UserError as error:
            raise CommandError(str(error)) from error
        judges = Rater.objects.filter(workspace=workspace, kind=Rater.Kind.JUDGE)
        rater = judges.filter(label=options["judge"]).first()
        if rater is None:
            known = ", ".join(judges.order_by("label").values_list("label", flat=True))
            raise CommandError(f"There is no judge {options['judge']!r}; there are: {known or 'none'}.")
        card = judge_card(rater, currency_of(workspace.pk))
        page = card_page(card)
        tables = [(block.title, block.table) for block in page.blocks if block.table]
        if options["json"]:
            self.stdout.write(json.dumps(stored(card), ensure_ascii=False, indent=2))
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

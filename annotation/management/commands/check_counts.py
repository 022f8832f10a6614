"""Check the counts that the database keeps of each study against its answers."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from annotation.counters.counts import check, check_work
from annotation.models import Study


class Command(BaseCommand):
    help = "Count the answers and scores of every study from their rows, and compare the counts that are kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--repair", action="store_true", help="Correct the counts that are wrong.")

    def handle(self, *args: Any, **options: Any) -> None:
        wrong = check(repair=options["repair"])
        work = check_work(repair=options["repair"])
        names = dict(Study.objects.filter(pk__in=[*wrong, *work]).values_list("pk", "slug"))
        for pk, (answers, scores) in wrong.items():
            self.stdout.write(f"{names[pk]}: the counts lack {answers} answers and {scores} scores.")
        for pk, rows in work.items():
            self.stdout.write(f"{names[pk]}: the counts of {rows} raters and instructions are wrong.")
        if (wrong or work) and not options["repair"]:
            raise CommandError(f"Some counts are wrong; correct them with: {settings.PROGRAM} check_counts --repair")
        self.stdout.write("The counts are corrected." if wrong or work else "All counts are right.")

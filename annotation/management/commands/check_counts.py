"""Check the counts that the database keeps of each study against its answers."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.counters.counts import check
from annotation.models import Study


class Command(BaseCommand):
    help = "Count the answers and scores of every study from their rows, and compare the counts that are kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--repair", action="store_true", help="Correct the counts that are wrong.")

    def handle(self, *args: Any, **options: Any) -> None:
        wrong = check(repair=options["repair"])
        names = dict(Study.objects.filter(pk__in=wrong).values_list("pk", "slug"))
        for pk, (answers, scores) in wrong.items():
            self.stdout.write(f"{names[pk]}: the counts lack {answers} answers and {scores} scores.")
        if wrong and not options["repair"]:
            raise CommandError("Some counts are wrong; correct them with: manage.py check_counts --repair")
        self.stdout.write("The counts are corrected." if wrong else "All counts are right.")

"""Estimate people's mean of models that nobody rated, from a judge's scores."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from calibration.management.terminal_tables import print_result
from calibration.reports.codec import stored
from calibration.statistics.judges.transport import SHAPES
from core.errors import UserError
from judging.comparison.judge_against_people import judge_in, weighting_for
from judging.comparison.unrated_models import unrated_models
from judging.web.comparison.unrated_models import means_table, opening_of, title


class Command(BaseCommand):
    help = (
        "Estimate people's mean of the models that nobody rated in a study from a judge's scores, and test whether one "
        "calibration serves all rated models."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Slug of the study with people's overall scores.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument("--judge", required=True, help="Name of the judge.")
        parser.add_argument(
            "--margin",
            type=float,
            metavar="POINTS",
            help="Difference that matters, in points of people's scale; 5 %% of the scale if it is not given.",
        )
        parser.add_argument(
            "--shape",
            choices=SHAPES,
            default="means",
            help="Calibration: a line through the models' means (default) or single responses, or an increasing curve.",
        )
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--csv", action="store_true", help="Print the models' means as CSV.")
        shapes.add_argument("--latex", action="store_true", help="Print the models' means as a tabular.")
        shapes.add_argument("--markdown", action="store_true", help="Print the answer and the means in Markdown.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
            if study is None:
                known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no study {options['study']!r}; there are: {known or 'none'}.")
            judge = judge_in(study, options["judge"])
            found = unrated_models(study, judge, weighting_for(study), margin=options["margin"], shape=options["shape"])
        except UserError as error:
            raise CommandError(str(error)) from error
        table = means_table(found)
        print_result(
            self.stdout,
            options,
            told=lambda: stored(found),
            opening=opening_of(found),
            table=table,
            titled=[(title(), table)],
        )

"""Say what several judges together predict of people's differences between models, and what they cost."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from calibration.management.terminal_tables import print_result
from calibration.reports.registry import report_of
from core.errors import UserError
from judging.comparison.fitted_panel import make_fitted_panel
from judging.comparison.judge_panel import (
    PANEL,
    JudgePanel,
    NoPanel,
    judges_named,
    panel_costs,
    panel_json,
    panel_settings,
)
from judging.runs.life_cycle import progress_of
from judging.runs.worker import work_on
from judging.web.comparison.judge_panel import (
    costs_words,
    gain_table,
    members_table,
    no_panel_words,
    opening_of,
    panel_title,
)


class Command(BaseCommand):
    help = (
        "Fit a panel of a study's judges to people's differences between models, and state its gain over the best single "
        "judge out of sample, the weight of each judge and what it costs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Slug of the study that people rated and judges scored.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument(
            "--judge",
            action="append",
            default=[],
            metavar="NAME",
            help="A judge of the panel; repeat it for each. All judges that scored enough if it is not given.",
        )
        parser.add_argument(
            "--make", action="store_true", help="Make the panel a judge that judges the study by its members' verdicts."
        )
        parser.add_argument("--name", default="", help="With --make: name of the judge.")
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--csv", action="store_true", help="Print weights and costs of the judges as CSV.")
        shapes.add_argument("--latex", action="store_true", help="Print the same as a tabular.")
        shapes.add_argument("--markdown", action="store_true", help="Print the answer and the same in Markdown.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
            if study is None:
                known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no study {options['study']!r}; there are: {known or 'none'}.")
            judges = judges_named(study, options["judge"])
        except UserError as error:
            raise CommandError(str(error)) from error
        report = report_of(study, PANEL, panel_settings(study, judges))
        if isinstance(report, NoPanel):
            raise CommandError(no_panel_words(report))
        if options["make"]:
            self._make(study, report, options["name"])
            return
        costs = panel_costs(study, report)
        table, opening = members_table(report, costs), f"{opening_of(report)} {costs_words(report, costs)}".strip()
        print_result(
            self.stdout,
            options,
            told=lambda: panel_json(study, report),
            opening=opening,
            table=table,
            titled=[(panel_title(), gain_table(report)), ("", table)],
        )

    def _make(self, study: Study, report: JudgePanel, name: str) -> None:
        try:
            made = make_fitted_panel(study, report, name=name, user=None, clock=timezone.now)
        except UserError as error:
            raise CommandError(str(error)) from error
        if made.run is None:
            self.stdout.write(f"{made.judge} has judged every task of study {study.slug} already.")
            return
        run = work_on(made.run)
        progress = progress_of(run, clock=timezone.now)
        self.stdout.write(
            f"{made.judge} is a judge now: {progress.scored} of {progress.total} tasks of study {study.slug} have its "
            f"verdict, {progress.unscored} have none, because a member gave none. Run {run.public_id}."
        )

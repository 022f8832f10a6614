"""Draw a judge's instruction checks for people, or state how far people agree with the judge about them."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from annotation.policies.policies import Policies
from core.errors import UserError
from judging.comparison.drawn_checks import RATERS, SAMPLE, CheckAgreement, check_agreement, make_check_study
from judging.management.scripted_judges import scripted_line
from judging.models import JudgeRun

ENDS = {
    "wilson95": "95 % interval",
    "leave_one_out_range": "range over leaving out one instruction",
    "none": "no interval",
}


class Command(BaseCommand):
    help = "Draw a run's instruction checks for people, or, with --report, state their agreement with the judge."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "about",
            metavar="RUN",
            help="Id of a run of instruction checks; with --report, the slug of the drawn study.",
        )
        add("--workspace", default="", help="Slug of the workspace, if there are several.")
        add("--sample", type=int, default=SAMPLE, help=f"Number of checks (default: {SAMPLE}).")
        add("--raters", type=int, default=RATERS, help=f"Number of people per check (default: {RATERS}).")
        add("--seed", type=int, default=0, help="The same seed draws the same checks.")
        add("--report", action="store_true", help="State the agreement of people and judge on a drawn study.")
        add("--json", action="store_true", help="With --report: print JSON with unrounded numbers.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["report"]:
                self._report(options)
            else:
                self._draw(options)
        except UserError as error:
            raise CommandError(str(error)) from error

    def _draw(self, options: dict[str, Any]) -> None:
        run = JudgeRun.objects.filter(public_id=options["about"]).select_related("study__workspace").first()
        if run is None:
            raise CommandError(f"There is no run {options['about']!r}; the page /runs/ lists them.")
        for name in ("sample", "raters"):
            if options[name] < 1:
                raise CommandError(f"--{name} {options[name]} is too small; give at least 1.")
        study = make_check_study(run, sample=options["sample"], raters=options["raters"], seed=options["seed"], by=None)
        if study.status != Study.Status.OPEN:
            self.stdout.write(f"Study {study.slug} was created but not opened: {Policies.of(study).refused}")
            return
        self.stdout.write(
            f"Study {study.slug} is open: {_checks(study.tasks.count())} of run {run.public_id}, each asked of "
            f"{_people(options['raters'])}. Its page: {reverse('annotation:desk', args=[study])}"
        )

    def _report(self, options: dict[str, Any]) -> None:
        workspace = workspace_for_command(options["workspace"])
        study = Study.objects.filter(workspace=workspace, slug=options["about"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['about']!r}; the start page lists them.")
        report = check_agreement(study)
        if options["json"]:
            self.stdout.write(json.dumps({"study": study.slug, **asdict(report)}, ensure_ascii=False, indent=2))
        else:
            self._print(study, report)

    def _print(self, study: Study, report: CheckAgreement) -> None:
        answered = report.drawn - report.waiting
        self.stdout.write(
            f"{study.slug}: {answered} of {_checks(report.drawn)} answered by {_people(report.people)}; "
            f"judge {report.judge}."
        )
        for kind, share in report.agreement.items():
            table = report.tables[kind]
            self.stdout.write(
                f"  {kind}: agreement {100 * share.value:.1f} % ({ENDS[share.interval_kind]} {100 * share.low:.1f} to "
                f"{100 * share.high:.1f}), n = {share.n}; yes by both {table.both}, by the judge alone {table.judge_only}, "
                f"by people alone {table.people_only}, by neither {table.neither}"
            )
        if report.kappa is not None:
            self.stdout.write(
                f"  Cohen's kappa {report.kappa.value:.3f} ({report.kappa.low:.3f} to {report.kappa.high:.3f})"
            )
        if report.even:
            self.stdout.write(f"  Left out: {_checks(report.even)} on which people are evenly divided.")
        if report.judge_scripted:
            self.stdout.write(f"  {scripted_line(report.judge)}")


def _checks(count: int) -> str:
    return "1 check" if count == 1 else f"{count} checks"


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"

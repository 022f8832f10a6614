"""Create a study in which people review a run's verdicts and their reasons."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from annotation.models import Study
from annotation.policies.policies import Policies
from core.errors import UserError
from judging.comparison.review_studies import REVIEWERS, SAMPLE, make_review_study
from judging.models import JudgeRun


class Command(BaseCommand):
    help = "Create a study in which people review a sample of a run's verdicts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", help="Id of a run; the page /runs/ lists them.")
        parser.add_argument("--sample", type=int, default=SAMPLE, help="Number of verdicts.")
        parser.add_argument("--reviewers", type=int, default=REVIEWERS, help="Number of reviewers per verdict.")
        parser.add_argument("--seed", type=int, default=0)

    def handle(self, *args: Any, **options: Any) -> None:
        run = (
            JudgeRun.objects.filter(public_id=options["run"]).select_related("study__workspace", "judge__rater").first()
        )
        if run is None:
            raise CommandError(f"There is no run {options['run']!r}; the page /runs/ lists them.")
        for name in ("sample", "reviewers"):
            if options[name] < 1:
                raise CommandError(f"--{name} {options[name]} is too small; give at least 1.")
        try:
            study = make_review_study(
                run, sample=options["sample"], reviewers=options["reviewers"], seed=options["seed"], by=None
            )
        except UserError as error:
            raise CommandError(str(error)) from error
        if study.status != Study.Status.OPEN:
            self.stdout.write(f"Study {study.slug} was created but not opened: {Policies.of(study).refused}")
            return
        self.stdout.write(
            f"Study {study.slug} is open: {study.tasks.count()} verdicts of run {run.public_id}, "
            f"{options['reviewers']} reviewers each. Its page: {reverse('annotation:desk', args=[study])}"
        )

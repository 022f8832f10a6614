"""Create a study in which people review a run's verdicts, or draw instructions for people to rate and estimate from them."""

import io
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse
from rich.console import Console

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from annotation.policies.policies import Policies
from calibration.management.terminal_tables import terminal_tables
from core.errors import UserError
from judging.comparison.judge_against_people import judge_in
from judging.comparison.review_studies import REVIEWERS, SAMPLE, make_review_study
from judging.comparison.routing.as_json import draw_json, plan_json, routing_json
from judging.comparison.routing.draws import RoutingRequest, freeze_draw, make_tasks, plan_draw
from judging.comparison.routing.estimates import routing_of
from judging.models import JudgeRun, RoutedDraw
from judging.web.comparison.routing_blocks import opening_of, plan_words, routing_page, strata_table


class Command(BaseCommand):
    help = (
        "Create a study in which people review a sample of a run's verdicts; or, with --draw, draw instructions of a study "
        "for people to rate, more of those where a judge is unsure; or, with --estimate, state people's means from "
        "the draws."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "about",
            metavar="RUN_OR_STUDY",
            help="Id of a run; the page /runs/ lists them. With --draw, --responses or --estimate: the slug of a study.",
        )
        add("--sample", type=int, default=SAMPLE, help="Number of verdicts.")
        add("--reviewers", type=int, default=REVIEWERS, help="Number of reviewers per verdict.")
        add(
            "--seed",
            type=int,
            help="The same seed draws the same; default: 0 for verdicts, by chance for instructions.",
        )
        add("--workspace", default="", help="Slug of the study's workspace, if there are several.")
        add(
            "--draw",
            type=float,
            metavar="N",
            help="Draw about N instructions, with all responses of the models compared.",
        )
        add("--responses", type=float, metavar="N", help="Draw instructions with about N responses.")
        add(
            "--judge", action="append", default=[], metavar="NAME", help="Judge whose spread is used; several: a panel."
        )
        add(
            "--model",
            action="append",
            default=[],
            metavar="NAME",
            help="Model compared; default: all that were scored.",
        )
        add("--spread", choices=RoutedDraw.SpreadKind.values, default="", help="Default: what the verdicts have.")
        add("--strata", choices=RoutedDraw.Strata.values, default=RoutedDraw.Strata.SPREAD, help="Default: spread.")
        add("--overlap", type=int, metavar="N", help="Ratings of each response; default: those of the study.")
        add(
            "--dry-run",
            action="store_true",
            help="Say what would be drawn and what it is expected to save; draw nothing.",
        )
        add("--estimate", action="store_true", help="State people's means from the study's draws.")
        add("--json", action="store_true", help="With --draw, --responses or --estimate: print JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["estimate"]:
                self._estimate(options)
            elif options["draw"] is not None or options["responses"] is not None:
                self._draw(options)
            else:
                self._review(options)
        except UserError as error:
            raise CommandError(str(error)) from error

    def _review(self, options: dict[str, Any]) -> None:
        if options["judge"] or options["dry_run"] or options["json"]:
            raise CommandError("--judge, --dry-run and --json belong to a draw; say with --draw how many instructions.")
        runs = JudgeRun.objects.filter(public_id=options["about"]).select_related("study__workspace", "judge__rater")
        run = runs.first()
        if run is None:
            raise CommandError(f"There is no run {options['about']!r}; the page /runs/ lists them.")
        for name in ("sample", "reviewers"):
            if options[name] < 1:
                raise CommandError(f"--{name} {options[name]} is too small; give at least 1.")
        study = make_review_study(
            run, sample=options["sample"], reviewers=options["reviewers"], seed=options["seed"] or 0, by=None
        )
        if study.status != Study.Status.OPEN:
            self.stdout.write(f"Study {study.slug} was created but not opened: {Policies.of(study).refused}")
            return
        self.stdout.write(
            f"Study {study.slug} is open: {study.tasks.count()} verdicts of run {run.public_id}, "
            f"{options['reviewers']} reviewers each. Its page: {reverse('annotation:desk', args=[study])}"
        )

    def _draw(self, options: dict[str, Any]) -> None:
        study = self._study(options)
        request = RoutingRequest(
            study,
            tuple(judge_in(study, name) for name in options["judge"]),
            instructions=options["draw"],
            responses=options["responses"],
            models=tuple(options["model"]),
            spread=options["spread"],
            strata=options["strata"],
            overlap=options["overlap"],
            seed=options["seed"],
        )
        plan = plan_draw(request)
        if options["dry_run"]:
            if options["json"]:
                self._print_json(plan_json(plan))
                return
            for sentence in plan_words(plan):
                self.stdout.write(sentence)
            self._print_table(strata_table(plan), "")
            return
        made = freeze_draw(request)
        rated_in = make_tasks(made, by=None)
        made.refresh_from_db()
        if options["json"]:
            self._print_json(draw_json(made))
            return
        drawn = sum(bool(unit["drawn"]) for unit in made.frame)
        self.stdout.write(
            f"Draw {made.public_id} with seed {made.seed}: {drawn} of {len(made.frame)} instructions, "
            f"{rated_in.tasks.count()} responses with {made.overlap} ratings each."
        )
        if rated_in.status != Study.Status.OPEN:
            self.stdout.write(f"Study {rated_in.slug} was created but not opened: {Policies.of(rated_in).refused}")
            return
        self.stdout.write(
            f"Study {rated_in.slug} is open for people. Its page: {reverse('annotation:desk', args=[rated_in])}"
        )

    def _estimate(self, options: dict[str, Any]) -> None:
        found = routing_of(self._study(options))
        if options["json"]:
            self._print_json(routing_json(found))
            return
        self.stdout.write(opening_of(found))
        for block in routing_page(found).blocks:
            if block.answer:
                self.stdout.write(f"\n{block.answer}")
            if block.table:
                self._print_table(block.table, block.title)
            for note in block.notes:
                self.stdout.write(note)

    def _study(self, options: dict[str, Any]) -> Study:
        workspace = workspace_for_command(options["workspace"])
        study = Study.objects.filter(workspace=workspace, slug=options["about"]).first()
        if study is None:
            known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
            raise CommandError(f"There is no study {options['about']!r}; there are: {known or 'none'}.")
        return study

    def _print_json(self, values: object) -> None:
        self.stdout.write(json.dumps(values, ensure_ascii=False, indent=2))

    def _print_table(self, table: Any, title: str) -> None:
        paper = io.StringIO()
        console = Console(file=paper, width=None if self.stdout.isatty() else 120)
        for part in terminal_tables(table, console.width, title=title):
            console.print(part)
        self.stdout.write(paper.getvalue(), ending="")

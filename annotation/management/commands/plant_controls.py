"""Put tasks with a known answer among a study's tasks: gold items from a table, degraded copies made here."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.members.workspaces import UnknownWorkspace, workspace_for_command
from annotation.assignment.attention_checks import check_tasks, make_controls
from annotation.importing.gold_items import mark_from_table
from annotation.models import Study
from annotation.policies.quality_checks import CONTROL
from annotation.studies.life_cycle import log_event, make_tasks
from core.tables.bad_rows import BadRow


class Command(BaseCommand):
    help = (
        "Put tasks with a known answer among a study's tasks: gold items of a table, and degraded copies of its "
        "responses. They come between the others, at the study's rates, and count in no result about the responses."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="the study's slug")
        parser.add_argument("--workspace", default="", metavar="SLUG")
        parser.add_argument(
            "--gold",
            type=Path,
            metavar="FILE",
            help="a table, a row for each expected answer: instruction, model (and model_b of a pair), criterion, value "
            "(7, 6-8 or a level), and as wanted purpose (gold, training, qualification), why, why_zh",
        )
        parser.add_argument(
            "--degraded",
            type=int,
            default=0,
            metavar="N",
            help="make N more copies with the end cut, a paragraph doubled or sections swapped",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = self._study(options)
        wanted = options["degraded"]
        if options["gold"] is None and not wanted:
            raise CommandError("Say what to plant: --gold FILE, --degraded N, or both.")
        if wanted < 0:
            raise CommandError(f"--degraded {wanted}: give a number of copies, 1 or more.")
        try:
            with transaction.atomic():
                if study.status == Study.Status.DRAFT:
                    make_tasks(study)
                marked = mark_from_table(study, options["gold"]) if options["gold"] else 0
                made = len(make_controls(study, wanted)) if wanted else 0
                if made:
                    log_event(study, None, "make_controls", after={"controls": made})
        except BadRow as problem:
            raise CommandError(str(problem)) from problem
        if options["gold"]:
            self.stdout.write(f"{marked} tasks have a known answer.")
        if wanted:
            in_all = check_tasks(study, CONTROL).count()
            short = "" if made == wanted else " The study has no more texts that are long enough and have none yet."
            self.stdout.write(f"{made} degraded copies made, {in_all} in all.{short}")

    def _study(self, options: dict[str, Any]) -> Study:
        try:
            workspace = workspace_for_command(options["workspace"])
            return Study.objects.get(workspace=workspace, slug=options["study"])
        except UnknownWorkspace as error:
            raise CommandError(str(error)) from error
        except Study.DoesNotExist as error:
            raise CommandError(
                f"Workspace {workspace.slug} has no study {options['study']!r}; the page Studies lists them."
            ) from error

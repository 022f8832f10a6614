"""Add tasks with a known answer to a study: gold items from a table, and attention checks created here."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.members.workspaces import workspace_for_command
from accounts.models import User
from annotation.assignment.attention_checks import check_tasks, make_controls
from annotation.importing.gold_items import mark_from_table
from annotation.models import Study
from annotation.policies.policies import CONTROL
from annotation.studies.life_cycle import log_event, make_tasks
from core.errors import UserError
from generation.library.imports import recorded
from generation.library.loading import Counts


class Command(BaseCommand):
    help = (
        "Add tasks with a known answer to a study: gold items from a table, and attention checks, which are degraded "
        "copies of responses. Raters get them among the other tasks; results about the responses leave them out."
    )

    stealth_options = ("by",)
    """Who loads the file, where a page asked for it."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="the study's slug")
        parser.add_argument("--workspace", default="", metavar="SLUG")
        parser.add_argument(
            "--gold",
            type=Path,
            metavar="FILE",
            help="a table with one row per expected answer: instruction, model (and model_b of a pair), criterion, value "
            "(7, 6-8 or a level), and optionally purpose (gold, training, qualification), why, why_zh",
        )
        parser.add_argument(
            "--degraded",
            type=int,
            default=0,
            metavar="N",
            help="create N more copies with the end cut off, a paragraph repeated or sections swapped",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = self._study(options)
        wanted = options["degraded"]
        if options["gold"] is None and not wanted:
            raise CommandError("Choose what to add with --gold FILE, --degraded N, or both.")
        if wanted < 0:
            raise CommandError(f"--degraded {wanted} is not a number of copies; enter 1 or more.")
        try:
            with transaction.atomic():
                if study.status == Study.Status.DRAFT:
                    make_tasks(study)
                marked = self._mark(study, options["gold"], options.get("by")) if options["gold"] else 0
                made = len(make_controls(study, wanted)) if wanted else 0
                if made:
                    log_event(study, None, "make_controls", after={"controls": made})
        except UserError as problem:
            raise CommandError(str(problem)) from problem
        if options["gold"]:
            self.stdout.write(f"{marked} tasks have a known answer.")
        if wanted:
            in_all = check_tasks(study, CONTROL).count()
            short = (
                ""
                if made == wanted
                else " The study has no more texts that are long enough and have no attention check yet."
            )
            self.stdout.write(f"Created {made} attention checks; the study now has {in_all}.{short}")

    @staticmethod
    def _mark(study: Study, file: Path, by: User | None) -> int:
        with recorded("plant_controls", file, by) as recording:
            marked = mark_from_table(study, file)
            recording.store(study.workspace, study.slug, Counts(created=marked))
        return marked

    def _study(self, options: dict[str, Any]) -> Study:
        try:
            workspace = workspace_for_command(options["workspace"])
            return Study.objects.get(workspace=workspace, slug=options["study"])
        except UserError as error:
            raise CommandError(str(error)) from error
        except Study.DoesNotExist as error:
            raise CommandError(
                f"Workspace {workspace.slug} has no study {options['study']!r}; the Studies page lists them."
            ) from error

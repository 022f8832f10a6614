"""Find the responses of a study that say which model wrote them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.members.workspaces import workspace_for_command
from annotation.masking.scan import SelfNaming, mask_names, scan_study
from annotation.models import Study, Task
from annotation.studies.life_cycle import StudyRefused, drop_task
from core.errors import UserError

MOST_SHOWN = 20


class Command(BaseCommand):
    help = "Flag the responses that say which model wrote them, and optionally mask the names or drop the tasks."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="the study's slug")
        parser.add_argument("--workspace", default="", metavar="SLUG")
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--mask", action="store_true", help="mask the names on the rating screens")
        action.add_argument("--unmask", action="store_true", help="stop masking the names")
        action.add_argument(
            "--drop", action="store_true", help="remove the tasks that no one has started from the study"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            study = Study.objects.get(workspace=workspace, slug=options["study"])
        except UserError as error:
            raise CommandError(str(error)) from error
        except Study.DoesNotExist as error:
            raise CommandError(
                f"Workspace {workspace.slug} has no study {options['study']!r}; the Studies page lists them."
            ) from error
        result = scan_study(study)
        for one in result.found[:MOST_SHOWN]:
            self.stdout.write(f"{one.response.instruction.external_id}: {one.excerpt}")
        if len(result.found) > MOST_SHOWN:
            self.stdout.write(f"... and {len(result.found) - MOST_SHOWN} more.")
        self.stdout.write(
            f"{len(result.found)} responses in {result.tasks} tasks name their model; {result.flagged} are newly flagged."
        )
        if options["mask"] or options["unmask"]:
            mask_names(study, masked=options["mask"])
            self.stdout.write(
                "The names are masked for raters." if options["mask"] else "The names are shown to raters."
            )
        if options["drop"]:
            gone, begun = _drop(study, result.found)
            why = "since somebody has begun them (--mask hides the names)"
            self.stdout.write(f"{gone} tasks dropped; {begun} stay, {why}.")


def _drop(study: Study, found: tuple[SelfNaming, ...]) -> tuple[int, int]:
    """The numbers of tasks that were dropped and of tasks that stay because a rater was given them."""
    gone = begun = 0
    wanted = {one.task.pk for one in found}
    for task in Task.objects.filter(pk__in=wanted, gold__isnull=True):
        task.study = study
        try:
            drop_task(task, by=None)
            gone += 1
        except StudyRefused:
            begun += 1
    return gone, begun

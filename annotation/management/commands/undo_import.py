"""List the imports of a workspace, or undo one of them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.members.workspaces import workspace_for_command
from annotation.importing.undo import dependents_in_words, plan_undo, undo_import
from annotation.studies.nouns import in_words
from core.errors import UserError
from generation.models import Import


class Command(BaseCommand):
    help = (
        "Undo an import: say what would go, and remove it with --yes. Without a number, list the imports. An import "
        "on which somebody's answer depends cannot be undone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("number", type=int, nargs="?", help="The number of the import, as listed.")
        parser.add_argument("--yes", action="store_true", help="Remove the rows.")
        parser.add_argument("--workspace", default="", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            if options["number"] is None:
                for one in workspace.imports.filter(undone_at=None):
                    self.stdout.write(f"{one.pk}: {one.at:%Y-%m-%d %H:%M} {one.command} {one.file} into {one.about}")
                return
            found = workspace.imports.filter(pk=options["number"]).first()
            if found is None:
                raise CommandError(f"Workspace {workspace.slug} has no import {options['number']}; list them first.")
            self._undo(found, really=options["yes"])
        except UserError as error:
            raise CommandError(str(error)) from error

    def _undo(self, found: Import, *, really: bool) -> None:
        if really or found.undone_at:
            plan = undo_import(found, by=None, clock=timezone.now)
        else:
            plan = plan_undo(found)
            if plan.dependents:
                raise CommandError(dependents_in_words(plan))
        words = (
            ("Removed", "Would remove"),
            ("Kept, because others use them", "Would keep"),
            ("Emptied", "Would empty"),
        )
        for (done, would), counts in zip(words, (plan.removed, plan.kept, plan.restored), strict=True):
            for noun, count in in_words(counts):
                self.stdout.write(f"{done if really else would}: {count:,} {noun}")
        if not really:
            self.stdout.write("Nothing has changed. Say --yes to undo the import.")

"""Remove a model or an endpoint that nothing depends on from the library."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from core.errors import UserError
from generation.endpoints.registration import ServingRefused, endpoint_named
from generation.library.removal import Row, StillUsed, remove
from generation.models import LanguageModel


class Command(BaseCommand):
    help = "Remove a model or an endpoint that nothing depends on, such as one with a mistyped name."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", default="", help="Name of the model.")
        parser.add_argument("--endpoint", default="", help="Name of an endpoint to remove, instead of a model.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["name"]) == bool(options["endpoint"]):
            raise CommandError("Give either the name of a model or an endpoint (--endpoint).")
        try:
            workspace = workspace_for_command(options["workspace"])
            found: Row = (
                _model(workspace, options["name"])
                if options["name"]
                else endpoint_named(workspace, options["endpoint"])
            )
            what = found._meta.verbose_name
            remove(found)
        except StillUsed as error:
            raise CommandError(f"{found.name}: {error}") from error
        except UserError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"The {what} {found.name} has been removed.")


def _model(workspace: Workspace, name: str) -> LanguageModel:
    """Return the model of this name. Raises ServingRefused, which lists the known names."""
    models = LanguageModel.objects.filter(workspace=workspace)
    model = models.filter(name=name).first()
    if model is None:
        known = ", ".join(models.values_list("name", flat=True)[:20])
        raise ServingRefused(f"There is no model {name!r}; there are: {known or 'none'}.")
    return model

"""Add a person to a workspace from the terminal, above all the first owner of a new installation."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.changes import add_person, new_password
from accounts.members.workspaces import workspace_for_command
from accounts.models import Membership
from core.errors import UserError


class Command(BaseCommand):
    help = "Add a member to a workspace, or give one a new password; prints the password once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="Name to sign in with.")
        parser.add_argument("--role", choices=Membership.Role.values, default=Membership.Role.OWNER.value)
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument("--new-password", action="store_true", help="Give an existing member a new password.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            if options["new_password"]:
                membership = workspace.memberships.filter(user__username=options["name"]).first()
                if membership is None:
                    raise CommandError(
                        f"There is no member of workspace {workspace.slug} named {options['name']!r}; "
                        "add them without --new-password."
                    )
                password = new_password(membership=membership, by=None)
            else:
                _user, password = add_person(workspace=workspace, username=options["name"], role=options["role"])
        except UserError as error:
            raise CommandError(str(error)) from error
        if password:
            self.stdout.write(f"{options['name']} signs in with the password {password}")
            self.stdout.write("It is shown only now; it can be changed on the page My account.")
        else:
            self.stdout.write(f"{options['name']} had an account and now belongs to {workspace.slug} too.")

"""Make somebody an owner of the server, or no longer one: the only way, because no page does."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.members.changes import check_name, drawn_password
from accounts.models import Event, User
from core.errors import UserError
from core.terminal import person_at_terminal


class Command(BaseCommand):
    help = (
        "Let an account administer the whole server at /admin/, in all workspaces. A new account is created, and its "
        "password is printed once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="Name to sign in with.")
        parser.add_argument("--end", action="store_true", help="End the right instead; the account stays.")

    def handle(self, *args: Any, **options: Any) -> None:
        name, allowed, password = User.normalize_username(options["name"]), not options["end"], ""
        with transaction.atomic():
            user = User.objects.select_for_update().filter(username=name).first()
            if user is None and not allowed:
                raise CommandError(f"There is no account {name!r}.")
            if user is None:
                try:
                    check_name(name)
                except UserError as error:
                    raise CommandError(str(error)) from error
                password = drawn_password()
                user = User.objects.create_user(name, password=password, password_given=True)
            before = {"superuser": user.is_superuser}
            user.is_staff = user.is_superuser = allowed
            user.save(update_fields=["is_staff", "is_superuser"])
            Event.objects.create(
                verb="superuser made" if allowed else "superuser ended",
                object_type="accounts.User",
                object_id=user.public_id,
                before=before,
                after={"superuser": allowed, "made_by": person_at_terminal()},
            )
        self.stdout.write(f"{name} {'now administers' if allowed else 'no longer administers'} this server.")
        if password:
            self.stdout.write(f"{name} signs in with the password {password}")
            self.stdout.write("It is shown only now; it can be changed on the page My account.")

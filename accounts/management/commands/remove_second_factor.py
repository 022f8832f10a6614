"""Remove the second factors of a person who has lost them."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.sign_in.record import record


class Command(BaseCommand):
    help = "Remove the second factors, passkeys and recovery codes of a person who has lost them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="Sign-in name of the person.")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        if not settings.IDENTITY.factors:
            raise CommandError("Second factors are off; turn on PLUMBLINE_SECOND_FACTOR or PLUMBLINE_PASSKEYS.")
        from allauth.mfa.models import Authenticator

        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no account {name!r}; check the name on the page Members.")
        removed, _rows = Authenticator.objects.filter(user=user).delete()
        record(user, "second factor removed", after={"kind": "all", "by": "command"})
        self.stdout.write(f"{name} signs in without a second factor now ({removed} removed). Ask them to add one.")

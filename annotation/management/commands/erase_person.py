"""Erase an account or a rater on request: the operator's way, beside the person's own and the lead's page."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from annotation.models import Rater
from annotation.privacy.erasure import erase_account, erase_rater, what_account_loses
from annotation.studies.nouns import in_words
from core.errors import UserError


class Command(BaseCommand):
    help = (
        "Delete an account with everything that names the person, or erase a rater who has none. Answers stay, without "
        "a name. Says what would go; --yes does it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="The name to sign in with, or with --rater the id in the rater's address.")
        parser.add_argument("--rater", action="store_true", help="The name is the id of a rater without an account.")
        parser.add_argument("--yes", action="store_true", help="Erase the person.")

    def handle(self, *args: Any, **options: Any) -> None:
        name, model = options["name"], Rater if options["rater"] else User
        rows: Any = model._default_manager
        person = rows.filter(**{"public_id" if options["rater"] else "username": name}).first()
        if person is None:
            raise CommandError(f"There is no {'rater' if options['rater'] else 'account'} {name!r}.")
        if not options["yes"]:
            lost = what_account_loses(person) if isinstance(person, User) else {}
            for noun, count in in_words(lost):
                self.stdout.write(f"Would delete: {count:,} {noun}")
            self.stdout.write("Would erase the name, platform ids and free texts, and keep the answers.")
            self.stdout.write("Nothing has changed. Say --yes to erase.")
            return
        try:
            counts = erase_account(person, by=None) if isinstance(person, User) else erase_rater(person, by=None)
        except UserError as error:
            raise CommandError(str(error)) from error
        tables = {what: count for what, count in counts.items() if "." in what}
        texts = [(what.replace("_", " "), count) for what, count in counts.items() if what not in tables]
        for noun, count in [*in_words(tables), *texts]:
            if count:
                self.stdout.write(f"Erased: {count:,} {noun}")
        self.stdout.write("The person is erased; the answers are kept.")

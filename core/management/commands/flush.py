"""Empty the database, records included: Django's own command, through the door of the append-only tables."""

from typing import Any

from django.core.management.commands import flush

from core.db.append_only import removing


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        with removing(None, using=options["database"]):
            super().handle(**options)

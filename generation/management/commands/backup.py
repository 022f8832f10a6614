"""Save the whole database and the journal to one file, also while the server runs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from core.backup.saving import save
from core.errors import UserError
from generation.execution.code_version import code_version
from generation.execution.write_ahead_log import all_logs


class Command(BaseCommand):
    help = (
        "Save all rows of one moment, the journal of this machine and the names of the settings to one file, from which "
        "`restore` makes the same on SQLite or PostgreSQL. The server may run. Secrets are named and not saved."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("place", type=Path, metavar="FILE|FOLDER", help="A new file, or a folder for one.")

    def handle(self, *args: Any, **options: Any) -> None:
        place: Path = options["place"]
        try:
            path, manifest = save(place, version=code_version(), journal=all_logs, now=timezone.now())
        except UserError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(
                f"{place} cannot be written ({error.strerror or error}); choose another place."
            ) from error
        rows = sum(entry.count for entry in manifest.tables.values())
        size = path.stat().st_size / 1e6
        self.stdout.write(
            f"{path}: {rows:,} rows of {len(manifest.tables)} tables and {len(manifest.journal)} files of the journal "
            f"({size:,.1f} MB). It holds hashes of passwords and what people wrote: keep it as safe as the database."
        )
        secret = [name for name, value in manifest.settings.items() if value is None]
        if secret:
            self.stdout.write(f"Keep the values of these settings elsewhere: {', '.join(secret)}.")
        if manifest.not_included:
            self.stdout.write(f"Not included, since no model has them: {', '.join(manifest.not_included)}.")

"""Restore a backup into an empty database of either kind."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from core.backup.archive import BackupArchive, opened
from core.backup.restoring import NotEmpty, check_empty, check_version, load, same_key
from core.errors import UserError
from generation.execution.write_ahead_log import leave_log


class Command(BaseCommand):
    help = (
        "Restore a file that `backup` made into an empty database, SQLite or PostgreSQL, whichever it was made on. Rows, "
        "counts and hashes are compared at the end; if anything is amiss, nothing is changed. Stop the server first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--replace", action="store_true", help="Delete what the database holds, once its name has been typed."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with opened(options["file"]) as archive:
                check_version(archive)
                if options["replace"]:
                    self._confirm()
                rows = load(archive, replace=options["replace"])
                self._restore_journal(archive)
                self._say(archive, rows)
        except UserError as error:
            raise CommandError(str(error)) from error

    def _confirm(self) -> None:
        """Ask for the database's name before rows are deleted."""
        try:
            check_empty()
        except NotEmpty as filled:
            name = Path(str(connection.settings_dict["NAME"])).name
            self.stdout.write(f"This deletes the {filled.rows:,} rows of {name}. Type {name} to go on:")
            self.stdout.flush()
            try:
                typed = input()
            except EOFError:
                typed = ""
            if typed.strip() != name:
                raise CommandError(f"That is not {name}; nothing has been changed.") from None

    def _restore_journal(self, archive: BackupArchive) -> None:
        try:
            for name, content in archive.journal():
                leave_log(name, content)
        except OSError as error:
            raise CommandError(
                f"All rows are restored, but not the journal ({error.strerror or error}): calls whose replies were in it "
                "are made again. Check PLUMBLINE_DATA_DIR."
            ) from error

    def _say(self, archive: BackupArchive, rows: int) -> None:
        manifest = archive.manifest
        self.stdout.write(
            f"{rows:,} rows of {len(manifest.tables)} tables and {len(manifest.journal)} files of the journal are restored "
            f"as they were on {manifest.made_at}; counts and hashes agree."
        )
        stated = [f"{name}={value}" for name, value in manifest.settings.items() if value is not None]
        if stated:
            self.stdout.write(f"The server that was saved had these settings: {' '.join(stated)}")
        secret = [name for name, value in manifest.settings.items() if value is None]
        if secret:
            self.stdout.write(f"These were set, too, and their values are not in the backup: {', '.join(secret)}.")
        if not same_key(archive):
            self.stdout.write(
                self.style.WARNING(
                    "PLUMBLINE_SECRET_KEY is not the one of the server that was saved. Without that key everybody is signed "
                    "out, and raters without an account are not recognised by their browser or participant ID."
                )
            )

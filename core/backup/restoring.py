"""Restoring a backup: everything in one transaction, which ends only if counts and hashes are those of the backup."""

from collections.abc import Callable

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from core.backup.archive import BackupArchive
from core.backup.environment import key_print
from core.backup.rows import RowsHash, columns_of, insert_lines, lines_of, tables
from core.backup.snapshot import set_next_id, without_triggers
from core.errors import UserError
from core.terminal import progress_shown

MADE_BY_MIGRATE = {
    *("django_content_type", "auth_permission", "django_site"),
    *("annotation_studycounter", "annotation_studychange"),
}
"""Tables that `migrate` fills, with numbers of their own, as far as there are such; a restore replaces their rows."""


class NotEmpty(UserError):
    """The database holds rows; `rows` is their number."""

    def __init__(self, sentence: str, rows: int) -> None:
        super().__init__(sentence)
        self.rows = rows


def check_version(archive: BackupArchive, using: str = DEFAULT_DB_ALIAS) -> None:
    """Migrate an empty database. Raises UserError if the backup or the database is of another version."""
    theirs = {f"{app}.{name}" for app, names in archive.manifest.migrations.items() for name in names}
    needed, known = _migrations_of_this_program()
    lacking, extra = sorted(needed - theirs), sorted(theirs - known)
    if lacking or extra:
        words = [f"lacks {len(lacking)} of this version's migrations ({lacking[0]}, ...)"] if lacking else []
        words += [f"has {len(extra)} migrations that this version does not know ({extra[0]}, ...)"] if extra else []
        raise UserError(
            f"{archive.path} is a backup of another version, {archive.manifest.version}: it {' and '.join(words)}. "
            "Restore it with that version, and then upgrade; nothing has been changed."
        )
    models = tables()
    stated = {name: entry.columns for name, entry in archive.manifest.tables.items()}
    if stated != {name: [one.column for one in columns_of(model)] for name, model in models.items()}:
        raise UserError(
            f"{archive.path} does not have the tables and columns of this version; nothing has been changed. "
            "Use another copy, or the version that made it."
        )
    connection = connections[using]
    if not connection.introspection.table_names():
        call_command("migrate", database=using, verbosity=0, interactive=False)
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise UserError(
            f"The database {_place(connection)} is of another version; run `{settings.PROGRAM} migrate` first."
        )


def check_empty(using: str = DEFAULT_DB_ALIAS) -> None:
    """Raise NotEmpty if a table holds rows that `migrate` has not made."""
    counts = {name: model._base_manager.using(using).count() for name, model in tables().items()}
    filled = {name: count for name, count in counts.items() if count and name not in MADE_BY_MIGRATE}
    if filled:
        largest = max(filled, key=lambda name: filled[name])
        rows = sum(filled.values())
        raise NotEmpty(
            f"The database {_place(connections[using])} is not empty: {len(filled)} tables hold {rows:,} rows "
            f"({largest}: {filled[largest]:,}). Restore into an empty database, or add --replace to delete them; nothing "
            "has been changed.",
            rows,
        )


def load(archive: BackupArchive, *, using: str = DEFAULT_DB_ALIAS, replace: bool = False) -> int:
    """Put the backup's rows in place of all others and return their number; all or nothing. Raises UserError."""
    connection, models, entries = connections[using], tables(), archive.manifest.tables
    total = sum(entry.count for entry in entries.values())
    with transaction.atomic(using=using), progress_shown("Rows", 2 * total) as shown:
        if not replace:
            check_empty(using)
        with without_triggers(connection):
            _clear(connection, [name for name in models if replace or name in MADE_BY_MIGRATE])
            for name, model in models.items():
                try:
                    with archive.lines(name) as lines:
                        for count in insert_lines(model, lines, using=using):
                            shown(count)
                except (ValueError, EOFError, DatabaseError) as error:
                    raise UserError(
                        f"{archive.path} cannot be restored: {name} is refused ({str(error).strip().splitlines()[0]}). "
                        "Nothing has been changed; use another copy."
                    ) from error
                if entries[name].next_id:
                    set_next_id(connection, model, entries[name].next_id)
        _verify(archive, using, shown)
    return total


def same_key(archive: BackupArchive) -> bool:
    """Return whether this server has the secret key of the one that made the backup."""
    return archive.manifest.key == key_print()


def _clear(connection: BaseDatabaseWrapper, names: list[str]) -> None:
    """Delete every row of these tables."""
    quoted = [connection.ops.quote_name(name) for name in names]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and len(names) > len(MADE_BY_MIGRATE & set(tables())):
            cursor.execute(f"TRUNCATE {', '.join(quoted)}")
            return
        for name in quoted:
            cursor.execute(f"DELETE FROM {name}")  # nosec B608 # names of our own


def _verify(archive: BackupArchive, using: str, shown: Callable[[int], None]) -> None:
    """Read every row again. Raises UserError if a table is not what the backup says."""
    for name, model in tables().items():
        rows, entry = RowsHash(model), archive.manifest.tables[name]
        for _line in lines_of(model, using=using, into=rows):
            pass
        shown(rows.count)
        if (rows.count, rows.hash) != (entry.count, entry.hash):
            raise UserError(
                f"After restoring, {name} held {rows.count:,} rows and not the {entry.count:,} of the backup as they were; "
                "nothing has been changed. Report this with the version and both databases' kinds."
            )


def _migrations_of_this_program() -> tuple[set[str], set[str]]:
    """Return the migrations that a database of this version has applied, and all that it may have applied."""
    migrations = MigrationLoader(None).disk_migrations
    replaced = {f"{app}.{name}" for one in migrations.values() for app, name in one.replaces}
    needed = {f"{app}.{name}" for (app, name), one in migrations.items() if not one.replaces}
    return needed, needed | replaced | {f"{app}.{name}" for app, name in migrations}


def _place(connection: BaseDatabaseWrapper) -> str:
    return str(connection.settings_dict["NAME"])

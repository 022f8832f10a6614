"""Database triggers that refuse to change rows which are a record; a correction is a new row.

When Django alters a table on SQLite, it rebuilds the table and thereby drops its triggers. A migration that alters such
a table must therefore repeat the step; a test checks that all triggers exist.
"""

from collections.abc import Callable, Sequence

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

Step = Callable[[StateApps, BaseDatabaseSchemaEditor], None]


def forbid_update(table: str, columns: Sequence[str]) -> migrations.RunPython:
    """Return a migration step after which an update of any of `columns` in `table` fails, on SQLite and PostgreSQL."""

    return migrations.RunPython(*_steps(table, columns))


def renew_on_sqlite(table: str, columns: Sequence[str]) -> migrations.RunPython:
    """Return the step that creates the trigger again after SQLite has rebuilt the table; on PostgreSQL it does nothing."""
    create, _drop = _steps(table, columns)

    def renew(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "sqlite":
            editor.execute(f"DROP TRIGGER IF EXISTS {table}_append_only")
            create(apps, editor)

    return migrations.RunPython(renew, migrations.RunPython.noop)


def forbid_update_of_more(table: str, columns: Sequence[str], more: Sequence[str]) -> migrations.RunPython:
    """A migration step after which updating any of `more` fails as well, where `columns` of the table were watched."""
    create_less, drop_less = _steps(table, columns)
    create_all, drop_all = _steps(table, [*columns, *more])

    def forwards(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        drop_less(apps, editor)
        create_all(apps, editor)

    def backwards(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        drop_all(apps, editor)
        create_less(apps, editor)

    return migrations.RunPython(forwards, backwards)


def _steps(table: str, columns: Sequence[str]) -> tuple[Step, Step]:
    def create(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        watched = ", ".join(columns)
        message = f"{table} is append-only"
        if editor.connection.vendor == "postgresql":
            editor.execute(
                f"CREATE FUNCTION {table}_append_only() RETURNS trigger AS "
                f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$ LANGUAGE plpgsql"
            )
            editor.execute(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OF {watched} ON {table} "
                f"FOR EACH ROW EXECUTE FUNCTION {table}_append_only()"
            )
        else:
            editor.execute(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OF {watched} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
            )

    def drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "postgresql":
            editor.execute(f"DROP TRIGGER {table}_append_only ON {table}")
            editor.execute(f"DROP FUNCTION {table}_append_only()")
        else:
            editor.execute(f"DROP TRIGGER {table}_append_only")

    return create, drop

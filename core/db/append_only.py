"""Database triggers that refuse to change or remove rows which are a record, and the one door through them.

A correction is a new row. `removing` is the only way by which rows go: for the erasure of a person, the deletion of a
study or workspace, and the undo of an import, each of which stores an event with its counts.

When Django alters a table on SQLite, it rebuilds the table and thereby drops its triggers. A migration that alters such
a table must therefore end with `keep_on_sqlite`; a test checks that all triggers exist.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, migrations, models, router, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState, StateApps

Step = Callable[[StateApps, BaseDatabaseSchemaEditor], None]
AnyEvent = TypeVar("AnyEvent", bound=models.Model | None)


class TriggerStep(migrations.RunPython):
    """A step that runs statements alone and reads no model.

    RunPython builds every model of the migration's state anew for its function, a third of the time that an empty
    database takes. `code` and `reverse_code` are given no models.
    """

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if router.allow_migrate(schema_editor.connection.alias, app_label, **self.hints):
            self.code(StateApps([], {}), schema_editor)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if self.reverse_code is None:
            raise NotImplementedError("This step cannot be reversed.")
        if router.allow_migrate(schema_editor.connection.alias, app_label, **self.hints):
            self.reverse_code(StateApps([], {}), schema_editor)


DOOR = "plumbline_removing"
"""The table of SQLite whose rows open the door; none is ever committed. No model has it, so that no flush empties it."""
SETTING = "plumbline.removing"


@contextmanager
def removing(event: AnyEvent, *, using: str = DEFAULT_DB_ALIAS) -> Iterator[AnyEvent]:
    """Let the block change and delete rows that are a record, in one transaction of its own, and store `event` after it.

    The block may fill in the event, such as what it removed. None is for databases that are no record: scratch copies,
    and those that are emptied altogether. The door is open to this transaction alone and ends with the block.
    """
    connection = connections[using]
    with transaction.atomic(using=using):
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SELECT coalesce(current_setting(%s, true), '')", [SETTING])
                (before,) = cursor.fetchone()
                cursor.execute("SELECT set_config(%s, 'on', true)", [SETTING])
            else:
                cursor.execute(f"INSERT INTO {DOOR} DEFAULT VALUES")
                before = cursor.lastrowid
        yield event
        if event is not None:
            event.save(using=using)
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SELECT set_config(%s, %s, true)", [SETTING, before])
            else:
                cursor.execute(f"DELETE FROM {DOOR} WHERE id = %s", [before])  # nosec B608 # names of our own


def make_door() -> TriggerStep:
    """Return the migration step that creates the door's table on SQLite; PostgreSQL has a setting instead."""

    def make(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "sqlite":
            editor.execute(f"CREATE TABLE {DOOR} (id INTEGER PRIMARY KEY)")

    def remove(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "sqlite":
            editor.execute(f"DROP TABLE {DOOR}")

    return TriggerStep(make, remove)


def keep(table: str, columns: Sequence[str]) -> TriggerStep:
    """Return a migration step after which `table`, whose `columns` are watched, refuses DELETE and TRUNCATE as well."""

    def forwards(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "postgresql":
            editor.execute(_function(table, door=True))
            editor.execute(f"CREATE TRIGGER {table}_kept BEFORE DELETE ON {table} {_each('ROW', table)}")
            editor.execute(f"CREATE TRIGGER {table}_not_emptied BEFORE TRUNCATE ON {table} {_each('STATEMENT', table)}")
        else:
            _keep_on_sqlite(editor, table, columns)

    def backwards(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "postgresql":
            editor.execute(f"DROP TRIGGER {table}_kept ON {table}")
            editor.execute(f"DROP TRIGGER {table}_not_emptied ON {table}")
            editor.execute(_function(table, door=False))
        else:
            editor.execute(f"DROP TRIGGER {table}_kept")
            editor.execute(f"DROP TRIGGER {table}_append_only")
            _steps(table, columns)[0](apps, editor)

    return TriggerStep(forwards, backwards)


def keep_on_sqlite(table: str, columns: Sequence[str]) -> TriggerStep:
    """Return the step that creates the triggers of `keep` again after SQLite has rebuilt the table."""

    def renew(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "sqlite":
            _keep_on_sqlite(editor, table, columns)

    return TriggerStep(renew, migrations.RunPython.noop)


def keep_more(table: str, columns: Sequence[str], more: Sequence[str]) -> TriggerStep:
    """Return the step after which updating any of `more` fails as well, where `keep` watched `columns` of the table."""

    def watched(columns: Sequence[str]) -> Step:
        def renew(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
            if editor.connection.vendor == "postgresql":
                editor.execute(f"DROP TRIGGER {table}_append_only ON {table}")
                editor.execute(
                    f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OF {', '.join(columns)} ON {table} "
                    f"{_each('ROW', table)}"
                )
            else:
                _keep_on_sqlite(editor, table, columns)

        return renew

    return TriggerStep(watched([*columns, *more]), watched(columns))


def _keep_on_sqlite(editor: BaseDatabaseSchemaEditor, table: str, columns: Sequence[str]) -> None:
    for name, deed in (("append_only", f"UPDATE OF {', '.join(columns)}"), ("kept", "DELETE")):
        editor.execute(f"DROP TRIGGER IF EXISTS {table}_{name}")
        editor.execute(
            f"CREATE TRIGGER {table}_{name} BEFORE {deed} ON {table} WHEN NOT EXISTS (SELECT 1 FROM {DOOR}) "  # nosec B608 # names of our own
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )


def _function(table: str, *, door: bool) -> str:
    refusal = f"RAISE EXCEPTION '{table} is append-only';"
    if door:
        # Where the door is open, a row that is deleted is returned as it was; a statement returns nothing.
        shut = f"coalesce(current_setting('{SETTING}', true), '') <> 'on'"
        refusal = (
            f"IF {shut} THEN {refusal} END IF; IF TG_OP = 'UPDATE' THEN RETURN NEW; END IF; "
            "IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NULL;"
        )
    return (
        f"CREATE OR REPLACE FUNCTION {table}_append_only() RETURNS trigger AS $$ BEGIN {refusal} END $$ "
        "LANGUAGE plpgsql"
    )


def _each(what: str, table: str) -> str:
    return f"FOR EACH {what} EXECUTE FUNCTION {table}_append_only()"


def forbid_update(table: str, columns: Sequence[str]) -> TriggerStep:
    """Return a migration step after which an update of any of `columns` in `table` fails, on SQLite and PostgreSQL."""

    return TriggerStep(*_steps(table, columns))


def renew_on_sqlite(table: str, columns: Sequence[str]) -> TriggerStep:
    """Return the step that creates the trigger again after SQLite has rebuilt the table; on PostgreSQL it does nothing."""
    create, _drop = _steps(table, columns)

    def renew(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "sqlite":
            editor.execute(f"DROP TRIGGER IF EXISTS {table}_append_only")
            create(apps, editor)

    return TriggerStep(renew, migrations.RunPython.noop)


def forbid_update_of_more(table: str, columns: Sequence[str], more: Sequence[str]) -> TriggerStep:
    """A migration step after which updating any of `more` fails as well, where `columns` of the table were watched."""
    create_less, drop_less = _steps(table, columns)
    create_all, drop_all = _steps(table, [*columns, *more])

    def forwards(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        drop_less(apps, editor)
        create_all(apps, editor)

    def backwards(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        drop_all(apps, editor)
        create_less(apps, editor)

    return TriggerStep(forwards, backwards)


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

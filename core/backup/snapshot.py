"""A connection of its own that sees one state of the database, however long it reads, while others write."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model
from django.db.utils import load_backend

SNAPSHOT = "backup"


@contextmanager
def snapshot() -> Iterator[str]:
    """Yield the alias of a connection in a transaction that reads one state and writes nothing."""
    settings = deepcopy(connections["default"].settings_dict)
    settings |= {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": False, "ATOMIC_REQUESTS": False}
    # Rows are streamed by a cursor of the transaction, which holds behind a pooler of transactions as well.
    settings["DISABLE_SERVER_SIDE_CURSORS"] = False
    if connections["default"].vendor == "postgresql":
        from psycopg import IsolationLevel

        settings["OPTIONS"]["isolation_level"] = IsolationLevel.REPEATABLE_READ
    else:
        settings["OPTIONS"]["transaction_mode"] = "DEFERRED"  # reading keeps no writer waiting in WAL mode
    connections[SNAPSHOT] = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, SNAPSHOT)
    try:
        with transaction.atomic(using=SNAPSHOT):
            with connections[SNAPSHOT].cursor() as cursor:
                if connections[SNAPSHOT].vendor == "postgresql":
                    cursor.execute("SET TRANSACTION READ ONLY")
                cursor.execute("SELECT count(*) FROM django_migrations")  # from here on the state is fixed
                cursor.fetchone()
            yield SNAPSHOT
    finally:
        connections[SNAPSHOT].close()
        del connections[SNAPSHOT]


@contextmanager
def without_triggers(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Let no trigger run in the block, in the transaction under way: what triggers add is among the rows of a backup.

    If the block fails, the transaction must be rolled back, which brings the triggers back.
    """
    postgres = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        if postgres:
            cursor.execute(
                "SELECT DISTINCT t.tgrelid::regclass::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
                " WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace"
            )
            off = [(f"ALTER TABLE {table} DISABLE TRIGGER USER", table) for (table,) in cursor.fetchall()]
            on = [f"ALTER TABLE {table} ENABLE TRIGGER USER" for _statement, table in off]
        else:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            found = cursor.fetchall()
            off = [(f"DROP TRIGGER {connection.ops.quote_name(name)}", name) for name, _sql in found]
            on = [sql for _name, sql in found]
        for statement, _name in off:
            cursor.execute(statement)
    yield
    connection.check_constraints()  # a table with checks that are still to come cannot be altered
    with connection.cursor() as cursor:
        for statement in on:
            cursor.execute(statement)


def applied_migrations(connection: BaseDatabaseWrapper) -> dict[str, list[str]]:
    """Return the names of the applied migrations of every app, sorted."""
    found: dict[str, list[str]] = {}
    for app, name in MigrationRecorder(connection).applied_migrations():
        found.setdefault(app, []).append(name)
    return {app: sorted(found[app]) for app in sorted(found)}


def next_id(connection: BaseDatabaseWrapper, model: type[Model]) -> int:
    """Return the number that the next row gets; 0 if the table numbers no rows, 1 before the first."""
    if model._meta.auto_field is None:
        return 0
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"SELECT last_value + is_called::int FROM {_sequence(connection, model)}")  # nosec B608 # names of our own
        else:
            cursor.execute("SELECT seq + 1 FROM sqlite_sequence WHERE name = %s", [model._meta.db_table])
        row = cursor.fetchone()
    return int(row[0]) if row else 1


def set_next_id(connection: BaseDatabaseWrapper, model: type[Model], number: int) -> None:
    """Make the next row get this number, so that the number of a row that was deleted is not given out again."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT setval(%s::regclass, %s, false)", [_sequence(connection, model), number])
        else:
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, number - 1])


def _sequence(connection: BaseDatabaseWrapper, model: type[Model]) -> str:
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(model._meta.db_table)
        cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [table, model._meta.pk.column])
        return str(cursor.fetchone()[0])

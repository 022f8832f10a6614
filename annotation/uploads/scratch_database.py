"""A copy of the database of SQLite for work that is rolled back, so that it holds no lock that others wait for."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction


@contextmanager
def on_a_copy(folder: Path) -> Iterator[None]:
    """Let the block of this thread use a copy of the database in `folder`, where others could not write meanwhile.

    That is so on SQLite alone: elsewhere, and inside a transaction, whose changes no copy would have, the block uses the
    database itself. Nothing that the block stores is kept on SQLite, so the block must be one that is rolled back.
    """
    if connection.vendor != "sqlite" or transaction.get_connection().in_atomic_block:
        yield
        return
    real, path = connections[DEFAULT_DB_ALIAS], folder / "copy.sqlite3"
    real.ensure_connection()
    target = sqlite3.connect(path)
    try:
        with real.wrap_database_errors:  # a full disk, say
            real.connection.backup(target)
    finally:
        target.close()
    copy = type(real)({**real.settings_dict, "NAME": str(path)}, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = copy
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = real
        copy.close()

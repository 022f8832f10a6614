"""Threads of a test, each with its own connection to what the test stored."""

import sqlite3
from contextlib import closing, contextmanager

from django.db import connection, connections


@contextmanager
def many_connections(folder):
    """Threads of their own connections: on SQLite to a file, since the tests' database is in memory."""
    if connection.vendor != "sqlite":
        yield
        return
    path = folder / "parallel.sqlite3"
    connection.ensure_connection()
    with closing(sqlite3.connect(path)) as file:
        connection.connection.backup(file)
        # Connections that all change the mode of a new file at once may find it locked, however long they would wait.
        file.execute("PRAGMA journal_mode=WAL")
    known = connections.databases["default"]
    connections.databases["default"] = {**known, "NAME": str(path)}
    try:
        yield
    finally:
        connections.databases["default"] = known

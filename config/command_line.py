"""The command line, which reports unusable settings or an unusable database in one sentence without a traceback."""

import sys
from collections.abc import Sequence

SERVERS = ("runserver", "testserver")
"""Commands that answer other clients; the address on which they listen is not known in advance."""


def run(arguments: Sequence[str]) -> None:
    """Run a command; --data says where its data are, and --traceback shows where an error occurred."""
    from django.core.checks import Tags
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import BaseCommand, execute_from_command_line
    from django.db import DatabaseError

    from config import environment
    from config.places import take_data_option

    # A check of the addresses imports every page with all that it shows, which takes longer than most commands. The
    # commands that serve pages or change the database check them, as does `manage.py check`.
    BaseCommand.requires_system_checks = [Tags.models, Tags.database]
    try:
        arguments = take_data_option(arguments)
        environment.in_shell = not any(word in SERVERS for word in arguments[1:])
        __import__("config.settings")
    except ImproperlyConfigured as error:
        if "--traceback" in arguments:
            raise
        sys.exit(str(error))
    if arguments[1:] in ([], ["help"], ["--help"]):
        from django.conf import settings

        print(f"Every command keeps its data in {settings.DATA_DIR}, or with --data DIR in another folder.")
    try:
        execute_from_command_line(list(arguments))
    except DatabaseError as error:
        said = None if "--traceback" in arguments else database_sentence(error)
        if said is None:
            raise
        sys.exit(said)


def database_sentence(error: Exception) -> str | None:
    """Return what is wrong with the database and what to do, or None if the fault is the program's."""
    from django.conf import settings
    from django.db import DatabaseError, IntegrityError, connection

    address = connection.settings_dict
    place = f"{address['HOST']}/{address['NAME']}" if address["HOST"] else str(address["NAME"])
    if "locked" in str(error):
        return (
            f"Another program has been writing to {place} for {address['OPTIONS'].get('timeout', 0)} seconds; "
            "try again when it is done."
        )
    if isinstance(error, IntegrityError):
        return (
            f"Another program has written the same to {place} at the same time ({_first_line(error)}); nothing of "
            "this step is kept, run the command again."
        )
    connection.close()
    try:
        connection.ensure_connection()
    except DatabaseError as refusal:
        reason = _first_line(refusal)
        return f"The database {place} cannot be opened ({reason}); check DATABASE_URL and that its server runs."
    missing = _missing_migrations()
    if missing:
        return f"The database {place} has {missing} migrations to apply; run `{settings.PROGRAM} migrate` first."
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def _missing_migrations() -> int:
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))

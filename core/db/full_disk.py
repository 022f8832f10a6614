"""Whether an error says that a disk is full: of this machine, of SQLite's file, or of PostgreSQL's server."""

import errno
import shutil
import tempfile
from pathlib import Path

from django.conf import settings
from django.db import Error, connection

MEGABYTE = 1024 * 1024
PROBE = 256 * 1024
"""Bytes that are written to see whether there is room: a quota shows only then."""
FULL = (errno.ENOSPC, errno.EDQUOT)


def is_full(error: BaseException | None) -> bool:
    """PostgreSQL says so with the code 53100; SQLite in words, or as a failed read or write on a disk without space."""
    if isinstance(error, OSError):
        return error.errno in FULL
    if not isinstance(error, Error):
        return False
    if sqlstate(error):
        return sqlstate(error) == "53100"
    words = str(error)
    return "disk is full" in words or ("disk I/O error" in words and not has_room(database_folder(), least=MEGABYTE))


def sqlstate(error: BaseException | None) -> str:
    """Return PostgreSQL's code of the error, "" where it did not come from PostgreSQL."""
    return str(getattr(getattr(error, "__cause__", None), "sqlstate", None) or "")


def database_folder() -> Path | None:
    """Return the folder of SQLite's file; None for a server's database and for one in memory."""
    name = str(connection.settings_dict["NAME"])
    return Path(name).parent if connection.vendor == "sqlite" and Path(name).is_file() else None


def has_room(*folders: Path | None, least: int | None = None) -> bool:
    """Whether the folders have so many bytes free, PLUMBLINE_DISK_FREE unless told, and take a small file."""
    needed = settings.DISK_FREE * MEGABYTE if least is None else least
    try:
        for folder in folders:
            if folder is None:
                continue
            folder.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(folder).free < needed:
                return False
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".room-") as file:
                file.write(b"\0" * PROBE)
                file.flush()
    except OSError as error:
        if error.errno in FULL:
            return False
    return True

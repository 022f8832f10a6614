"""A row for each load of a file, with what it created, so that it can be undone (annotation/importing/undo.py)."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from accounts.models import User, Workspace
from core.db.created_rows import CreatedRows, collecting
from core.terminal import person_at_terminal
from generation.library.loading import Counts
from generation.models import Import

READ_AT_ONCE = 1 << 20


class Recording:
    """One import under way, with the rows collected so far.

    `store` is called in the transaction of what was loaded, as often as there are some.
    """

    def __init__(self, command: str, file: Path, by: User | None, rows: CreatedRows) -> None:
        self.rows = rows
        who = {"actor": by} if by else {"made_by": person_at_terminal()}
        self._row = Import(command=command, file=file.resolve().name[:300], sha256=sha256_of(file), **who)

    def include(self, rows: CreatedRows) -> None:
        """Add what a part of the load, collected by itself, created and completed."""
        self.rows.include(rows)

    def store(self, workspace: Workspace, about: str, counts: Counts) -> None:
        """Store what has been created and completed so far; nothing where there is none of it."""
        row, created, former = self._row, self.rows.ranges(), self.rows.former()
        if created or former:
            row.workspace, row.about, row.created, row.former = workspace, about[:100], created, former
            row.counts = {name: count for name, count in asdict(counts).items() if count}
            row.save()

    def stored(self) -> Import | None:
        """Return the import as it is stored; None if nothing was, or if its transaction was rolled back."""
        row = self._row
        same = {name: getattr(row, name) for name in ("command", "file", "sha256", "about")}
        return Import.objects.filter(pk=row.pk, workspace=row.workspace_id, **same).first() if row.pk else None


@contextmanager
def recorded(command: str, file: Path, by: User | None = None) -> Iterator[Recording]:
    """Collect what the block loads from the file, or from the files of a folder."""
    with collecting() as rows:
        yield Recording(command, file, by, rows)


def sha256_of(path: Path) -> str:
    """The hash of a file, or of the names and contents of all files of a folder; '' where nothing can be read."""
    found = hashlib.sha256()
    files = sorted(one for one in path.rglob("*") if one.is_file() and ".git" not in one.parts) if path.is_dir() else []
    try:
        for file in files or [path]:
            if files:
                found.update(str(file.relative_to(path)).encode() + b"\0")
            with file.open("rb") as stream:
                while block := stream.read(READ_AT_ONCE):
                    found.update(block)
    except OSError:
        return ""
    return found.hexdigest()

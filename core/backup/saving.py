"""Making a backup: all rows of one moment, the journal, and what the server's environment says."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from django.db import connections

from core.backup.archive import FORMAT, BackupFile, Manifest, TableEntry, table_file
from core.backup.environment import key_print, variables
from core.backup.rows import AT_ONCE, RowsHash, columns_of, lines_of, tables
from core.backup.snapshot import applied_migrations, next_id, snapshot
from core.errors import UserError
from core.terminal import progress_shown

WITHOUT_MODEL = {"django_migrations", "plumbline_removing"}
"""Tables that hold no data of anybody: the record of migrations, which the manifest repeats, and the door for removals."""


def save(
    place: Path, *, version: str, journal: Callable[[], Mapping[str, bytes]], now: datetime
) -> tuple[Path, Manifest]:
    """Write a backup to a new file, or to a file named after the time in a folder. Raises UserError, OSError."""
    path = place / f"plumbline-{now:%Y%m%dT%H%M%SZ}.tar" if place.is_dir() else place
    if path.exists():
        raise UserError(f"{path} exists already, and a backup replaces no file; choose another name.")
    # A reply in flight is in the journal until it is in a row, so the journal is read before the moment and right after.
    before = journal()
    with snapshot() as using:
        logs = dict(before)
        for name, content in journal().items():
            logs[name] = max(content, logs.get(name, b""), key=len)
        file = BackupFile(path)
        try:
            manifest = _write(file, using, logs, version=version, now=now)
            file.finish(path, manifest)
        finally:
            file.discard()
    return path, manifest


def _write(file: BackupFile, using: str, logs: Mapping[str, bytes], *, version: str, now: datetime) -> Manifest:
    connection = connections[using]
    models = tables()
    entries: dict[str, TableEntry] = {}
    total = sum(model._base_manager.using(using).count() for model in models.values())
    with progress_shown("Rows", total) as shown:
        for name, model in sorted(models.items()):
            rows = RowsHash(model)
            digest = file.add_lines(table_file(name), _shown(lines_of(model, using=using, into=rows), shown))
            columns = [one.column or "" for one in columns_of(model)]
            entries[name] = TableEntry(columns, rows.count, rows.hash, next_id(connection, model), digest)
    held = {f"journal/{name}": file.add_bytes(f"journal/{name}", content) for name, content in sorted(logs.items())}
    return Manifest(
        format=FORMAT,
        version=version,
        made_at=now.isoformat(timespec="seconds"),
        database=connection.vendor,
        migrations=applied_migrations(connection),
        tables=entries,
        journal=held,
        settings=variables(),
        key=key_print(),
        not_included=sorted(set(connection.introspection.table_names()) - set(models) - WITHOUT_MODEL),
    )


def _shown(lines: Iterator[str], shown: Callable[[int], None]) -> Iterator[str]:
    number = 0
    for number, line in enumerate(lines, 1):
        yield line
        if number % AT_ONCE == 0:
            shown(AT_ONCE)
    shown(number % AT_ONCE)

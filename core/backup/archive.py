"""The file of a backup: a tar of one compressed table each, the journal, and last a manifest that names and hashes them.

The manifest is written last, so a file without one is a part of a backup.
"""

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import cattrs

from core.errors import UserError

FORMAT = "plumbline-backup-1"
MANIFEST = "manifest.json"
MOST_BYTES_OF_MANIFEST = 16 * 2**20
JOURNAL = re.compile(r"journal/[A-Za-z0-9_.-]{1,200}\.jsonl")
CHUNK = 1 << 20


@dataclass(frozen=True)
class TableEntry:
    """What the file holds of a table. `next_id` is the number after the last that was given out, 0 if none are given.

    `hash` is that of the rows, `file` that of the bytes in the tar.
    """

    columns: list[str]
    count: int
    hash: str
    next_id: int
    file: str


@dataclass(frozen=True)
class Manifest:
    """What a backup holds, where it comes from, and what the server that made it was told by its environment.

    `settings` holds the values of variables, and None for those that are, or may hold, a secret. `key` tells whether a
    server has the same secret key, without telling the key. `not_included` are tables that belong to no model.
    """

    format: str
    version: str
    made_at: str
    database: str
    migrations: dict[str, list[str]]
    tables: dict[str, TableEntry]
    journal: dict[str, str]
    settings: dict[str, str | None]
    key: str
    not_included: list[str]


class BackupFile:
    """A backup that is being written; it appears under its name only when it is whole."""

    def __init__(self, path: Path) -> None:
        self._part = path.with_name(f".{path.name}.{os.getpid()}.part")
        # Whoever reads a backup reads the hashes of passwords: the file is its owner's alone.
        self._stream = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._tar = tarfile.open(fileobj=self._stream, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115

    def add_lines(self, name: str, lines: Iterable[str]) -> str:
        """Write the lines, compressed, and return the hash of the bytes."""
        with tempfile.TemporaryFile(dir=self._part.parent) as raw:
            with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=3, mtime=0) as packed:
                for line in lines:
                    packed.write(line.encode() + b"\n")
            size = raw.tell()
            raw.seek(0)
            digest = hashlib.file_digest(raw, "sha256").hexdigest()
            raw.seek(0)
            self._add(name, raw, size)
        return digest

    def add_bytes(self, name: str, content: bytes) -> str:
        self._add(name, io.BytesIO(content), len(content))
        return hashlib.sha256(content).hexdigest()

    def finish(self, path: Path, manifest: Manifest) -> None:
        """Write the manifest and let the file appear under its name."""
        self.add_bytes(MANIFEST, json.dumps(asdict(manifest), indent=1, sort_keys=True).encode())
        self._tar.close()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._part.replace(path)

    def discard(self) -> None:
        """Remove what is left of the writing."""
        self._stream.close()
        self._part.unlink(missing_ok=True)

    def _add(self, name: str, content: IO[bytes], size: int) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = size, 0o600
        self._tar.addfile(entry, content)


class BackupArchive:
    """A backup that is read; every byte has been compared with the manifest."""

    def __init__(self, path: Path, tar: tarfile.TarFile, manifest: Manifest) -> None:
        self.path, self.manifest, self._tar = path, manifest, tar

    @contextmanager
    def lines(self, table: str) -> Iterator[IO[bytes]]:
        with gzip.open(_member(self._tar, table_file(table))) as lines:
            yield lines  # type: ignore[misc]

    def journal(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name, without a folder, and the content of each file of the journal."""
        for name in self.manifest.journal:
            yield name.removeprefix("journal/"), _member(self._tar, name).read()


@contextmanager
def opened(path: Path) -> Iterator[BackupArchive]:
    """Open a backup and check that it is whole. Raises UserError, and so does reading in the block."""
    try:
        with tarfile.open(path, "r:") as tar:
            manifest = _manifest(path, tar)
            wanted = {table_file(name): entry.file for name, entry in manifest.tables.items()} | manifest.journal
            for name, digest in wanted.items():
                if hashlib.file_digest(_member(tar, name), "sha256").hexdigest() != digest:  # type: ignore[arg-type]
                    raise UserError(f"{path} is damaged: {name} is not what its manifest says. Use another copy.")
            yield BackupArchive(path, tar, manifest)
    except (tarfile.TarError, EOFError, KeyError) as error:
        raise UserError(
            f"{path} is no backup, or only a part of one ({_words(error)}); make it again or copy it again."
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}); check the name.") from error


def table_file(table: str) -> str:
    return f"tables/{table}.jsonl.gz"


def _manifest(path: Path, tar: tarfile.TarFile) -> Manifest:
    raw = _member(tar, MANIFEST).read(MOST_BYTES_OF_MANIFEST)
    try:
        loaded: Any = json.loads(raw)
        form = loaded["format"]
        if form == FORMAT:
            manifest = cattrs.structure(loaded, Manifest)
            if not all(JOURNAL.fullmatch(name) for name in manifest.journal):
                raise ValueError("a name of the journal leads elsewhere")
            return manifest
    except (ValueError, TypeError, KeyError, RecursionError, cattrs.BaseValidationError) as error:
        raise UserError(f"{path} is no backup: its manifest cannot be read. Use another copy.") from error
    raise UserError(
        f"{path} has the format {form!r} and this program reads {FORMAT!r}; restore it with the version that made it."
    )


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    """Raises KeyError if there is no such plain file."""
    content = tar.extractfile(name) if tar.getmember(name).isreg() else None
    if content is None:
        raise KeyError(f"{name} is not a plain file")
    return content


def _words(error: BaseException) -> str:
    return str(error.args[0] if error.args else error).strip(".").strip('"')

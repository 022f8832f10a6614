"""Unpack an uploaded archive: nothing outside the folder, no link, nothing larger than the limits."""

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from stat import S_ISLNK
from typing import IO

from core.errors import UserError
from core.messages.message import Wording

ENDINGS = (".zip", ".tar.gz", ".tgz")
BLOCK = 1 << 20
PASSED_OVER = {".git", "__MACOSX"}
MANY_FILES = Wording("archive.many_files", "%(archive)s holds more than %(n)s files; leave out what is not needed.")
TOO_LARGE = Wording(
    "archive.too_large",
    "%(archive)s unpacks to more than %(n)s MB; leave out what is not needed, or ask the person who runs this server to "
    "load the folder.",
)
TWICE = Wording("archive.twice", "%(archive)s: %(name)s is in it twice; pack the folder again.")
NOT_WRITTEN = Wording(
    "archive.not_written", "%(archive)s: %(name)s cannot be written (%(why)s); pack the folder again."
)
LEADS_OUT = Wording(
    "archive.leads_out", "%(archive)s: the path %(name)s leads out of the archive; pack the folder again."
)
NO_ARCHIVE = Wording("archive.none", "%(archive)s is no archive that can be read; pack it as %(one)s or %(other)s.")
NO_FILE = Wording("archive.no_file", "%(archive)s holds no file; pack the benchmark's folder.")
DAMAGED = Wording("archive.damaged", "%(archive)s is damaged or no archive of its kind; pack it again.")
PROTECTED = Wording("archive.protected", "%(archive)s is protected by a password; pack it without one.")


@dataclass(frozen=True)
class Limits:
    """What an archive may hold: files, bytes of all of them unpacked, and how often its own size that may be.

    Sizes are counted while they are written; what the archive says of them is not believed.
    """

    files: int = 20_000
    size: int = 4_000_000_000
    expansion: int = 100
    always: int = 50_000_000
    """Bytes that even a very small archive may hold."""


@dataclass
class _Writing:
    """What has been unpacked so far."""

    into: Path
    archive: str
    limits: Limits
    most: int
    files: int = 0
    size: int = 0
    links: list[str] = field(default_factory=list)

    def write(self, name: str, source: IO[bytes]) -> None:
        path = self.into.joinpath(*self._parts(name))
        self.files += 1
        if self.files > self.limits.files:
            raise UserError(MANY_FILES(archive=self.archive, n=f"{self.limits.files:,}"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                while block := source.read(BLOCK):
                    self.size += len(block)
                    if self.size > self.most:
                        raise UserError(TOO_LARGE(archive=self.archive, n=f"{self.most / 1e6:,.0f}"))
                    file.write(block)
        except OSError as error:
            shown = {"archive": self.archive, "name": repr(name[:200])}
            if isinstance(error, FileExistsError):
                raise UserError(TWICE(**shown)) from error
            raise UserError(NOT_WRITTEN(**shown, why=str(error.strerror))) from error

    def _parts(self, name: str) -> tuple[str, ...]:
        """The names of folders and file. Raises UserError for a path that leads out of the folder."""
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in path.parts[0] or "\0" in name:
            raise UserError(LEADS_OUT(archive=self.archive, name=repr(name[:200])))
        return path.parts


def unpack(archive: Path, into: Path, limits: Limits = Limits()) -> list[str]:
    """Unpack a .zip or .tar.gz into an empty folder, and return the names of links, which are passed over.

    Raises UserError for an archive that is damaged, protected, too large, or writes outside the folder.
    """
    most = min(limits.size, max(limits.always, limits.expansion * archive.stat().st_size))
    writing = _Writing(into, archive.name, limits, most)
    with _damage_told(archive):
        if archive.name.lower().endswith(".zip"):
            _unpack_zip(archive, writing)
        elif archive.name.lower().endswith(ENDINGS):
            _unpack_tar(archive, writing)
        else:
            raise UserError(NO_ARCHIVE(archive=archive.name, one=ENDINGS[0], other=ENDINGS[1]))
    if not writing.files:
        raise UserError(NO_FILE(archive=archive.name))
    return writing.links


def root_in(folder: Path) -> Path:
    """The folder itself, or the only one that it holds: archives of a repository have one folder on top."""
    inside = list(folder.iterdir())
    while len(inside) == 1 and inside[0].is_dir():
        folder = inside[0]
        inside = list(folder.iterdir())
    return folder


@contextmanager
def _damage_told(archive: Path) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise UserError(DAMAGED(archive=archive.name)) from error


def _unpack_zip(archive: Path, writing: _Writing) -> None:
    with zipfile.ZipFile(archive) as packed:
        for one in packed.infolist():
            if one.is_dir() or _is_passed_over(one.filename):
                continue
            if S_ISLNK(one.external_attr >> 16):
                writing.links.append(one.filename)
            elif one.flag_bits & 1:
                raise UserError(PROTECTED(archive=archive.name))
            else:
                with packed.open(one) as source:
                    writing.write(one.filename, source)


def _unpack_tar(archive: Path, writing: _Writing) -> None:
    with tarfile.open(archive, "r:gz") as packed:
        for one in packed:
            if one.isdir() or _is_passed_over(one.name):
                continue
            source = packed.extractfile(one) if one.isreg() else None
            if source is None:
                writing.links.append(one.name)
            else:
                writing.write(one.name, source)


def _is_passed_over(name: str) -> bool:
    return bool(PASSED_OVER & set(PurePosixPath(name.replace("\\", "/")).parts))

"""Write-ahead log: replies that are not stored yet, in files of this machine, so that a killed worker's are not paid twice.

One line per reply, written before the next call is sent. A file is deleted once all its replies are stored in the
database; if a worker ends and cannot store them, for example while the database is unavailable, the file is left for the
next worker. The operating system keeps what was written when a process is killed; if a machine loses power, only the
database is safe.
"""

import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import IO, cast

from django.conf import settings

from core.db.full_disk import database_folder, has_room, is_full
from core.errors import UserError
from generation.execution.leases import ended_here
from generation.llm.protocol.messages import DISK_FULL, JOURNAL_FAILED
from generation.llm.requests import Reply

LINES_A_FILE = 500
ENDING = ".jsonl"
LEFT = "left-"
"""The prefix of the worker in the name of a file that it has left behind while its process lives."""
TYPES: dict[object, type | tuple[type, ...]] = {int: int, str: str, float: (int, float)}


class LogUnusable(UserError):
    """The files cannot be written or read; the sentence says where and what to do."""


class LogFull(LogUnusable):
    """The disk is full; the run goes on by itself once there is space."""


def log_has_room() -> bool:
    """Whether the disk of the files has room, and that of SQLite's file."""
    return has_room(_folder(), database_folder())


@contextmanager
def spool(in_memory: int) -> Iterator[IO[bytes]]:
    """Yield an empty file for replies that can be had again, with up to so many bytes in memory and the rest on this disk.

    It is gone after the block. Raises LogUnusable if the block finds the disk full.
    """
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.SpooledTemporaryFile(in_memory, dir=str(folder)) as file:
            yield cast(IO[bytes], file)
    except OSError as error:
        if is_full(error):
            raise _failed(error) from error
        raise


@dataclass(frozen=True)
class LoggedReply:
    """One reply to a question about an item; `cost` is money as text."""

    item: int
    request_hash: str
    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    seconds: float
    cost: str
    calls: int = 1

    @classmethod
    def of(cls, item: int, reply: Reply, cost: Decimal, request_hash: str = "") -> "LoggedReply":
        return cls(
            item=item,
            request_hash=request_hash,
            text=reply.text,
            finish_reason=reply.finish_reason,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            seconds=reply.seconds,
            cost=str(cost),
            calls=reply.calls,
        )

    @property
    def reply(self) -> Reply:
        return Reply(
            self.text, self.finish_reason, self.input_tokens, self.output_tokens, self.seconds, calls=self.calls
        )


class WriteAheadLog:
    """One worker's files for one run, opened when the first reply arrives."""

    def __init__(self, run: str, worker: str) -> None:
        self._run, self._worker = run, worker
        self._number = self._lines = 0
        self._file: int | None = None
        self._unstored: dict[Path, dict[int, int]] = {}
        self._paths: list[Path] = []

    def append(self, logged: LoggedReply) -> None:
        """Raises LogUnusable."""
        try:
            if self._file is None or self._lines >= LINES_A_FILE:
                self._open_next()
            assert self._file is not None
            line = json.dumps(asdict(logged), separators=(",", ":")).encode() + b"\n"
            if os.write(self._file, line) < len(line):
                self._lines = LINES_A_FILE  # The next line must not follow a part of a line.
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise _failed(error) from error
        self._lines += 1
        waiting = self._unstored[self._paths[-1]]
        waiting[logged.item] = waiting.get(logged.item, 0) + 1

    def stored(self, items: Iterable[int]) -> None:
        """Note that one reply of each of these items is stored; delete the full files of which all replies are."""
        for item in items:
            for path in self._paths:
                waiting = self._unstored[path]
                if item in waiting:
                    waiting[item] -= 1
                    if not waiting[item]:
                        del waiting[item]
                    break
        for path in self._paths[:-1]:
            self._drop_if_stored(path)

    def close(self) -> None:
        """Leave what is not stored for the next worker to find."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        for path in list(self._paths):
            self._drop_if_stored(path)
        for path in self._paths:
            with suppress(OSError):
                path.rename(path.with_name(_name(self._run, LEFT + self._worker, path.name.split(".")[2])))
        self._paths.clear()
        self._unstored.clear()

    def _open_next(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / _name(self._run, self._worker, self._number)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._number, self._lines = self._number + 1, 0
        self._paths.append(path)
        self._unstored[path] = {}

    def _drop_if_stored(self, path: Path) -> None:
        if not self._unstored[path]:
            path.unlink(missing_ok=True)
            self._paths.remove(path)
            del self._unstored[path]


@dataclass(frozen=True)
class LeftLog:
    """A file of a worker that has ended: `delete` it once its replies are stored, otherwise `put_back`."""

    path: Path
    replies: Sequence[LoggedReply]
    taken_from: Path

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)

    def put_back(self) -> None:
        """Let the next that asks have it, which may be of this process, too."""
        with suppress(OSError):
            self.path.rename(self.taken_from)


def logs_left_by_others(run: str, worker: str) -> Iterator[LeftLog]:
    """Take over, for this worker, the files of the run that workers of this machine left behind or that have ended.

    If several workers ask, one gets each file. Raises LogUnusable.
    """
    folder = _folder()
    number = 0
    for path in sorted(folder.glob(f"{run}.*{ENDING}")) if folder.is_dir() else []:
        holder = path.name.split(".")[1]
        if not holder.startswith(LEFT) and not list(ended_here([holder.replace("-", ":")])):
            continue
        mine = folder / _name(run, worker, f"over{number}")
        number += 1
        try:
            path.rename(mine)
            lines = mine.read_bytes().split(b"\n")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _failed(error) from error
        yield LeftLog(mine, [reply for line in lines if (reply := _read(line)) is not None], path)


def runs_with_logs() -> set[str]:
    """Return the public ids of the runs that have files, whether or not their workers are alive."""
    folder = _folder()
    return {path.name.split(".")[0] for path in folder.glob(f"*{ENDING}")} if folder.is_dir() else set()


def all_logs() -> dict[str, bytes]:
    """Return every file of this machine by name, those of living workers as far as they are written."""
    found = {}
    for path in _folder().glob(f"*{ENDING}") if _folder().is_dir() else []:
        with suppress(FileNotFoundError):
            found[path.name] = path.read_bytes()
    return found


def leave_log(name: str, content: bytes) -> None:
    """Write a file of a backup as one that its worker has left behind, for any worker of this machine. Raises OSError."""
    run, worker, number, *_ending = name.split(".")
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _name(run, LEFT + worker.removeprefix(LEFT), number)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)


def _read(line: bytes) -> LoggedReply | None:
    """Return None for a part of a line: the worker was killed while it wrote, or the disk was full."""
    try:
        logged = LoggedReply(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None
    return logged if all(isinstance(getattr(logged, part.name), TYPES[part.type]) for part in fields(logged)) else None


def _name(run: str, worker: str, number: int | str) -> str:
    return f"{run}.{worker.replace(':', '-')}.{number}{ENDING}"


def _folder() -> Path:
    return Path(settings.JOURNAL_DIR)


def _failed(error: OSError) -> LogUnusable:
    if is_full(error):
        return LogFull(DISK_FULL(folder=_folder()))
    return LogUnusable(JOURNAL_FAILED(folder=_folder(), words=error.strerror or error))

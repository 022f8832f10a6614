"""Replies that came and are not stored yet, kept in files of this machine: a killed worker's are found and not paid again.

A line a reply, written before the next call is sent. A file is deleted once all that it holds is stored in the
database; where a worker ends and cannot store it, as while the database is away, it is left for the next. The system
keeps what was written when a process is killed; of a machine that loses power only the database is safe.
"""

import errno
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from pathlib import Path

from django.conf import settings

from core.errors import UserError
from generation.execution.leases import ended_here
from generation.llm.protocol.messages import JOURNAL_FAILED
from generation.llm.requests import Reply

LINES_A_FILE = 500
ENDING = ".jsonl"
LEFT = "left-"
"""How the part of a file's name begins that names its worker, once that worker has left it though its process lives."""
TYPES: dict[object, type | tuple[type, ...]] = {int: int, str: str, float: (int, float)}


class JournalFailed(UserError):
    """The files cannot be written or read; the sentence says where and what to do."""


@dataclass(frozen=True)
class Kept:
    """One reply to an item's question; `cost` is money as text."""

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
    def of(cls, item: int, reply: Reply, cost: Decimal, request_hash: str = "") -> "Kept":
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


class Journal:
    """One worker's files for one run, opened when the first reply comes."""

    def __init__(self, run: str, worker: str) -> None:
        self._run, self._worker = run, worker
        self._number = self._lines = 0
        self._file: int | None = None
        self._unstored: dict[Path, dict[int, int]] = {}
        self._paths: list[Path] = []

    def keep(self, one: Kept) -> None:
        """Raises JournalFailed."""
        try:
            if self._file is None or self._lines >= LINES_A_FILE:
                self._open_next()
            assert self._file is not None
            line = json.dumps(asdict(one), separators=(",", ":")).encode() + b"\n"
            if os.write(self._file, line) < len(line):
                self._lines = LINES_A_FILE  # What comes next must not stand behind a part of a line.
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise _failed(error) from error
        self._lines += 1
        waiting = self._unstored[self._paths[-1]]
        waiting[one.item] = waiting.get(one.item, 0) + 1

    def stored(self, items: Iterable[int]) -> None:
        """One reply of each of these is in the database; files of which that is true of all, and that are full, go."""
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
        """What is not stored stays, for the next worker to find."""
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
class LeftBehind:
    """What a worker that has ended kept of a run: `forget` it once it is in the database, else `put_back`."""

    path: Path
    replies: Sequence[Kept]
    taken_from: Path

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)

    def put_back(self) -> None:
        """For the next that asks, who may be of this process, too."""
        with suppress(OSError):
            self.path.rename(self.taken_from)


def left_behind(run: str, by: str) -> Iterator[LeftBehind]:
    """Takes over, for the worker `by`, what workers of this machine that have ended or left it kept of the run.

    Of several that ask, one gets each file. Raises JournalFailed.
    """
    folder = _folder()
    number = 0
    for path in sorted(folder.glob(f"{run}.*{ENDING}")) if folder.is_dir() else []:
        holder = path.name.split(".")[1]
        if not holder.startswith(LEFT) and not list(ended_here([holder.replace("-", ":")])):
            continue
        mine = folder / _name(run, by, f"over{number}")
        number += 1
        try:
            path.rename(mine)
            lines = mine.read_bytes().split(b"\n")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _failed(error) from error
        yield LeftBehind(mine, [one for line in lines if (one := _read(line)) is not None], path)


def runs_left_behind() -> set[str]:
    """Public ids of the runs of which files are there, of living workers and of others."""
    folder = _folder()
    return {path.name.split(".")[0] for path in folder.glob(f"*{ENDING}")} if folder.is_dir() else set()


def _read(line: bytes) -> Kept | None:
    """None for a part of a line: the worker was killed while it wrote, or the disk was full."""
    try:
        kept = Kept(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None
    return kept if all(isinstance(getattr(kept, one.name), TYPES[one.type]) for one in fields(kept)) else None


def _name(run: str, worker: str, number: int | str) -> str:
    return f"{run}.{worker.replace(':', '-')}.{number}{ENDING}"


def _folder() -> Path:
    return Path(settings.JOURNAL_DIR)


def _failed(error: OSError) -> JournalFailed:
    return JournalFailed(JOURNAL_FAILED(folder=_folder(), words=error.strerror or error))

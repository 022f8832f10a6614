"""What commands share: progress, as a bar on a terminal and as lines in a file, and the name of who runs them."""

import getpass
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SECONDS_BETWEEN_LINES = 2.0
"""How often progress is written as a line where nobody watches a terminal."""
MEGABYTE = 1_000_000


_listener: ContextVar[Callable[[int], None] | None] = ContextVar("_listener", default=None)
"""What is told of progress in the place of a terminal."""


@contextmanager
def progress_to(listener: Callable[[int], None]) -> Iterator[None]:
    """Tell `listener` of the steps that the block's work does, and show them on no terminal."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def progress_shown(label: str, total: int | None = None, *, of_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of steps done since its last call.

    On a terminal it moves a bar; into a file it writes a line at intervals. With `of_bytes` the steps are bytes.
    """
    listener = _listener.get()
    if listener is not None:
        yield listener
        return
    # rich takes a fifth of the time in which a command starts, and most commands show no progress.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(label, total, of_bytes).advance
        return
    count = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = [SpinnerColumn(), TextColumn("{task.description}"), count, TimeElapsedColumn()]
    if total is not None:
        columns.insert(2, BarColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda steps: progress.advance(task, steps)


class _Lines:
    """Progress as lines, none for work that is done before the first is due."""

    def __init__(self, label: str, total: int | None, of_bytes: bool) -> None:
        self.label, self.total, self.of_bytes = label, total, of_bytes
        self.done = 0
        self.began = self.written = time.monotonic()

    def advance(self, steps: int) -> None:
        self.done += steps
        now = time.monotonic()
        if now - self.written >= SECONDS_BETWEEN_LINES:
            self.written = now
            of = f" of {self._amount(self.total)}" if self.total is not None else ""
            done, seconds = self._amount(self.done), round(now - self.began)
            print(f"{self.label}: {done}{of} after {seconds} s", file=sys.stderr, flush=True)

    def _amount(self, steps: int) -> str:
        return f"{steps / MEGABYTE:,.1f} MB" if self.of_bytes else f"{steps:,}"


def person_at_terminal() -> str:
    """Return who runs this command, as the machine knows them."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "?"  # a container may know its user by number alone
    return f"{name}@{socket.gethostname()}"[:150]

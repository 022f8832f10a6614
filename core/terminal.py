"""What commands share: a progress bar, shown only on a terminal, and the name of who runs them."""

import getpass
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def progress_shown(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of steps done since its last call."""
    console = Console(stderr=True)
    columns = [SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn()]
    if total is not None:
        columns.insert(2, BarColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        yield lambda steps: progress.advance(task, steps)


def person_at_terminal() -> str:
    """Return who runs this command, as the machine knows them."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "?"  # a container may know its user by number alone
    return f"{name}@{socket.gethostname()}"[:150]

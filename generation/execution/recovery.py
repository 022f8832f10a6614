"""What killed workers of this machine left in their journals, stored before anything of their run is asked again.

Runs that generate and runs that judge alike; how replies become rows is passed in as `store`, which stores each once,
however often it is found.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

from core.clock import Clock
from generation.execution.leases import new_worker_name, release_dead
from generation.execution.write_ahead_log import JournalFailed, Kept, left_behind, runs_left_behind
from generation.run_fields import AnyRun

logger = logging.getLogger(__name__)
Run = TypeVar("Run", bound=AnyRun)
Row = TypeVar("Row")
Store = Callable[[Run, Sequence[Kept]], int]


def recover(run: Run, clock: Clock, store: Store[Run]) -> None:
    """Stores what was left behind, then gives the dead workers' items and budget back.

    In this order: what they had spent is counted before what they had set aside comes free. Raises JournalFailed.
    """
    store_left(run, store)
    release_dead(run, clock)


def store_left(run: Run, store: Store[Run]) -> int:
    """How many replies were not stored before. Raises JournalFailed."""
    stored = 0
    for left in left_behind(run.public_id, new_worker_name()):
        try:
            stored += store(run, left.replies)
        except BaseException:
            left.put_back()
            raise
        left.forget()
    return stored


def keep_left(run: Run, store: Store[Run]) -> None:
    """Stores what was left behind. Not in a transaction that may yet be undone, for the files go at once.

    Where this fails, the worker that begins says so.
    """
    with suppress(JournalFailed):
        store_left(run, store)


def store_all_left(runs: type[Run], store: Store[Run]) -> None:
    """Of every run, also of those that nobody will resume: what was paid is kept.

    Where that fails it is logged and left for later.
    """
    found = runs._default_manager.filter(public_id__in=runs_left_behind()).order_by("pk")
    each_alone(found, lambda run: store_left(run, store))


def each_alone(rows: Iterable[Row], act: Callable[[Row], object]) -> None:
    """Acts on each of them. What goes wrong with one is logged, and holds no other up."""
    for row in rows:
        try:
            act(row)
        except Exception:
            logger.exception("%s %s is left for the next sweep", type(row).__name__, row)

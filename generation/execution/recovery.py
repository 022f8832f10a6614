"""Store what killed workers of this machine left in their write-ahead logs, before anything of their runs is asked again.

How replies become rows differs by kind of run and is passed in as `store`, which stores each reply once, however often it
is found.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from generation.execution.leases import new_worker_name
from generation.execution.write_ahead_log import LoggedReply, logs_left_by_others, runs_with_logs
from generation.run_fields import AnyRun

logger = logging.getLogger(__name__)
Run = TypeVar("Run", bound=AnyRun)
Row = TypeVar("Row")
Store = Callable[[Run, Sequence[LoggedReply]], int]


def store_logged(run: Run, store: Store[Run]) -> int:
    """Return how many replies were not stored before. Raises LogUnusable."""
    stored = 0
    for log in logs_left_by_others(run.public_id, new_worker_name()):
        try:
            stored += store(run, log.replies)
        except BaseException:
            log.put_back()
            raise
        log.delete()
    return stored


def store_all_logged(runs: type[Run], store: Store[Run]) -> None:
    """Store the logged replies of every run, also of those that nobody will resume, because they are paid for.

    A failure is logged and left for later.
    """
    found = runs._default_manager.filter(public_id__in=runs_with_logs()).order_by("pk")
    each_alone(found, lambda run: store_logged(run, store))


def each_alone(rows: Iterable[Row], act: Callable[[Row], object]) -> None:
    """Act on each row. A failure is logged and does not affect the other rows."""
    for row in rows:
        try:
            act(row)
        except Exception:
            logger.exception("%s %s is left for the next sweep", type(row).__name__, row)

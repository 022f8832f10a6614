"""Threads beside a worker's tasks: one says that it lives and watches its memory, one runs what is due."""

import logging
import os
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from celery.worker import state
from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, connections
from django.utils import timezone

from core.clock import Clock
from core.models import WorkerProcess
from core.workers import schedule
from core.workers.leaving import leaving
from core.workers.requests import process_name

logger = logging.getLogger(__name__)

SEEN_SECONDS = 10.0
FORGOTTEN_AFTER = timedelta(days=1)
MEGABYTE = 1024 * 1024
TOO_LARGE = 75
"""The status with which a worker ends that has grown too large (EX_TEMPFAIL), so that what started it starts another."""


class Attendant:
    """Starts and ends with the worker."""

    def __init__(self) -> None:
        self._ended = threading.Event()

    def start(self) -> None:
        look = min(5.0, settings.SWEEP_SECONDS / 4)
        for name, act, seconds in (("heartbeat", beat, SEEN_SECONDS), ("schedule", schedule.run_due, look)):
            threading.Thread(target=self._repeat, args=(act, seconds), name=name, daemon=True).start()
        threading.Thread(target=self._watch_memory, name="memory", daemon=True).start()

    def end(self) -> None:
        """Forget the worker's row, so that others take over at once what it had begun."""
        self._ended.set()
        try:
            WorkerProcess.objects.filter(name=process_name).delete()
        except (OperationalError, InterfaceError):
            logger.warning("The worker's row stays until it is old, because the database is away")

    def _repeat(self, act: Callable[[], object], seconds: float) -> None:
        while not self._ended.is_set():
            try:
                close_old_connections()
                act()
            except (OperationalError, InterfaceError) as error:
                logger.warning("No database: %s", str(error).strip().partition("\n")[0])
            except Exception:
                logger.exception("A fault beside the tasks of this worker")
            self._ended.wait(seconds)
        connections.close_all()

    def _watch_memory(self) -> None:
        while not self._ended.wait(1.0):
            if is_too_large(resident_memory()):
                leave()
                return


def beat(clock: Clock = timezone.now) -> None:
    """Say that this worker lives, and forget those that were not seen for long."""
    now = clock()
    seen = {"seen_at": now, "memory": resident_memory()}
    WorkerProcess.objects.update_or_create(
        name=process_name, defaults=seen, create_defaults={"started_at": now, **seen}
    )
    WorkerProcess.objects.filter(seen_at__lt=now - FORGOTTEN_AFTER).delete()


def resident_memory() -> int:
    """Return the bytes of memory that this process holds; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def is_too_large(memory: int) -> bool:
    """Whether the worker is to be replaced. A model of vLLM in this process is larger than any worker may grow."""
    limit = settings.WORKER_MEMORY * MEGABYTE
    return bool(limit) and memory > limit and "vllm" not in sys.modules


def leave() -> None:
    """Take no more tasks, let those under way come to a good end, and end the worker."""
    logger.warning(
        "This worker holds %d MB, more than PLUMBLINE_WORKER_MEMORY allows; it finishes what it has and ends.",
        resident_memory() // MEGABYTE,
    )
    leaving.set()
    state.should_stop = TOO_LARGE

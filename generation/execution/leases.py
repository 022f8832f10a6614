"""Which worker has which item of a run. A lease expires by itself, so a worker may die at any point.

The `items` of a run have a position, a status that begins as "waiting", and a lease.
"""

import hashlib
import os
import secrets
import socket
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from core.clock import Clock

LEASE = timedelta(seconds=90)
WAITING, RUNNING = "waiting", "running"


def new_worker_name() -> str:
    """Return 'place:process:random'. The place is this machine and its process namespace, so that containers differ."""
    return f"{_place()}:{os.getpid()}:{secrets.token_hex(4)}"


def _place() -> str:
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return hashlib.sha256(f"{socket.gethostname()} {namespace}".encode()).hexdigest()[:16]


def lease_items(run: Any, worker: str, count: int, clock: Clock, only: Q | None = None) -> list[int]:
    """Lease up to `count` waiting items (of `only` those) to this worker, by position; return their pks."""
    with transaction.atomic():
        locked = type(run).objects.select_for_update(no_key=True).get(pk=run.pk)
        if locked.status != RUNNING:
            return []
        now = clock()
        free = (
            run.items.select_for_update(skip_locked=True)
            .filter(Q(leased_until=None) | Q(leased_until__lt=now), only or Q(), status=WAITING)
            .order_by("position")
        )
        pks = list(free.values_list("pk", flat=True)[:count])
        run.items.filter(pk__in=pks).update(leased_until=now + LEASE, leased_by=worker)
        return pks


def live_leases(run: Any, clock: Clock) -> QuerySet[Any]:
    """Return the items that workers hold."""
    items: QuerySet[Any] = run.items.filter(status=WAITING, leased_until__gte=clock())
    return items


def renew(run: Any, worker: str, pks: Iterable[int], clock: Clock) -> None:
    run.items.filter(pk__in=list(pks), leased_by=worker, status=WAITING).update(leased_until=clock() + LEASE)


def release(run: Any, worker: str, pks: Iterable[int], **columns: Any) -> None:
    """Release unfinished items; `columns` are stored in them, for example the error of the last attempt."""
    held = run.items.filter(pk__in=list(pks), leased_by=worker, status=WAITING)
    held.update(leased_until=None, leased_by="", **columns)


def release_dead(run: Any, clock: Clock) -> int:
    """Release the items and reservations of workers of this machine that have ended; return the number of items."""
    run.shares.filter(worker__in=list(ended_here(run.shares.values_list("worker", flat=True)))).delete()
    holders = live_leases(run, clock).order_by().values_list("leased_by", flat=True).distinct()
    dead = list(ended_here(holders))
    held = run.items.filter(leased_by__in=dead, status=WAITING)
    return int(held.update(leased_until=None, leased_by="")) if dead else 0


def ended_here(workers: Iterable[str]) -> Iterator[str]:
    """Yield the workers that ran on this machine and have ended."""
    place = _place()
    for worker in workers:
        where, _colon, rest = worker.partition(":")
        process = rest.partition(":")[0]
        if where == place and process.isdigit() and not _alive(int(process)):
            yield worker


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

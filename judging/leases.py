"""Which worker has which item. A lease runs out by itself, so a worker may die at any point."""

import hashlib
import os
import secrets
import socket
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.handout import Clock
from judging.models import JudgeRun, PlannedItem

LEASE = timedelta(seconds=90)


def new_worker_name() -> str:
    """'place:process:draw'. The place is this machine and its process namespace, so that containers differ."""
    return f"{_place()}:{os.getpid()}:{secrets.token_hex(4)}"


def _place() -> str:
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return hashlib.sha256(f"{socket.gethostname()} {namespace}".encode()).hexdigest()[:16]


def lease_items(run: JudgeRun, worker: str, count: int, clock: Clock, juror: int = 0) -> list[int]:
    """Up to `count` waiting items of one judge of the run, by position, now this worker's; their pks."""
    with transaction.atomic():
        locked = JudgeRun.objects.select_for_update().get(pk=run.pk)
        if locked.status != JudgeRun.Status.RUNNING:
            return []
        now = clock()
        free = (
            PlannedItem.objects.select_for_update(skip_locked=True)
            .filter(
                Q(leased_until=None) | Q(leased_until__lt=now),
                run=run,
                juror=juror,
                status=PlannedItem.Status.WAITING,
            )
            .order_by("position")
        )
        pks = list(free.values_list("pk", flat=True)[:count])
        PlannedItem.objects.filter(pk__in=pks).update(leased_until=now + LEASE, leased_by=worker)
        return pks


def live_leases(run: JudgeRun, clock: Clock) -> QuerySet[PlannedItem]:
    """Items that some worker is busy with."""
    return run.items.filter(status=PlannedItem.Status.WAITING, leased_until__gte=clock())


def renew(worker: str, pks: Iterable[int], clock: Clock) -> None:
    PlannedItem.objects.filter(pk__in=list(pks), leased_by=worker, status=PlannedItem.Status.WAITING).update(
        leased_until=clock() + LEASE
    )


def release(worker: str, pks: Iterable[int], reason: str = "") -> None:
    """Gives items back unanswered; `reason` is what the last attempt met, for the run's page."""
    held = PlannedItem.objects.filter(pk__in=list(pks), leased_by=worker, status=PlannedItem.Status.WAITING)
    if reason:
        held.update(leased_until=None, leased_by="", reason=reason[:300])
    else:
        held.update(leased_until=None, leased_by="")


def release_dead(run: JudgeRun, clock: Clock) -> int:
    """Gives back what workers of this machine held that have ended; how many items that were."""
    place = _place()
    freed = 0
    holders = set(live_leases(run, clock).order_by().values_list("leased_by", flat=True).distinct())
    for worker in holders | set(run.shares.values_list("worker", flat=True)):
        where, _colon, rest = worker.partition(":")
        process = rest.partition(":")[0]
        if where == place and process.isdigit() and not _alive(int(process)):
            run.shares.filter(worker=worker).delete()
            freed += run.items.filter(leased_by=worker, status=PlannedItem.Status.WAITING).update(
                leased_until=None, leased_by=""
            )
    return freed


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

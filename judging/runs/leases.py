"""Which worker has which item of a judging run, a judge's items apart from another's; and who prepares a large run."""

from django.db.models import Q

from core.clock import Clock
from generation.execution import leases
from generation.execution.leases import LEASE, ended_here, live_leases, new_worker_name, release, release_dead, renew
from judging.models import JudgeRun, Preparation

__all__ = [
    "LEASE",
    "lease_items",
    "live_leases",
    "new_worker_name",
    "release",
    "release_dead",
    "renew",
    "somebody_prepares",
    "take_preparation",
]


def lease_items(run: JudgeRun, worker: str, count: int, clock: Clock, juror: int = 0) -> list[int]:
    """Up to `count` waiting items of one judge of the run, by position, now this worker's; their pks."""
    return leases.lease_items(run, worker, count, clock, Q(juror=juror))


def somebody_prepares(run: JudgeRun, clock: Clock) -> bool:
    """Whether a worker is busy with it, as far as is known: one of this machine that has ended is not."""
    held = Preparation.objects.filter(run=run, leased_until__gte=clock()).values_list("leased_by", flat=True)
    return any(not list(ended_here([worker])) for worker in held)


def take_preparation(run: JudgeRun, worker: str, clock: Clock) -> bool:
    """Whether the preparation, where there is one, is this worker's from now on."""
    rows = Preparation.objects.filter(run=run)
    holders = rows.values_list("leased_by", flat=True)
    free = Q(leased_until=None) | Q(leased_until__lt=clock()) | Q(leased_by__in=list(ended_here(holders)))
    return bool(rows.filter(free).update(leased_until=clock() + LEASE, leased_by=worker))

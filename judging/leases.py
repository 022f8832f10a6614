"""Which worker has which item of a judging run: as in any run, and what a dead worker had of the budget ends too."""

from django.db.models import Q

from generation import leases
from generation.leases import LEASE, Clock, ended_here, live_leases, new_worker_name, release, renew
from judging.models import JudgeRun

__all__ = ["LEASE", "lease_items", "live_leases", "new_worker_name", "release", "release_dead", "renew"]


def lease_items(run: JudgeRun, worker: str, count: int, clock: Clock, juror: int = 0) -> list[int]:
    """Up to `count` waiting items of one judge of the run, by position, now this worker's; their pks."""
    return leases.lease_items(run, worker, count, clock, Q(juror=juror))


def release_dead(run: JudgeRun, clock: Clock) -> int:
    """Gives back what workers of this machine held that have ended; how many items that were."""
    dead = list(ended_here(run.shares.values_list("worker", flat=True)))
    if dead:
        run.shares.filter(worker__in=dead).delete()
    return leases.release_dead(run, clock)

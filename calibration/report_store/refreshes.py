"""The refreshing of reports in the background: each is computed at most once at a time, and not too often.

A row per report holds the lease. A page that finds its report outdated takes the lease and queues the work; the worker
renews it while it computes, so that a worker that was killed is replaced soon.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.db import DatabaseError, connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import Study
from calibration.models import ReportRefresh
from calibration.report_store.questions import asked_hash_of
from core.background import send_after_commit
from core.clock import Clock

IN_QUEUE = timedelta(minutes=10)
"""How long queued work is waited for; then the next page queues it again."""
AT_WORK = timedelta(minutes=2)
RENEWED_EVERY = timedelta(seconds=30)
LEAST_PAUSE = timedelta(seconds=30)
PAUSE = 10
"""After computing for S seconds a report rests for PAUSE x S, so it takes at most an eleventh of a worker's time."""
FITTING = "fit"
"""The kind under which fitting weights holds its lease; a fit is no report, so it does not rest."""


def fit_settings(floor: float, pool: bool, skip_small: bool) -> dict[str, object]:
    return {"floor": floor, "pool": pool, "skip_small": skip_small}


@dataclass(frozen=True)
class Refresh:
    """Whether a report is being refreshed; `failed` says that the last attempt ended in an error."""

    under_way: bool
    failed: bool = False


def pause_after(seconds: float) -> timedelta:
    """Return how long a report that took `seconds` to compute rests before it is computed again."""
    return max(LEAST_PAUSE, timedelta(seconds=PAUSE * seconds))


def refresh(
    study: Study,
    kind: str,
    settings: Mapping[str, object],
    task: str,
    *args: Any,
    clock: Clock = timezone.now,
    rests: bool = True,
) -> Refresh:
    """Queue the task with the study's pk and `args`, unless this report is being computed already, or `rests`."""
    now = clock()
    key = {"study": study, "kind": kind, "asked_hash": asked_hash_of(study, settings)}
    row, first = ReportRefresh.objects.get_or_create(**key, defaults={"asked_at": now, "leased_until": now + IN_QUEUE})
    if not first:
        if row.leased_until is not None and row.leased_until > now:
            return Refresh(under_way=True)
        if rests and row.leased_until is None and row.ended_at and row.ended_at + pause_after(row.seconds) > now:
            return Refresh(under_way=False, failed=row.failed)
        # Of several pages that ask at the same moment, the one whose update finds the row as it was read queues.
        same = ReportRefresh.objects.filter(pk=row.pk, leased_until=row.leased_until, asked_at=row.asked_at)
        if not same.update(leased_until=now + IN_QUEUE, asked_at=now, holder=""):
            return Refresh(under_way=True)
    send_after_commit(task, study.pk, *args)
    return Refresh(under_way=True)


def is_under_way(study: Study, kind: str, *, clock: Clock = timezone.now) -> bool:
    """Whether anything of this kind is queued or being computed."""
    return ReportRefresh.objects.filter(study=study, kind=kind, leased_until__gt=clock()).exists()


@contextmanager
def computing(
    study: Study, kind: str, settings: Mapping[str, object], *, clock: Clock = timezone.now
) -> Iterator[bool]:
    """Hold the lease while the block computes the report.

    Yield False, in which case the block must not compute, if another worker does or has done what was asked.
    """
    holder = uuid4().hex
    pk = _begun(study, kind, settings, holder, clock)
    if pk is None:
        yield False
        return
    rows = ReportRefresh.objects.filter(pk=pk, holder=holder)
    done, begun, failed = threading.Event(), time.monotonic(), True
    keeper = threading.Thread(target=_renew, args=(rows, done, clock), name=f"report-{pk}", daemon=True)
    keeper.start()
    try:
        yield True
        failed = False
    finally:
        done.set()
        keeper.join()
        spent = time.monotonic() - begun
        rows.update(leased_until=None, holder="", ended_at=clock(), seconds=spent, failed=failed)


def _begun(study: Study, kind: str, settings: Mapping[str, object], holder: str, clock: Clock) -> int | None:
    """Take the lease of queued work, or of a worker that is gone; return the row's pk, None if there is nothing to do."""
    now = clock()
    mine = {"leased_until": now + AT_WORK, "holder": holder}
    key = {"study": study, "kind": kind, "asked_hash": asked_hash_of(study, settings)}
    row, first = ReportRefresh.objects.get_or_create(**key, defaults={"asked_at": now, **mine})
    if first:
        return row.pk
    free = Q(holder="", leased_until__isnull=False) | Q(leased_until__lt=now)
    return row.pk if ReportRefresh.objects.filter(free, pk=row.pk).update(**mine) else None


def _renew(rows: QuerySet[ReportRefresh], done: threading.Event, clock: Clock) -> None:
    while not done.wait(RENEWED_EVERY.total_seconds()):
        try:
            rows.update(leased_until=clock() + AT_WORK)
        except DatabaseError:
            continue  # The lease outlives several attempts.
        finally:
            connection.close()

"""Stored disagreements of large studies: their page shows them with their time while a worker measures again.

A small study's disagreements are measured on every visit. For a large study, the first visit says that its answers are
being compared, and the page asks again until they are. Counts need no worker: the database keeps them.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import connections, transaction
from django.utils import timezone

from annotation.counters.counts import StudyCounts, counts_of
from annotation.models import Assignment, DeskTally, Study
from annotation.monitoring.disagreements import Disagreement, disagreements, widest_spreads
from core.background import send
from core.clock import Clock

LARGE = 25_000
"""Number of answers above which a study's disagreements are stored."""
FRESH = timedelta(seconds=8)
PATIENCE = timedelta(seconds=10)
"""If no worker has measured after this time, a thread of the web server does."""
MOST_SPREADS = 500


@dataclass(frozen=True)
class StoredSpreads:
    """(task, spread, answers) of the tasks with the widest spreads, and when they were measured.

    With `counting`, they are not ready yet.
    """

    spreads: list[tuple[int, float, int]]
    at: datetime | None = None
    counting: bool = False


@dataclass(frozen=True)
class DisagreementQueue:
    """The tasks on which raters disagree most. Those of a large study were measured `at` a moment; while they are being
    measured for the first time (`counting`), there are none."""

    rows: list[Disagreement]
    at: datetime | None = None
    counting: bool = False


def disagreement_queue(study: Study, *, least: float, most: int, clock: Clock) -> DisagreementQueue:
    """Return up to `most` tasks whose spread is above `least`, the widest first: measured now, or as they are stored."""
    if not is_large(study):
        return DisagreementQueue(disagreements(study, least=least, most=most))
    found = stored_spreads(study, clock=clock, enqueue=partial(send, "annotation.count_desk"))
    rows = disagreements(study, least=least, most=most, known=found.spreads)
    return DisagreementQueue(rows, found.at, found.counting)


def is_large(study: Study, counts: StudyCounts | None = None) -> bool:
    """Whether the study is large. Reads only as many rows as needed, none where the database counts them (`counts`)."""
    if counts is not None or (counts := counts_of(study)) is not None:
        return counts.answers > LARGE
    return len(Assignment.objects.filter(rater__study=study).values_list("pk")[: LARGE + 1]) > LARGE


def _measure_in_thread(study_id: int) -> None:
    def measure() -> None:
        try:
            keep_spreads(Study.objects.get(pk=study_id), clock=timezone.now)
        finally:
            connections.close_all()

    threading.Thread(target=measure, name=f"count-{study_id}", daemon=True).start()


def stored_spreads(
    study: Study,
    *,
    clock: Clock,
    enqueue: Callable[[int], Any],
    measure_here: Callable[[int], Any] = _measure_in_thread,
) -> StoredSpreads:
    """A large study's disagreements as stored; they are requested again where answers came since."""
    now = clock()
    kept, first = DeskTally.objects.get_or_create(study=study, defaults={"counted_at": now})
    there = "spreads" in kept.counts
    stale = not there or (now - kept.counted_at > FRESH and _has_changed(study, kept))
    overdue = kept.asked_at is not None and now - kept.asked_at > PATIENCE
    if first or (stale and (kept.asked_at is None or overdue)):
        asked = DeskTally.objects.filter(pk=kept.pk, asked_at=kept.asked_at).update(asked_at=now)
        if asked:  # only one of several open pages sends the request
            transaction.on_commit(lambda: measure_here(study.pk) if overdue else enqueue(study.pk))
    if not there:
        return StoredSpreads([], counting=True)
    return StoredSpreads([(one[0], one[1], one[2]) for one in kept.counts["spreads"]], kept.counted_at)


def _has_changed(study: Study, kept: DeskTally) -> bool:
    counts = counts_of(study)
    return counts is None or kept.counts.get("changes") != counts.changes


def keep_spreads(study: Study, *, clock: Clock) -> DeskTally:
    """Measure the study's disagreements and store them; of two concurrent measurements the later one wins."""
    at, before = clock(), counts_of(study)
    spreads = [list(one) for one in widest_spreads(study, least=0.0, most=MOST_SPREADS)]
    counts = {"spreads": spreads, "changes": before.changes if before else None}
    row, _made = DeskTally.objects.update_or_create(
        study=study, defaults={"counts": counts, "counted_at": at, "asked_at": None}
    )
    return row

"""Stored counts of large studies: the dashboard shows them with their time while a worker counts again.

A small study is counted on every visit to its dashboard. For a large study, the first visit says that counting is in
progress, and the page polls until the counts are there.
"""

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connections, transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.counters.counts import counts_of
from annotation.models import Assignment, DeskTally, Study
from annotation.monitoring.disagreements import widest_spreads
from annotation.monitoring.progress import CategoryRow, Tally, tally_of
from core.clock import Clock

LARGE = 25_000
"""Number of answers above which a study's counts are stored."""
FRESH = timedelta(seconds=8)
FRESH_UNCHANGED = timedelta(minutes=1)
PATIENCE = timedelta(seconds=10)
"""If no worker has counted after this time, a thread of the web server does."""
MOST_SPREADS = 500


@dataclass(frozen=True)
class Counted:
    """`at` is None for counts made just now; `spreads` are (task, spread, answers), or None if not requested.

    With `counting`, the counts are not ready yet.
    """

    tally: Tally
    at: datetime | None = None
    spreads: list[tuple[int, float, int]] | None = None
    counting: bool = False


def is_large(study: Study) -> bool:
    """Whether the study is large. Reads only as many rows as needed, none where the database counts them."""
    if DeskTally.objects.filter(study=study).exists():
        return True
    if (counts := counts_of(study)) is not None:
        return counts.answers > LARGE
    return len(Assignment.objects.filter(rater__study=study).values_list("pk")[: LARGE + 1]) > LARGE


def _count_in_thread(study_id: int) -> None:
    def count() -> None:
        try:
            keep_tally(Study.objects.get(pk=study_id), clock=timezone.now)
        finally:
            connections.close_all()

    threading.Thread(target=count, name=f"count-{study_id}", daemon=True).start()


def counted(
    study: Study, *, clock: Clock, enqueue: Callable[[int], Any], count_here: Callable[[int], Any] = _count_in_thread
) -> Counted:
    """The study's counts: made now or, for a large study, as stored; stale ones are requested again."""
    if not is_large(study):
        return Counted(tally_of(study))
    now = clock()
    kept, first = DeskTally.objects.get_or_create(study=study, defaults={"counted_at": now})
    stale = not kept.counts or (now - kept.counted_at > FRESH and _has_changed(study, kept, now))
    overdue = kept.asked_at is not None and now - kept.asked_at > PATIENCE
    if first or (stale and (kept.asked_at is None or overdue)):
        asked = DeskTally.objects.filter(pk=kept.pk, asked_at=kept.asked_at).update(asked_at=now)
        if asked:  # only one of several open dashboards sends the request
            transaction.on_commit(lambda: count_here(study.pk) if overdue else enqueue(study.pk))
    if not kept.counts:
        return Counted(Tally({}, {}, {}), spreads=[], counting=True)
    return Counted(_read(kept.counts), kept.counted_at, [(one[0], one[1], one[2]) for one in kept.counts["spreads"]])


def _has_changed(study: Study, kept: DeskTally, now: datetime) -> bool:
    """Whether answers came since the count. Tasks that raters have open are counted again at intervals."""
    counts = counts_of(study)
    unchanged = counts is not None and kept.counts.get("changes") == counts.changes
    return not unchanged or now - kept.counted_at > FRESH_UNCHANGED


def keep_tally(study: Study, *, clock: Clock) -> DeskTally:
    """Count the study and store the counts; of two concurrent counts the later one wins."""
    at, before = clock(), counts_of(study)
    counts = _written(tally_of(study)) | {"spreads": widest_spreads(study, least=0.0, most=MOST_SPREADS)}
    counts["changes"] = before.changes if before else None
    row, _made = DeskTally.objects.update_or_create(
        study=study, defaults={"counts": counts, "counted_at": at, "asked_at": None}
    )
    row.counts = _plain(counts)
    return row


def _plain(counts: dict[str, Any]) -> dict[str, Any]:
    return counts | {"spreads": [list(one) for one in counts["spreads"]]}


def _written(tally: Tally) -> dict[str, Any]:
    """The tally as JSON values."""
    return {
        "categories": [[pk, asdict(row)] for pk, row in tally.categories.items()],
        "work": [
            [pk, {**row, "last": row["last"].isoformat() if row.get("last") else None}]
            for pk, row in tally.work.items()
        ],
        "checks": [[pk, *pair] for pk, pair in tally.checks.items()],
    }


def _read(counts: dict[str, Any]) -> Tally:
    return Tally(
        categories={pk: CategoryRow(**row) for pk, row in counts["categories"]},
        work={pk: {**row, "last": parse_datetime(row["last"]) if row["last"] else None} for pk, row in counts["work"]},
        checks={pk: (given, failed) for pk, given, failed in counts["checks"]},
    )

"""A large study's counts, kept: its desk shows them at once, with their time, while a worker counts again.

A small study is counted whenever its desk is looked at.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.dateparse import parse_datetime

from annotation.desk_counts import CategoryRow, Tally, tally_of
from annotation.disagreements import widest_spreads
from annotation.models import Assignment, DeskTally, Study

Clock = Callable[[], datetime]
LARGE = 25_000
"""Answers from which on a study's counts are kept."""
FRESH = timedelta(seconds=8)
TOO_OLD = timedelta(minutes=5)
"""Counts as old as this are made anew while the lead waits: no worker seems to be there."""
MOST_SPREADS = 500


@dataclass(frozen=True)
class Counted:
    """`at` is None for counts made just now; `spreads` are (task, spread, answers), None where nobody asked."""

    tally: Tally
    at: datetime | None = None
    spreads: list[tuple[int, float, int]] | None = None


def is_large(study: Study) -> bool:
    """Looks at no more rows than it takes to know."""
    if DeskTally.objects.filter(study=study).exists():
        return True
    return len(Assignment.objects.filter(rater__study=study).values_list("pk")[: LARGE + 1]) > LARGE


def counted(study: Study, *, clock: Clock, enqueue: Callable[[int], Any]) -> Counted:
    """The study's counts: made now, or for a large study as kept, and asked for again where they are not fresh."""
    if not is_large(study):
        return Counted(tally_of(study))
    now = clock()
    kept = DeskTally.objects.filter(study=study).first()
    if kept is None or now - kept.counted_at > TOO_OLD:
        kept = keep_tally(study, clock=clock)
    elif now - kept.counted_at > FRESH and (kept.asked_at is None or now - kept.asked_at > FRESH):
        DeskTally.objects.filter(pk=kept.pk).update(asked_at=now)
        transaction.on_commit(lambda: enqueue(study.pk))
    return Counted(
        _read(kept.counts), kept.counted_at, [(one[0], one[1], one[2]) for one in kept.counts["spreads"]]
    )


def keep_tally(study: Study, *, clock: Clock) -> DeskTally:
    """Count the study and keep what was found; of two at once the later one stays."""
    at = clock()
    counts = _written(tally_of(study)) | {"spreads": widest_spreads(study, least=0.0, most=MOST_SPREADS)}
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
        work={
            pk: {**row, "last": parse_datetime(row["last"]) if row["last"] else None}
            for pk, row in counts["work"]
        },
        checks={pk: (given, failed) for pk, given, failed in counts["checks"]},
    )

"""What a benchmark's authors counted of their own outputs, where they publish counts and no outputs.

They are kept in the manifest of an imported run without responses, which is undone and removed like any other.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from django.db import transaction

from core.db.created_rows import note_changed, note_created
from generation.importers.records import AggregateRecord
from generation.library.loading import Counts
from generation.models import Benchmark, GenerationRun

NAME = "published counts"
KEY = "aggregates"


@dataclass(frozen=True)
class Aggregate:
    """The counts of one model's outputs to the instructions with the tag `version`, as in AggregateRecord."""

    model: str
    version: str
    checks: int
    answered: int
    fulfilled: int
    completion: float | None
    words: float | None


def store_aggregates(benchmark: Benchmark, records: Iterable[AggregateRecord]) -> Counts:
    """Store the counts, one entry for each model and version; a changed entry replaces the one that was there."""
    read = [
        Aggregate(
            record.model,
            record.version,
            record.checks,
            record.answered,
            record.fulfilled,
            record.completion,
            record.words,
        )
        for record in records
    ]
    if not read:
        return Counts()
    with transaction.atomic():
        run, made = GenerationRun.objects.get_or_create(
            benchmark=benchmark, name=NAME, defaults={"status": GenerationRun.Status.IMPORTED}
        )
        note_created([run] if made else [])
        stored = {(entry.model, entry.version): entry for entry in _read(run)}
        new = {(entry.model, entry.version): entry for entry in read}
        created = sum(place not in stored for place in new)
        changed = sum(place in stored and stored[place] != entry for place, entry in new.items())
        if created or changed:
            note_changed(run, {"manifest": run.manifest})
            entries = sorted((stored | new).values(), key=lambda entry: (entry.version, entry.model))
            run.manifest = {**run.manifest, KEY: [asdict(entry) for entry in entries]}
            run.save(update_fields=["manifest"])
    return Counts(created=created, completed=changed, already_there=len(new) - created - changed)


def aggregates_of(benchmark: Benchmark) -> list[Aggregate]:
    """Return the stored counts of the benchmark's authors; none where they have not been loaded."""
    run = GenerationRun.objects.filter(benchmark=benchmark, name=NAME, status=GenerationRun.Status.IMPORTED).first()
    return _read(run) if run is not None else []


def _read(run: GenerationRun) -> list[Aggregate]:
    return [Aggregate(**entry) for entry in run.manifest.get(KEY, [])]

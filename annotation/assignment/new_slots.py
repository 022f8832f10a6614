"""The slots of a study's tasks, which are rows of Seat: created before anyone rates, each with its assignment order.

Policies read here: "overlap" (slots per task, default 1), "order" ("spread": every task once before any
twice; "finish": all slots of a task together; "random", the default).
"""

from collections.abc import Collection, Iterator
from random import Random

from django.db import transaction

from annotation.models import Seat, Study, Task
from annotation.policies.policies import Policies


def overlap_of(study: Study) -> int:
    """The number of slots per task. Raises BadPolicy unless it is a whole number from 1 to 1000."""
    return Policies.of(study).checked("overlap").overlap


def _draw_keys(random: Random, order: str, overlap: int) -> Iterator[int]:
    """Draw one task's keys, in order: numbers below 2**62 that decide the assignment order."""
    together = random.getrandbits(50)
    for place in range(overlap):
        match order:
            case "spread":
                yield (place << 50) + random.getrandbits(50)
            case "finish":
                yield (together << 12) + place
            case _:
                yield random.getrandbits(62)


def make_seats(study: Study, *, among: Collection[int] | None = None, keys: Collection[str] | None = None) -> int:
    """Create the slots that the study's tasks, or those with these ids or keys, still lack, as free rows.

    Returns their number.

    Dropped tasks (policy "dropped", their keys) get none. Keys come from the study's seed and each task's id, so that
    adding tasks never changes earlier draws.
    """
    policies = Policies.of(study).checked("overlap", "order")
    made = 0
    with transaction.atomic():
        present = set(Seat.objects.filter(study=study).values_list("task_id", "place"))
        batch: list[Seat] = []
        tasks = Task.objects.filter(study=study, gold__isnull=True)
        tasks = tasks.exclude(key__in=policies.dropped)
        if among is not None:
            tasks = tasks.filter(pk__in=among)
        for task_id, name in tasks.order_by("pk").values_list("pk", "key"):
            if keys is not None and name not in keys:
                continue
            drawn = _draw_keys(Random(f"{study.seed}:{task_id}"), policies.order, policies.overlap)
            batch.extend(
                Seat(study=study, task_id=task_id, place=place, draw_key=key)
                for place, key in enumerate(drawn)
                if (task_id, place) not in present
            )
            if len(batch) >= 5000:
                made += len(Seat.objects.bulk_create(batch, batch_size=1000))
                batch = []
        made += len(Seat.objects.bulk_create(batch, batch_size=1000))
    return made

"""The slots of a study's tasks, which are rows of Seat: created before anyone rates, each with its assignment order.

Where the study states a question of when to stop, instructions are rated one after another in the order drawn for it.

Policies read here: "overlap" (slots per task, default 1), "order" ("spread": every task once before any
twice; "finish": all slots of a task together; "random", the default).
"""

from collections.abc import Collection, Iterator, Mapping
from random import Random

from django.db import transaction

from annotation.models import Seat, StoppingQuestion, Study, Task
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


def _in_turn(random: Random, turn: int, overlap: int) -> Iterator[int]:
    """Draw one task's keys, below 2**62, so that they come among those of its turn."""
    for _place in range(overlap):
        yield (turn << 40) + random.getrandbits(40)


def turns_of(question: StoppingQuestion | None) -> dict[int, int]:
    """The turn of each task that a question of when to stop reads, from 0: that of its instruction."""
    return {
        task: turn
        for turn, (_instruction, tasks) in enumerate(question.instructions if question else ())
        for task in tasks
    }


def make_seats(
    study: Study,
    *,
    among: Collection[int] | None = None,
    keys: Collection[str] | None = None,
    turns: Mapping[int, int] | None = None,
) -> int:
    """Create the slots that the study's tasks, or those with these ids or keys, still lack, as free rows.

    Returns their number.

    Dropped tasks (policy "dropped", their keys) get none. Keys come from the study's seed and each task's id, so that
    adding tasks never changes earlier draws. `turns` are by task, those of the question frozen at launch if not given;
    tasks without one come last.
    """
    if turns is None:
        turns = turns_of(StoppingQuestion.objects.filter(study=study).first())
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
            random = Random(f"{study.seed}:{task_id}")
            drawn = (
                _in_turn(random, turns.get(task_id, len(turns)), policies.overlap)
                if turns
                else _draw_keys(random, policies.order, policies.overlap)
            )
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

"""Which side of a pair was shown first in stored answers, and the repeat numbers of new answers beside them."""

from collections.abc import Iterator, Sequence
from itertools import count

from annotation.models import Assignment, Study
from judging.models import Judge

Shown = dict[int, str]
"""By repeat, the side that was shown first in a stored answer; "a" if the task is not a pair."""


def shown_before(study: Study, jurors: Sequence[Judge]) -> dict[tuple[int, int], Shown]:
    """Return what the judges have answered already, by rater and task."""
    rows = Assignment.objects.filter(
        task__study=study, rater__in=[juror.rater_id for juror in jurors], status=Assignment.Status.SUBMITTED
    ).values_list("rater_id", "task_id", "repeat", "shown_first")
    found: dict[tuple[int, int], Shown] = {}
    for rater, task, repeat, side in rows.iterator(5_000):
        found.setdefault((rater, task), {})[repeat] = side or "a"
    return found


def numbered(sides: Sequence[str], known: Shown) -> Iterator[tuple[str, int]]:
    """Yield the sides to be shown first, each with its repeat number.

    This is the number of a stored answer in this order as long as there are any, else a number without an answer: with
    the number of an answer in the other order, it would be mistaken for that one.
    """
    given = {side: [repeat for repeat, shown in sorted(known.items()) if shown == side] for side in set(sides)}
    free = (repeat for repeat in count() if repeat not in known)
    for side in sides:
        yield side, given[side].pop(0) if given[side] else next(free)

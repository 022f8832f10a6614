"""Which of a pair was shown first in the answers there are, and what repeats new answers are beside them."""

from collections.abc import Iterator, Sequence
from itertools import count

from annotation.models import Assignment, Study
from judging.models import Judge

Shown = dict[int, str]
"""By repeat, who of a pair was shown first in an answer that is stored; "a" of what is no pair."""


def shown_before(study: Study, jurors: Sequence[Judge]) -> dict[tuple[int, int], Shown]:
    """By rater and task, all that the jurors have answered already."""
    rows = Assignment.objects.filter(
        task__study=study, rater__in=[juror.rater_id for juror in jurors], status=Assignment.Status.SUBMITTED
    ).values_list("rater_id", "task_id", "repeat", "shown_first")
    found: dict[tuple[int, int], Shown] = {}
    for rater, task, repeat, side in rows.iterator(5_000):
        found.setdefault((rater, task), {})[repeat] = side or "a"
    return found


def numbered(sides: Sequence[str], known: Shown) -> Iterator[tuple[str, int]]:
    """The sides to be shown first, each with the repeat that it is.

    That is an answer given in this order, as long as there are such, else a number that no answer has: under one that
    was given in the other order it would be taken for this one.
    """
    given = {side: [repeat for repeat, shown in sorted(known.items()) if shown == side] for side in set(sides)}
    free = (repeat for repeat in count() if repeat not in known)
    for side in sides:
        yield side, given[side].pop(0) if given[side] else next(free)

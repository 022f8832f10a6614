"""Let answers that are being stored finish before what they are about is removed, and hold those that come later.

An answer and a removal may happen at the same moment. Who removes tasks or answers first locks what an answer locks or
refers to, and only then looks at what depends on them. So an answer that was stored is seen, and one that comes later
finds its task gone and is refused (annotation/answers/recording.py). SQLite has one writer at a time and no row locks.
"""

from collections.abc import Collection
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from annotation.models import Assignment, Criterion, Rater, Seat, Task
from core.db.removal import conditions


def await_answers(tasks: Collection[int], *, assignments: Collection[int] = (), criteria: Collection[int] = ()) -> None:
    """Wait for answers to these tasks, changes of these answers and answers to these questions that are being stored.

    Later ones wait for the end of the present transaction. Takes pks. Raters, seats and assignments are locked in the
    order in which assigning and answering a task lock them, and last what new rows refer to.
    """
    if not connection.features.has_select_for_update:
        return
    for some in conditions("study__tasks", tasks):
        raters = Rater.objects.filter(pk__in=Rater.objects.filter(some).order_by().values("pk"))
        _lock(raters.select_for_update(no_key=True))
    for some in conditions("task", tasks):
        _lock(Seat.objects.filter(some).select_for_update())
    for name, ids in (("task", tasks), ("pk", assignments)):
        for some in conditions(name, ids):
            _lock(Assignment.objects.filter(some).select_for_update())
    for some in conditions("pk", tasks):
        _lock(Task.objects.filter(some).select_for_update())
    for some in conditions("pk", criteria):
        _lock(Criterion.objects.filter(some).select_for_update())


def _lock(rows: QuerySet[Any]) -> None:
    for _row in rows.order_by("pk").values_list("pk").iterator(5_000):
        pass

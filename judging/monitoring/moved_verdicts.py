"""Which verdicts moved between two rounds of a monitor, criterion by criterion."""

from collections.abc import Iterable
from dataclasses import dataclass

from annotation.models import Task
from judging.models import JudgeRun, PlannedItem, Watch
from judging.monitoring.readings import answers_of_round, ends_of


@dataclass(frozen=True)
class MovedVerdict:
    """A criterion of a task whose answer differs between two rounds, None where a round has no usable one.

    `share` is the difference, after minus before, as a share of the scale, -1..1; None where one of them is missing.
    The items are those of the two rounds at which the verdicts are read.
    """

    task: Task
    criterion: str
    question: str
    preference: bool
    before: float | None
    after: float | None
    share: float | None
    item_before: PlannedItem | None
    item_after: PlannedItem | None

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before


def moved_verdicts(watch: Watch, baseline: JudgeRun, run: JudgeRun) -> list[MovedVerdict]:
    """Return the answers that changed, the largest share of their scale first, then those without a usable answer."""
    before, after = answers_of_round(baseline), answers_of_round(run)
    changed = {
        place
        for place in before.keys() | after.keys()
        if before.get(place) is None or after.get(place) is None or before[place] != after[place]
    }
    wanted = {task for task, _key in changed}
    texts = ("response_a__instruction", "response_a__model", "response_b__model")
    found = Task.objects.filter(pk__in=wanted).select_related(*texts)
    found = found.defer("response_a__text", "response_b__text").prefetch_related("answer_rubric__criteria")
    tasks = found.in_bulk()
    ends = ends_of(watch, tasks)
    first, second = _items(baseline, wanted), _items(run, wanted)
    rows = []
    for task, key in changed:
        if task not in tasks or (task, key) not in ends:
            continue
        criterion = next(one for one in tasks[task].answer_rubric.criteria.all() if one.key == key)
        low, high = ends[task, key]
        old, new = (given[task, key][0] if (task, key) in given else None for given in (before, after))
        share = None if old is None or new is None else (new - old) / (high - low)
        preference = criterion.role == "preference"
        rows.append(
            MovedVerdict(
                tasks[task], key, criterion.question, preference, old, new, share, first.get(task), second.get(task)
            )
        )
    return sorted(rows, key=_by_size)


def _by_size(row: MovedVerdict) -> tuple[bool, float, int, str]:
    return row.share is None, -abs(row.share or 0.0), row.task.pk, row.criterion


def _items(run: JudgeRun, tasks: Iterable[int]) -> dict[int, PlannedItem]:
    """Return the first item of each task in the run."""
    found = run.items.filter(task__in=list(tasks), canary="").order_by("-juror", "-repeat", "-pk")
    return {item.task_id: item for item in found}

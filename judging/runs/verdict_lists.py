"""The items of a judge run with their verdicts: filtered, ordered, and beside what people answered to the same task."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from statistics import fmean
from typing import Any

from django.core.cache import cache
from django.db.models import Avg, Count, Exists, OuterRef, Q, QuerySet, Sum

from annotation.models import Assignment, Rater, Score, Task, counting
from judging.models import JudgeRun, PlannedItem, Reply

ALL, UNUSABLE, LOWEST, FARTHEST, CANARIES = "all", "unusable", "lowest", "farthest", "canaries"
FILTERS = (ALL, UNUSABLE, LOWEST, FARTHEST, CANARIES)
LONGEST_RANKED = 1_000
RANKED_KEPT_SECONDS = 300
ROLES = {"preference": ["preference"], "overall": ["overall"], "item": ["item", "check"]}
"""What an answer is summed up by, the first that it has, and the roles of the criteria that it is the mean of."""
STATUS = PlannedItem.Status


@dataclass(frozen=True)
class MeanScore:
    """One answer, or the mean of several, in one number: the preference, the overall score, or the mean of the items.

    `role` says which: "preference", "overall" or "item"; the items include instruction checks.
    """

    role: str
    value: float


@dataclass(frozen=True)
class Asked:
    """What an item's replies came to; `seconds` of all attempts together, `cost` in the currency of the prices."""

    replies: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0


@dataclass(frozen=True)
class ListedItem:
    """An item with its score, None without a verdict. `people` is the mean of people's counted answers on the same
    criteria, None if nobody answered the task; `distance` is the score minus that mean.
    """

    item: PlannedItem
    score: MeanScore | None
    people: float | None
    asked: Asked

    @property
    def distance(self) -> float | None:
        return None if self.score is None or self.people is None else self.score.value - self.people


@dataclass(frozen=True)
class VerdictList:
    """The items of a run that a filter shows, in its order.

    `ranked` are their pks where the order needs the scores, at most LONGEST_RANKED; None where the plan's order counts.
    """

    run: JudgeRun
    shown: str = ALL
    instruction: str = ""
    ranked: tuple[int, ...] | None = field(default=None)

    @property
    def items(self) -> QuerySet[PlannedItem]:
        return _items(self.run, self.shown, self.instruction)

    def __len__(self) -> int:
        return len(self.ranked) if self.ranked is not None else self.items.count()

    def pks(self, start: int, end: int) -> list[int]:
        if self.ranked is not None:
            return list(self.ranked[start:end])
        return list(self.items.order_by("position", "pk").values_list("pk", flat=True)[start:end])

    def place_of(self, item: PlannedItem) -> int | None:
        """Return the item's place from 0, None if the filter does not show it."""
        if self.ranked is not None:
            return self.ranked.index(item.pk) if item.pk in self.ranked else None
        if not self.items.filter(pk=item.pk).exists():
            return None
        before = Q(position__lt=item.position) | Q(position=item.position, pk__lt=item.pk)
        return self.items.filter(before).count()


def verdict_list(run: JudgeRun, shown: str, instruction: str = "") -> VerdictList:
    """Return the items that the filter shows; an unknown filter shows all. `instruction` is a part of its id."""
    shown = shown if shown in FILTERS else ALL
    ranked = _ranked(run, shown, instruction) if shown in (LOWEST, FARTHEST) else None
    return VerdictList(run, shown, instruction, ranked)


def counts_of(run: JudgeRun) -> dict[str, int]:
    """Return how many of the run's ordinary items are scored, unscored and waiting, and how many canary texts it has."""
    rows = run.items.order_by().values("status").annotate(n=Count("pk", filter=Q(canary="")), planted=Count("pk"))
    counts: Counter[str] = Counter({"total": 0, "planted": 0, **dict.fromkeys(STATUS.values, 0)})
    for row in rows:
        counts[row["status"]] = row["n"]
        counts["total"] += row["n"]
        counts["planted"] += row["planted"] - row["n"]
    return dict(counts)


def listed(run: JudgeRun, pks: Sequence[int]) -> list[ListedItem]:
    """Return these items of the run in the order of `pks`, without the texts of the responses."""
    found = (
        run.items.select_related("task__response_a__instruction", "task__response_a__model", "task__response_b__model")
        .defer("task__response_a__text", "task__response_b__text")
        .in_bulk(pks)
    )
    items = [found[pk] for pk in pks if pk in found]
    scores = means_of(item.assignment_id for item in items if item.status == STATUS.SCORED)
    people = people_on({item.task_id for item in items})
    asked = _asked(pks)
    rows = []
    for item in items:
        score = scores.get(item.assignment_id or 0)
        beside = people.get(item.task_id, {}).get(score.role) if score is not None and not item.canary else None
        rows.append(ListedItem(item, score, beside, asked.get(item.pk, Asked())))
    return rows


def means_of(assignments: Iterable[int | None]) -> dict[int, MeanScore]:
    """Return each of these answers in one number; an answer without any score is left out."""
    scores = Score.objects.filter(assignment__in=[pk for pk in assignments if pk])
    return {
        row["assignment_id"]: mean
        for row in _in_one_number(scores).values("assignment_id", *ROLES)
        if (mean := _mean(row)) is not None
    }


def people_on(tasks: Iterable[int] | QuerySet[PlannedItem, Any]) -> dict[int, dict[str, float]]:
    """Return for each task and role the mean of people's counted answers, where each person counts once.

    `tasks` are pks, or a query for them.
    """
    scores = Score.objects.filter(answers_of_people(tasks, "assignment__"))
    values: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    rows = _in_one_number(scores).values_list("assignment__task_id", *ROLES)
    for task, *means in rows.iterator(5_000):
        for role, value in zip(ROLES, means, strict=True):
            if value is not None:
                values[task][role].append(value)
    return {task: {role: fmean(said) for role, said in roles.items()} for task, roles in values.items()}


def answers_of_people(tasks: Iterable[int] | QuerySet[PlannedItem, Any], prefix: str = "") -> Q:
    """People's first answers to these tasks that count, `prefix` being the path to the assignment."""
    return counting(prefix) & Q(
        **{
            f"{prefix}task__in": tasks,
            f"{prefix}repeat": 0,
            f"{prefix}rater__kind__in": [Rater.Kind.PERSON, Rater.Kind.SLOT],
        }
    )


def people_about(task: Task) -> QuerySet[Assignment]:
    """Return people's answers to the task that count, with their scores, in the order of their pseudonyms."""
    given = Assignment.objects.filter(answers_of_people([task.pk])).select_related("rater")
    return given.prefetch_related("scores__criterion").order_by("rater__pseudonym", "pk")


def _in_one_number(scores: QuerySet[Score]) -> QuerySet[Score, Any]:
    """Return a row per assignment with the mean of its latest scores in each role, None where it has none."""
    later = Score.objects.filter(
        assignment=OuterRef("assignment"), criterion=OuterRef("criterion"), revision__gt=OuterRef("revision")
    )
    means = {role: Avg("value", filter=Q(criterion__role__in=roles)) for role, roles in ROLES.items()}
    return scores.filter(~Exists(later)).order_by().values("assignment_id", "assignment__task_id").annotate(**means)


def _mean(row: Mapping[str, Any]) -> MeanScore | None:
    return next((MeanScore(role, row[role]) for role in ROLES if row[role] is not None), None)


def _asked(pks: Sequence[int]) -> dict[int, Asked]:
    rows = (
        Reply.objects.filter(item__in=pks)
        .order_by()
        .values("item_id")
        .annotate(
            n=Count("pk"), read=Sum("input_tokens"), written=Sum("output_tokens"), took=Sum("seconds"), paid=Sum("cost")
        )
    )
    return {
        row["item_id"]: Asked(row["n"], row["read"], row["written"], row["took"], float(row["paid"])) for row in rows
    }


def _items(run: JudgeRun, shown: str, instruction: str) -> QuerySet[PlannedItem]:
    items = run.items.exclude(canary="") if shown == CANARIES else run.items.filter(canary="")
    if shown == UNUSABLE:
        items = items.filter(status=STATUS.UNSCORED)
    if shown in (LOWEST, FARTHEST):
        items = items.filter(status=STATUS.SCORED, assignment__isnull=False)
    if instruction:
        items = items.filter(task__response_a__instruction__external_id__icontains=instruction)
    return items


def _ranked(run: JudgeRun, shown: str, instruction: str) -> tuple[int, ...]:
    """Return the first LONGEST_RANKED pks in the filter's order, kept for some minutes because all scores are read."""
    if instruction:
        return _rank(run, shown, instruction)
    scored = run.items.filter(status=STATUS.SCORED).count()
    key = f"run-verdicts-{run.public_id}-{shown}-{scored}"
    known = cache.get(key)
    if known is None:
        known = _rank(run, shown, "")
        cache.set(key, known, RANKED_KEPT_SECONDS)
    return tuple(known)


def _rank(run: JudgeRun, shown: str, instruction: str) -> tuple[int, ...]:
    means = {
        role: Avg("assignment__scores__value", filter=Q(assignment__scores__criterion__role__in=roles))
        for role, roles in ROLES.items()
    }
    items = _items(run, shown, instruction)
    people = people_on(items.values("task")) if shown == FARTHEST else {}
    places = []
    for row in items.order_by().values("pk", "task_id", "position").annotate(**means).iterator(5_000):
        mean = _mean(row)
        if mean is None:
            continue
        if shown == LOWEST:
            places.append((mean.value, row["position"], row["pk"]))
        elif mean.role in people.get(row["task_id"], {}):
            distance = abs(mean.value - people[row["task_id"]][mean.role])
            places.append((-distance, row["position"], row["pk"]))
    return tuple(pk for _value, _position, pk in nsmallest(LONGEST_RANKED, places))

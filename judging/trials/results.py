"""What a trial brought, beside what people answered about the same responses in any study of the workspace."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean

from annotation.models import Criterion, Rater, Score, counting
from core.messages.message import stored_text
from judging.models import PromptTrial, TrialItem


@dataclass(frozen=True)
class TriedCriterion:
    """One criterion: the model's score, None if it was not asked about it, and the mean of `raters` people's answers.

    `reason` is the model's own text. `preference`: the scores run from -1 (B is better) to 1 (A is better).
    """

    question: str
    score: float | None
    reason: str
    people: float | None
    raters: int
    preference: bool

    @property
    def difference(self) -> float | None:
        return None if self.score is None or self.people is None else self.score - self.people


@dataclass(frozen=True)
class TriedAnswer:
    """An item of a trial with its criteria; `distance` is the mean absolute difference from people, None without any."""

    item: TrialItem
    criteria: list[TriedCriterion]

    @property
    def distance(self) -> float | None:
        gaps = [abs(one.difference) for one in self.criteria if one.difference is not None]
        return fmean(gaps) if gaps else None


@dataclass(frozen=True)
class TrialResult:
    """All items of a trial, in order; `cost` is what they have cost so far."""

    answers: list[TriedAnswer]
    cost: Decimal

    @property
    def settled(self) -> int:
        return sum(one.item.status != TrialItem.Status.WAITING for one in self.answers)

    @property
    def unusable(self) -> int:
        return sum(one.item.status == TrialItem.Status.UNSCORED for one in self.answers)


def result_of(trial: PromptTrial) -> TrialResult:
    items = list(trial.items.select_related("task", "response").order_by("position"))
    people = _people(items)
    answers = [TriedAnswer(item, _criteria(item, people.get(item.pk, {}))) for item in items]
    return TrialResult(answers, sum((item.cost for item in items), Decimal(0)))


def _criteria(item: TrialItem, people: dict[str, tuple[Criterion, list[float]]]) -> list[TriedCriterion]:
    """Return what the model answered, then what only people answered."""
    given = []
    for answer in item.answers:
        criterion, values = people.get(answer["key"], (None, []))
        given.append(
            TriedCriterion(
                criterion.question if criterion else answer["question"],
                float(answer["value"]),
                answer["reason"],
                fmean(values) if values else None,
                len(values),
                answer["key"] in people and people[answer["key"]][0].role == Criterion.Role.PREFERENCE,
            )
        )
    asked = {answer["key"] for answer in item.answers}
    for key, (criterion, values) in people.items():
        if key not in asked:
            preference = criterion.role == Criterion.Role.PREFERENCE
            given.append(TriedCriterion(criterion.question, None, "", fmean(values), len(values), preference))
    return given


def _people(items: Sequence[TrialItem]) -> dict[int, dict[str, tuple[Criterion, list[float]]]]:
    """Return people's counted answers to each item's task or response, by item and by the key of the criterion."""
    tasks = {item.task_id: item.pk for item in items if item.task_id}
    responses = {(item.response_id, item.rubric_id): item.pk for item in items if not item.task_id and item.response_id}
    counted = Score.objects.filter(
        counting("assignment__"),
        assignment__repeat=0,
        assignment__task__gold__isnull=True,
        assignment__rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT],
        value__isnull=False,
    )
    columns = ("criterion", "assignment__task")
    found = list(counted.filter(assignment__task__in=tasks).select_related(*columns).order_by("revision", "pk"))
    if responses:
        alone = counted.filter(
            assignment__task__response_a__in=[response for response, _rubric in responses],
            assignment__task__response_b=None,
        )
        found += alone.select_related(*columns).order_by("revision", "pk")
    latest: dict[tuple[int, int, int], Score] = {}
    for score in found:
        task = score.assignment.task
        pk = tasks.get(task.pk) or responses.get((task.response_a_id, task.answer_rubric_id))
        if pk:
            latest[pk, score.assignment_id, score.criterion_id] = score
    people: dict[int, dict[str, tuple[Criterion, list[float]]]] = defaultdict(dict)
    for (pk, _assignment, _criterion), score in sorted(
        latest.items(), key=lambda row: (row[0][0], row[1].criterion.position, row[0][1])
    ):
        _same, values = people[pk].setdefault(score.criterion.key, (score.criterion, []))
        values.append(float(score.value or 0.0))
    return people


def reason_of(item: TrialItem) -> str:
    """Return why the item has no verdict, as a message."""
    return stored_text(item, "reason")

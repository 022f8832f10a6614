"""Compare two models of a leaderboard on the instructions that both answered; show one instruction in full."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import QuerySet

from annotation.models import Assignment, Criterion, Rater, Score, Task, counting
from annotation.texts.rendering import RenderedText, render_text
from calibration.data.frames import Floats, Ints
from calibration.figures.drawing import shortest
from core.messages.message import stored_text
from generation.models import Category, Instruction, Response
from judging.leaderboards.table import Leaderboard
from judging.leaderboards.weighting import MissingWeights
from judging.scores.metrics import FULFILLED
from judging.scores.paired_difference import PairedDifference, paired_difference

FIRST, SECOND, GAP, ORDER = "first", "second", "gap", "order"
SORTS = (FIRST, SECOND, GAP, ORDER)


@dataclass(frozen=True)
class SharedInstruction:
    """Values on the scale of the board and of the difference; `gap` is the first model's value minus the second's."""

    pk: int
    public_id: str
    external_id: str
    category: str
    opening: str
    first: float
    second: float

    @property
    def gap(self) -> float:
        return self.first - self.second


@dataclass(frozen=True)
class ModelPair:
    """`rows` in the requested order; `difference` over all of them."""

    board: Leaderboard
    first: str
    second: str
    rows: tuple[SharedInstruction, ...]
    difference: PairedDifference


def model_pair(board: Leaderboard, first: str, second: str, sort: str = GAP) -> ModelPair:
    """Compare two models. Raises TooFewRatings if they share no instruction, KeyError for a model not on the board."""
    instructions_a, values_a, columns_a = _by_instruction(board, board.pks[first])
    instructions_b, values_b, _ = _by_instruction(board, board.pks[second])
    shared, at_a, at_b = np.intersect1d(instructions_a, instructions_b, return_indices=True)
    values, rivals = values_a[at_a], values_b[at_b]
    difference = paired_difference(columns_a[at_a], values - rivals, board.rule)
    instructions = Instruction.objects.select_related("category").in_bulk(shared.tolist())
    rows = [
        SharedInstruction(
            pk,
            instruction.public_id,
            instruction.external_id,
            instruction.category.name if instruction.category else "",
            instruction.text[:160],
            float(value),
            float(rival),
        )
        for pk, value, rival in zip(shared.tolist(), board.rule.scaled(values), board.rule.scaled(rivals), strict=True)
        if (instruction := instructions.get(pk)) is not None
    ]
    return ModelPair(board, first, second, tuple(_ordered(rows, sort)), difference)


def _by_instruction(board: Leaderboard, model: int) -> tuple[Ints, Floats, Ints]:
    """Return the instructions in ascending order, the model's mean value on each, and its column."""
    of_model = board.observations.model == model
    rows = board.observations.select(of_model)
    pks, first, place = np.unique(rows.instruction, return_index=True, return_inverse=True)
    above = np.bincount(place.reshape(-1), weights=rows.top, minlength=len(pks))
    below = np.bincount(place.reshape(-1), weights=rows.under, minlength=len(pks))
    return pks, above / below, board.column[of_model][first]


def _ordered(rows: Sequence[SharedInstruction], sort: str) -> list[SharedInstruction]:
    """Sort by the first model's lead, by the second's, by the size of the gap, or in the benchmark's own order."""
    if sort == ORDER:
        return sorted(rows, key=lambda row: row.external_id)
    sign = {FIRST: -1.0, SECOND: 1.0}.get(sort)
    return sorted(rows, key=lambda row: (-abs(row.gap) if sign is None else sign * row.gap, row.external_id))


@dataclass(frozen=True)
class ItemVerdict:
    """The judge's answer to one criterion; `people` is the mean of `raters` people, None if nobody answered."""

    question: str
    score: str
    reason: str
    people: float | None
    raters: int


@dataclass(frozen=True)
class Side:
    """One model's response to the instruction; its text is None if it is not available."""

    model: str
    response: Response
    text: RenderedText | None
    value: float
    verdicts: tuple[ItemVerdict, ...]
    unscored: str


@dataclass(frozen=True)
class ComparedItem:
    """One instruction and both sides; criteria are those of either side, with their weights if there are any."""

    instruction: Instruction
    sides: tuple[Side, Side]
    criteria: tuple[tuple[str, float | None, tuple[ItemVerdict | None, ItemVerdict | None]], ...]
    pair: tuple[ItemVerdict, ...]


def compared_item(pair: ModelPair, row: SharedInstruction) -> ComparedItem:
    """Return the judge's verdicts with their reasons, and people's ratings of the same responses."""
    instruction = Instruction.objects.select_related("category__parent").get(pk=row.pk)
    board = pair.board
    sides = tuple(
        _side(board, row.pk, name, value) for name, value in ((pair.first, row.first), (pair.second, row.second))
    )
    weights = _weights(board, instruction.category, sides) if board.metric.name == "points" else {}
    questions = list(dict.fromkeys(verdict.question for side in sides for verdict in side.verdicts))
    criteria = tuple(
        (
            question,
            weights.get(question),
            tuple(next((row for row in side.verdicts if row.question == question), None) for side in sides),
        )
        for question in questions
    )
    return ComparedItem(instruction, sides, criteria, _direct(board, sides))  # type: ignore[arg-type]


def _side(board: Leaderboard, instruction: int, model: str, value: float) -> Side:
    rows = board.observations
    judged = (rows.model == board.pks[model]) & (rows.instruction == instruction) & (rows.response > 0)
    response = Response.objects.get(pk=int(rows.response[judged][0]))
    assignment = _verdict_on(board.judge, _tasks_about(board, response))
    verdicts = _verdicts(assignment) if assignment is not None and not board.metric.paired else ()
    text = render_text(response.text) if response.text else None
    return Side(model, response, text, value, verdicts, assignment.reason if assignment else "")


def _tasks_about(board: Leaderboard, response: Response) -> QuerySet[Task]:
    """Return the tasks about one response that the board's metric uses: checks, or whole checklists."""
    kind = Task.Kind.CHECK if board.metric.name == FULFILLED else Task.Kind.SINGLE
    return Task.objects.filter(response_a=response, response_b=None, kind=kind)


def _verdict_on(judge: Rater, tasks: QuerySet[Task]) -> Assignment | None:
    """Return the judge's first usable verdict on one of these tasks, except those of failed runs."""
    return (
        Assignment.objects.filter(
            rater=judge, repeat=0, task__in=tasks, status__in=[Assignment.Status.SUBMITTED, Assignment.Status.DERIVED]
        )
        .believed()
        .select_related("task__answer_rubric")
        .order_by("pk")
        .first()
    )


def _verdicts(assignment: Assignment, swapped: bool = False) -> tuple[ItemVerdict, ...]:
    """Return the answers in the order of the criteria; those of a swapped pair are mirrored."""
    latest: dict[int, Score] = {}
    for score in assignment.scores.select_related("criterion").order_by("criterion__position", "revision"):
        latest[score.criterion_id] = score
    people = _people(assignment.task)
    return tuple(
        ItemVerdict(
            score.criterion.question,
            _shown(score, swapped),
            stored_text(score, "reason"),
            None if mean is None else (-mean if swapped else mean),
            raters,
        )
        for score in latest.values()
        for mean, raters in [people.get(score.criterion.key, (None, 0))]
    )


def _shown(score: Score, swapped: bool) -> str:
    if score.value is None:
        return "–"
    value = 0.0 - score.value if swapped else score.value
    return shortest(value, signed=score.criterion.role == Criterion.Role.PREFERENCE)


def _people(task: Task) -> dict[str, tuple[float | None, int]]:
    """Return, by criterion key, the mean of people's latest answers to the same question about the same responses, in
    any study.

    The kind of the task keeps reviews of verdicts and instruction checks apart from scores.
    """
    rows = Score.objects.filter(
        counting("assignment__"),
        assignment__task__kind=task.kind,
        assignment__task__gold__isnull=True,
        assignment__task__response_a=task.response_a_id,
        assignment__task__response_b=task.response_b_id,
        assignment__repeat=0,
        assignment__rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT],
        value__isnull=False,
    ).order_by("revision")
    latest = {
        (assignment, key): value
        for assignment, key, value in rows.values_list("assignment_id", "criterion__key", "value")
    }
    values: dict[str, list[float]] = {}
    for (_assignment, key), value in latest.items():
        values.setdefault(key, []).append(float(value or 0.0))
    return {key: (float(np.mean(given)), len(given)) for key, given in values.items()}


def _direct(board: Leaderboard, sides: Sequence[Side]) -> tuple[ItemVerdict, ...]:
    """Return the judge's verdict on exactly this pair; positive means that the first response is better."""
    if not board.metric.paired:
        return ()
    a, b = (side.response for side in sides)
    for first, second, swapped in ((a, b, False), (b, a, True)):
        assignment = _verdict_on(board.judge, Task.objects.filter(response_a=first, response_b=second))
        if assignment is not None:
            return _verdicts(assignment, swapped)
    return ()


def _weights(board: Leaderboard, category: Category | None, sides: Sequence[Side]) -> dict[str, float]:
    """Return the weight of each question, in percent of all weights."""
    side = next((side for side in sides if side.verdicts), None)
    if side is None:
        return {}
    asked = {row.question for row in side.verdicts}
    verdict = _verdict_on(board.judge, _tasks_about(board, side.response))
    assert verdict is not None
    criteria = verdict.task.answer_rubric.criteria.filter(role=Criterion.Role.ITEM)
    items = [item for item in criteria if item.question in asked]
    try:
        weights = board.weighting.weights(category, [item.key for item in items], [item.position for item in items])
    except MissingWeights:
        return {}
    total = sum(weights) or 1.0
    return {item.question: 100 * weight / total for item, weight in zip(items, weights, strict=True)}

"""Tasks with a known answer: gold items, which a lead marks, and attention checks, which are degraded copies.

They have no slots, and their answers are used only to assess the rater.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from random import Random
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotation.models import Assignment, Criterion, Rater, Seat, Study, Task, latest_scores
from annotation.policies.policies import CONTROL, GOLD
from annotation.policies.quality_checks import BEFORE_RATING
from annotation.rules.degrading import Damage, TooShort, degrade
from annotation.rules.marking import below, missed
from core.db.created_rows import note_changed
from core.db.prepared import EXAMPLE_ID, PreparedValues
from core.errors import UserError
from generation.models import Response
from generation.text_metrics.counts import word_count

PURPOSES = (GOLD, CONTROL, *BEFORE_RATING)


def check_tasks(study: Study, purpose: str) -> QuerySet[Task]:
    """The study's tasks with this purpose, in order; uses the index of check tasks."""
    return Task.objects.filter(study=study, gold__isnull=False, gold__purpose=purpose).order_by("position", "pk")


def unseen_by(rater: Rater, tasks: QuerySet[Task]) -> QuerySet[Task]:
    return tasks.exclude(Exists(Assignment.objects.filter(task=OuterRef("pk"), rater=rater)))


@cache
def _unseen_of_kind(kind: str) -> PreparedValues:
    """A prepared query for the tasks of a purpose that a rater has not had, by study and rater."""
    return PreparedValues(
        lambda study, rater: unseen_by(Rater(pk=rater), check_tasks(Study(pk=study), kind)).values_list("pk"),
        EXAMPLE_ID,
        EXAMPLE_ID + 1,
    )


def check_for(rater: Rater, study: Study, kind: str, *, random: Random) -> int | None:
    """Draw a gold item or attention check that the rater has not had; None if none is left. One query."""
    unseen = _unseen_of_kind(kind).all(study.pk, rater.pk)
    return int(random.choice(unseen)[0]) if unseen else None


def _sound(task: Task, expected: Mapping[str, Any]) -> None:
    criteria = {criterion.key: criterion for criterion in task.answer_rubric.criteria.all()}
    for key, wanted in expected.items():
        if key not in criteria:
            known = ", ".join(criteria)
            told = _("Task %(task)s: the rubric has no criterion %(key)s; it has %(known)s.")
            raise UserError(told % {"task": task.key, "key": repr(key), "known": known})
        ends = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        low, high = criteria[key].ends
        if any(end is not None and not low <= float(end) <= high for end in ends):
            told = _("Task %(task)s: %(value)s is not on the scale of %(key)s (%(low)s to %(high)s).")
            ends_said = {"low": f"{low:g}", "high": f"{high:g}"}
            raise UserError(told % {"task": task.key, "value": repr(wanted), "key": key, **ends_said})


def mark_gold(
    task: Task, expected: Mapping[str, Any], *, purpose: str = GOLD, why: Mapping[str, str] | None = None
) -> None:
    """Mark the task as having a known answer {criterion key: value or [low, high]} and, for training, an explanation.

    Deletes its slots. Raises UserError if the task was already given to a rater or an answer is off its scale.
    """
    if purpose not in PURPOSES or purpose == CONTROL:
        told = _("Task %(task)s: %(purpose)s is not one of gold, training, qualification.")
        raise UserError(told % {"task": task.key, "purpose": repr(purpose)})
    if not expected:
        told = _("Task %(task)s: give the expected answer for at least one criterion.")
        raise UserError(told % {"task": task.key})
    _sound(task, expected)
    with transaction.atomic():
        if Assignment.objects.filter(task=task).exclude(rater__kind=Rater.Kind.JUDGE).exists():
            told = _("Task %(task)s has already been given to a rater. Create another task for this response.")
            raise UserError(told % {"task": task.key})
        Seat.objects.filter(task=task).delete()
        note_changed(task, {"gold": task.gold})
        task.gold = {"purpose": purpose, "expected": dict(expected), "why": dict(why or {})}
        task.save(update_fields=["gold"])


def _control_response(original: Response, damage: Damage, text: str) -> Response:
    return Response.objects.get_or_create(
        instruction_id=original.instruction_id,
        model=None,
        external_id=f"control:{original.public_id}:{damage}",
        defaults={
            "kind": Response.Kind.CONTROL,
            "derived_from": original,
            "text": text,
            "words": word_count(text) if original.words is not None else None,
        },
    )[0]


def _control_task(task: Task, response: Response, damage: Damage) -> Task | None:
    """Create a task's attention check: its response degraded or, for a pair, the response beside its degraded copy."""
    second: Response | None
    if task.kind == Task.Kind.PAIR:
        expected: dict[str, list[float]] = {}
        for criterion in task.answer_rubric.criteria.filter(role=Criterion.Role.PREFERENCE):
            better = [float(level["value"]) for level in criterion.levels if float(level["value"]) > 0]
            if better:
                expected[criterion.key] = [min(better), max(better)]
        if not expected:
            return None
        first, second = task.response_a, response
    else:
        expected, first, second = {}, response, None
    made, new = Task.objects.get_or_create(
        study_id=task.study_id,
        key=f"control:{response.pk}",
        defaults={
            "response_a": first,
            "response_b": second,
            "kind": task.kind,
            "answer_rubric": task.answer_rubric,
            "guide_rubric": task.guide_rubric,
            "position": task.position,
            "gold": {"purpose": CONTROL, "expected": expected, "of": task.pk, "damage": str(damage)},
        },
    )
    return made if new else None


def make_controls(study: Study, count: int, *, damages: Iterable[Damage] = tuple(Damage)) -> list[Task]:
    """Create up to `count` more attention checks, one per task, the kinds of damage in turn, drawn by the study's seed.

    Tasks whose text is missing or too short for the damage are passed over; no task gets a second attention check.
    """
    random = Random(f"{study.seed}:controls")
    order = list(damages)
    tasks = list(
        Task.objects.filter(study=study, gold__isnull=True, kind__in=[Task.Kind.SINGLE, Task.Kind.PAIR])
        .filter(part__isnull=True)
        .select_related("response_a", "answer_rubric", "guide_rubric")
        .order_by("pk")
    )
    random.shuffle(tasks)
    having = {(gold or {}).get("of") for gold in check_tasks(study, CONTROL).values_list("gold", flat=True)}
    made: list[Task] = []
    for task in tasks:
        if len(made) >= count:
            break
        if task.pk in having or not task.response_a.text:
            continue
        for turn in range(len(order)):
            damage = order[(len(made) + turn) % len(order)]
            try:
                text = degrade(task.response_a.text, damage, random)
            except TooShort:
                continue
            control = _control_task(task, _control_response(task.response_a, damage, text), damage)
            if control is not None:
                made.append(control)
            break
    return made


def _own_rating(rater_id: int, task_id: int) -> dict[int, float | None]:
    """The rater's own current scores of a task, by criterion id; {} if they have not rated it."""
    status = Assignment.Status
    own = Assignment.objects.filter(
        rater=rater_id, task=task_id, repeat=0, status__in=[status.SUBMITTED, status.EXCLUDED]
    ).first()
    return {pk: score.value for pk, score in latest_scores(own.scores.all()).items()} if own else {}


def missed_in(assignment: Assignment, criteria: Iterable[Criterion], values: Mapping[str, float | None]) -> list[str]:
    """The criteria of a task with a known answer whose answers differ from the expected ones; [] is a pass.

    An attention check of a single response is judged by its overall score or, without one, by the mean of its items.
    """
    gold = assignment.task.gold or {}
    if gold.get("purpose") != CONTROL or gold.get("expected"):
        return missed(gold.get("expected", {}), values)
    criteria = list(criteria)
    chosen = [c for c in criteria if c.role == Criterion.Role.OVERALL] or criteria
    answered = [c for c in chosen if values.get(c.key) is not None]
    if not answered:
        return []
    own = _own_rating(assignment.rater_id, gold.get("of", 0))
    shares, originals = [], []
    for criterion in answered:
        low, high = criterion.ends
        shares.append((float(values[criterion.key] or 0.0) - low) / (high - low))
        before = own.get(criterion.pk)
        if before is not None:
            originals.append((before - low) / (high - low))
    original = sum(originals) / len(originals) if len(originals) == len(answered) else None
    seen = below(sum(shares) / len(shares), original, (0.0, 1.0))
    return [] if seen else [criterion.key for criterion in answered]

"""Tasks on which raters disagree most, with their open slots and decisions.

The spread is the standard deviation of people's current scores on the overall or preference criterion (without one, the
mean over the items), as a share of the scale's length: 0 is agreement, 0.5 the maximum for two raters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from django.db import connection
from django.db.models import Count, Q

from annotation.models import Assignment, Criterion, Rater, Seat, Study, Task

ROLES_IN_TURN = (Criterion.Role.OVERALL, Criterion.Role.PREFERENCE, Criterion.Role.ITEM, Criterion.Role.CHECK)
_SPREAD = """
    SELECT task_id, AVG(spread) AS spread, MAX(answers) AS answers FROM (
        SELECT a.task_id AS task_id, COUNT(*) AS answers,
            (AVG(s.value * s.value) - AVG(s.value) * AVG(s.value)) / ({lengths}) AS spread
        FROM annotation_score s
        JOIN annotation_assignment a ON a.id = s.assignment_id
        WHERE s.criterion_id IN ({criteria}) AND s.value IS NOT NULL AND a.status = 'submitted' AND a.repeat = 0
            AND a.rater_id NOT IN (SELECT id FROM annotation_rater WHERE workspace_id = %s AND kind IN ('judge', 'key'))
            AND a.task_id IN (SELECT id FROM annotation_task WHERE study_id = %s AND gold IS NULL)
            AND NOT EXISTS (
                SELECT 1 FROM annotation_score later WHERE later.assignment_id = s.assignment_id
                    AND later.criterion_id = s.criterion_id AND later.revision > 0 AND later.revision > s.revision)
        GROUP BY a.task_id, s.criterion_id
        HAVING COUNT(*) > 1
    ) each_criterion
    GROUP BY task_id
    HAVING AVG(spread) > %s
    ORDER BY spread DESC, task_id
    LIMIT %s"""


@dataclass(frozen=True)
class Disagreement:
    """One task: `spread` from 0 to 0.5 of the scale, number of answers, open slots, and whether it is decided."""

    task: Task
    spread: float
    answers: int
    free: int
    decided: bool


def measured_criteria(study: Study) -> list[Criterion]:
    """The criteria on which disagreement is measured: those of the first role that the study's rubrics have."""
    criteria = list(study.asked_criteria(checks=False))
    for role in ROLES_IN_TURN:
        found = [criterion for criterion in criteria if criterion.role == role]
        if found:
            return found
    return []


def widest_spreads(study: Study, *, least: float, most: int) -> list[tuple[int, float, int]]:
    """(task, spread, answers) of up to `most` tasks whose spread is above `least`, the widest first; two queries."""
    criteria = measured_criteria(study)
    if not criteria:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            _SPREAD.format(criteria=", ".join(str(one.pk) for one in criteria), lengths=_lengths(criteria)),
            [study.workspace_id, study.pk, least**2 + 1e-12, most],
        )
        return [(task, sqrt(max(0.0, spread)), answers) for task, spread, answers in cursor.fetchall()]


def _lengths(criteria: Sequence[Criterion]) -> str:
    """SQL for the squared length of each criterion's scale."""
    squares = {one.pk: (one.ends[1] - one.ends[0]) ** 2 or 1.0 for one in criteria}
    if len(set(squares.values())) == 1:
        return repr(float(next(iter(squares.values()))))
    cases = " ".join(f"WHEN {pk} THEN {square!r}" for pk, square in squares.items())
    return f"CASE MAX(s.criterion_id) {cases} END"


def disagreements(
    study: Study, *, least: float = 0.0, most: int = 50, known: list[tuple[int, float, int]] | None = None
) -> list[Disagreement]:
    """The tasks on which people disagree most, widest spread first; four queries.

    If `known` has spreads that were measured before, widest first, they are not measured again.
    """
    if known is None:
        found = widest_spreads(study, least=least, most=most)
    else:
        found = [one for one in known if one[1] > least][:most]
    pks = [task for task, _spread, _answers in found]
    tasks = (
        Task.objects.filter(pk__in=pks)
        .select_related("response_a__instruction__category")
        .annotate(free=Count("seats", filter=Q(seats__state__in=[Seat.State.FREE, Seat.State.HELD])))
    )
    by_pk = {task.pk: task for task in tasks}
    decided = set(
        Assignment.objects.filter(
            task__in=pks, rater__kind=Rater.Kind.KEY, status=Assignment.Status.SUBMITTED
        ).values_list("task_id", flat=True)
    )
    return [
        Disagreement(by_pk[pk], spread, answers, by_pk[pk].free, pk in decided)
        for pk, spread, answers in found
        if pk in by_pk
    ]


def tasks_below(study: Study, *, least: float, most: int) -> list[Task]:
    """Undecided tasks without open slots whose spread is above `least`, for which more ratings can be requested."""
    chosen = [one for one in disagreements(study, least=least, most=most) if not one.free and not one.decided]
    return [one.task for one in chosen]

"""The effect of a lead's exclusions on answers: set aside while one stands, their seats free for others, and back.

An exclusion and an answer may be stored at the same moment. The answer is looked up against exclusions after its row is
locked and closed; whoever sets aside or takes back first locks the rater's open rows, and does it again once the
decision is committed. So an answer that missed the decision is seen by the second pass.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Exclusion, Rater, Seat, Study
from core.db.prepared import EXAMPLE_ID, PreparedValues

COVERABLE = (Assignment.Status.SUBMITTED, Assignment.Status.CHECKED)
_STANDING = PreparedValues(
    lambda rater: Exclusion.objects.filter(rater=rater, lifted_at=None).values_list("since").order_by(), EXAMPLE_ID
)


@dataclass(frozen=True)
class TakenBack:
    """Answers that count again; `unseated` of them found their seat taken, so that their tasks have more than planned."""

    answers: int
    unseated: int


def covered(rater: Rater, since: datetime | None) -> QuerySet[Assignment]:
    """The rater's answers that count and would not if they were excluded `since` a moment, or all of them."""
    own = Assignment.objects.filter(rater=rater, status__in=COVERABLE).order_by()
    return own.filter(submitted_at__gte=since) if since else own


def set_aside(exclusion: Exclusion) -> int:
    """Exclude the answers that the exclusion covers and free their seats; return the number of answers."""
    with transaction.atomic():
        _await_answers(exclusion.rater_id)
        if not Exclusion.objects.standing().filter(pk=exclusion.pk).exists():
            return 0
        answers = covered(exclusion.rater, exclusion.since).update(status=Assignment.Status.EXCLUDED)
        _free_seats(Assignment.objects.filter(rater=exclusion.rater_id))
    return answers


def set_aside_all(study: Study) -> None:
    """Exclude what was stored past `record_answer`, as by an import, of raters whose exclusion stands."""
    for exclusion in Exclusion.objects.standing().filter(study=study).select_related("rater"):
        set_aside(exclusion)


def set_aside_if_excluded(assignment: Assignment, now: datetime) -> bool:
    """Exclude an answer that is being stored and free its seat, if an exclusion of its rater stands. One query if not."""
    if not any(since is None or since <= now for (since,) in _STANDING.all(assignment.rater_id)):
        return False
    own = Assignment.objects.filter(pk=assignment.pk)
    own.update(status=Assignment.Status.EXCLUDED)
    _free_seats(own)
    assignment.seat = None
    return True


def take_back(rater: Rater) -> TakenBack:
    """Let a rater's excluded answers count again, unless an exclusion stands; each takes its task's seat if one is free."""
    with transaction.atomic():
        _await_answers(rater.pk)
        if Exclusion.objects.standing().filter(rater=rater).exists():
            return TakenBack(0, 0)
        excluded = Assignment.objects.filter(rater=rater, status=Assignment.Status.EXCLUDED).order_by()
        seatless = dict(
            excluded.filter(queue_place__isnull=False, repeat=0, task__gold__isnull=True).values_list("task_id", "pk")
        )
        checks = excluded.filter(task__gold__isnull=False).update(status=Assignment.Status.CHECKED)
        answers = excluded.update(status=Assignment.Status.SUBMITTED)
        seated = _seat_again(rater, seatless)
    return TakenBack(checks + answers, len(seatless) - seated)


def _await_answers(rater: int) -> None:
    """Wait for answers of the rater that are being stored."""
    rows = Assignment.objects.filter(rater=rater, status=Assignment.Status.OPEN).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk", flat=True))


def _free_seats(assignments: QuerySet[Assignment]) -> None:
    """Free the seats of excluded answers; their queue place stays as the sign that they had one."""
    excluded = assignments.filter(status=Assignment.Status.EXCLUDED, seat__isnull=False)
    Seat.objects.filter(pk__in=excluded.values("seat")).update(state=Seat.State.FREE, holder=None, leased_until=None)
    excluded.update(seat=None, queue_place=Coalesce("queue_place", 1))


def _seat_again(rater: Rater, answers: dict[int, int]) -> int:
    """Give the answers, by task, a free seat each where their task has one; return how many got one."""
    free = Seat.objects.filter(task__in=_tasks_of(rater), study=rater.study_id, state=Seat.State.FREE)
    # Two who are taken back at once lock the same seats: the second waits, in the same order, for what the first leaves.
    rows_of = free.select_for_update().order_by("-draw_key", "pk").values_list("pk", "task_id")
    seats = {task: pk for pk, task in rows_of}
    rows = [Assignment(pk=pk, seat_id=seats[task]) for task, pk in answers.items() if task in seats]
    for start in range(0, len(rows), 500):
        part = rows[start : start + 500]
        taken = Seat.objects.filter(pk__in=[one.seat_id for one in part])
        taken.update(state=Seat.State.TAKEN, holder=rater, leased_until=None)
        Assignment.objects.bulk_update(part, ["seat"])
    return len(rows)


def _tasks_of(rater: Rater) -> QuerySet[Assignment, int]:
    return Assignment.objects.filter(rater=rater, seat=None).order_by().values_list("task_id", flat=True)

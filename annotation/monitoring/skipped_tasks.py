"""Tasks that nobody could rate: skipped by every rater who was given them, as often as the task's overlap."""

from collections import Counter
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Exists, OuterRef

from accounts.models import Event, User
from annotation.assignment.new_slots import overlap_of
from annotation.models import Assignment, Rater, Seat, Study, Task
from annotation.policies.policies import drop


@dataclass(frozen=True)
class SkippedTask:
    """A task that needs the lead; `reasons` are (reason, count), most frequent first."""

    task: Task
    skips: int
    reasons: list[tuple[str, int]]


def skipped_by_all(study: Study) -> list[SkippedTask]:
    """Tasks with free slots that as many raters as there are slots (or all of the study's raters) skipped, and that
    nobody has answered or has open; most skipped first. Three queries."""
    status = Assignment.Status
    given = Exists(Assignment.objects.filter(rater=OuterRef("pk")))
    working = Rater.objects.filter(given, study=study, kind=Rater.Kind.PERSON).count()
    enough = max(1, min(overlap_of(study), working))
    often = (
        Assignment.objects.filter(task__study=study, task__gold__isnull=True, status=status.SKIPPED)
        .order_by()
        .values("task")
        .annotate(skips=Count("pk"))
        .filter(skips__gte=enough)
    )
    others = Assignment.objects.filter(
        task=OuterRef("pk"), status__in=[status.OPEN, status.SUBMITTED, status.SURPLUS]
    ).exclude(rater__kind=Rater.Kind.JUDGE)
    free = Seat.objects.filter(task=OuterRef("pk"), state=Seat.State.FREE)
    tasks = list(
        Task.objects.filter(~Exists(others), Exists(free), pk__in=often.values("task"))
        .select_related("response_a__instruction__category")
        .order_by("position", "pk")
    )
    reasons: dict[int, Counter[str]] = {}
    skips = Assignment.objects.filter(task__in=tasks, status=status.SKIPPED).order_by()
    for task_id, reason in skips.values_list("task_id", "reason"):
        reasons.setdefault(task_id, Counter())[reason] += 1
    found = [SkippedTask(task, reasons[task.pk].total(), reasons[task.pk].most_common()) for task in tasks]
    return sorted(found, key=lambda one: -one.skips)


def set_aside(task: Task, *, by: User | None) -> int:
    """Delete the slots of a task that nobody can rate, so that the study can finish, and return their number."""
    with transaction.atomic():
        had = Seat.objects.filter(task=task).count()
        drop(task)
        gone, _rows = Seat.objects.filter(task=task, state=Seat.State.FREE).delete()
        Event.objects.create(
            workspace_id=task.study.workspace_id,
            actor=by,
            verb="set_task_aside",
            object_type="task",
            object_id=task.public_id,
            before={"task": task.key, "seats": had},
            after={"seats": had - gone},
        )
    return gone

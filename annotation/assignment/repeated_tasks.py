"""Repeated tasks: a task that a rater answered earlier comes back unannounced, to measure the rater's consistency."""

from random import Random

from django.db.models import Count, Max, Q

from annotation.models import Assignment, Rater


def probe_for(rater: Rater, *, number: int, gap: int, times: int, random: Random) -> tuple[int, int] | None:
    """(task id, repeat) of one of the tasks that may come back as the rater's task `number`; None if there is none.

    Such a task has an answer of the rater that counts, was last shown at least `gap` tasks ago, has come back fewer
    than `times` times and was never skipped. All candidates are equally likely. One query.
    """
    status = Assignment.Status
    eligible = (
        Assignment.objects.filter(rater=rater, task__gold__isnull=True)
        .order_by("task_id")
        .values_list("task_id")
        .annotate(
            repeats=Max("repeat"),
            last=Max("order"),
            counted=Count("pk", filter=Q(repeat=0, status=status.SUBMITTED)),
            unanswered=Count("pk", filter=Q(status__in=[status.OPEN, status.SKIPPED])),
        )
        .filter(counted=1, unanswered=0, repeats__lt=times, last__lte=number - gap)
        .values_list("task_id", "repeats")
    )
    found = list(eligible)
    if not found:
        return None
    task_id, repeats = random.choice(found)
    return task_id, repeats + 1

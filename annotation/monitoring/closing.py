"""What closing a study leaves unfinished."""

from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.models import Assignment, Cohort, Rater, Seat, Study


@dataclass(frozen=True)
class Closing:
    """What closing leaves: ratings `missing` of `needed` on `tasks` tasks, `opened` tasks with `raters` raters, and
    `links` by which people could join until now."""

    needed: int
    missing: int
    tasks: int
    opened: int
    raters: int
    links: int


def closing_of(study: Study) -> Closing:
    """Count what is unfinished; three queries."""
    seats = Seat.objects.filter(study=study).aggregate(
        needed=Count("pk"),
        missing=Count("pk", filter=~Q(state=Seat.State.TAKEN)),
        tasks=Count("task", distinct=True, filter=~Q(state=Seat.State.TAKEN)),
    )
    opened = Assignment.objects.filter(
        rater__study=study, rater__kind=Rater.Kind.PERSON, status=Assignment.Status.OPEN
    ).aggregate(opened=Count("pk"), raters=Count("rater", distinct=True))
    links = Cohort.objects.filter(study=study, revoked_at=None).count()
    return Closing(**seats, **opened, links=links)

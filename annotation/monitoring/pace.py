"""How many ratings people gave in each hour: the pace of a study."""

from datetime import datetime

from django.db.models import Count
from django.db.models.functions import TruncHour

from annotation.models import Assignment, Seat, Study
from annotation.monitoring.progress import ANSWERED, PEOPLE


def ratings_by_hour(study: Study) -> list[tuple[datetime, int]]:
    """Hours (UTC) with ratings, and their number, in order; two queries, the second over all answers.

    Counts what the dashboard counts: answers that fill an assignment slot, or, in a study without slots, answers by
    people. Excluded, surplus and repeated answers are left out; so are answers without a time.
    """
    given = Assignment.objects.filter(ANSWERED, task__study=study, task__gold__isnull=True, submitted_at__isnull=False)
    if Seat.objects.filter(study=study).exists():
        given = given.filter(seat__state=Seat.State.TAKEN)
    else:
        given = given.filter(rater__kind__in=PEOPLE)
    hours = given.order_by().annotate(hour=TruncHour("submitted_at")).values_list("hour")
    return sorted(hours.annotate(n=Count("pk")))

"""The deletion of stored reports that no page shows any more.

Nothing refers to a stored report: a fit, published weights and an export hold copies of their own numbers, and every
report can be computed again. So the newest ones are enough.
"""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from calibration.models import Report, ReportRefresh
from calibration.report_store.questions import SHAPE
from core.clock import Clock

KEPT = 3
"""Reports of the same kind and settings of a study that are kept."""
KEPT_OF_A_KIND = 200
"""Reports of one kind of a study that are kept, whatever their settings, which come from the addresses of pages."""
FORGOTTEN_AFTER = timedelta(days=7)
BATCH = 200
MOST_BATCHES = 20


def prune(*, clock: Clock = timezone.now) -> int:
    """Delete superfluous reports, at most BATCH x MOST_BATCHES in one call; return their number."""
    deleted = 0
    for superfluous in (_of_other_shapes(), _beyond([F("asked_hash")], KEPT), _beyond([], KEPT_OF_A_KIND)):
        for _turn in range(MOST_BATCHES):
            pks = list(superfluous.values_list("pk", flat=True)[:BATCH])
            if not pks:
                break
            with transaction.atomic():
                Report.objects.filter(pk__in=pks).delete()
            deleted += len(pks)
    idle = ReportRefresh.objects.filter(leased_until=None, ended_at__lt=clock() - FORGOTTEN_AFTER)
    ReportRefresh.objects.filter(pk__in=list(idle.values_list("pk", flat=True)[: BATCH * MOST_BATCHES])).delete()
    return deleted


def _of_other_shapes() -> QuerySet[Report]:
    """Select reports that no page shows, because they were computed by another version."""
    return Report.objects.filter(Q(asked_hash="") | ~Q(settings__shape=SHAPE)).order_by("pk")


def _beyond(more: list[Any], kept: int) -> QuerySet[Report]:
    """Select what stands beyond the newest `kept` reports of each workspace, study, kind and what `more` names."""
    same = [F("workspace"), F("study"), F("kind"), *more]
    place = Window(RowNumber(), partition_by=same, order_by=F("pk").desc())
    return Report.objects.annotate(place=place).filter(place__gt=kept).order_by("pk")

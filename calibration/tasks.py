"""Background tasks: each takes primary keys, may run twice, and stores its result in rows."""

from typing import Any

from celery import shared_task

from accounts.models import Event, User
from annotation.counters.counts import fold
from annotation.models import Study, excluded_shown
from calibration.data.frames import NothingToRead
from calibration.fits.categories import FIT_REFUSED, FitRefused
from calibration.fits.store import run_fit
from calibration.report_store.pruning import prune
from calibration.report_store.refreshes import FITTING, computing, fit_settings
from calibration.reports.kinds import report_kind
from calibration.reports.registry import refresh_report
from calibration.web.messages.statistics import refusal_facts


@shared_task(name="calibration.fit_study")  # type: ignore[untyped-decorator]
def fit_study(study: int, floor: float, pool: bool, skip_small: bool, user: int | None, shown: bool = False) -> None:
    """Fit a study's weights; a refusal is written to the event log, from which the weights page reads it."""
    row = Study.objects.get(pk=study)
    actor = User.objects.filter(pk=user).first() if user else None
    try:
        with excluded_shown(shown), computing(row, FITTING, fit_settings(floor, pool, skip_small)) as wanted:
            if wanted:
                run_fit(study=row, floor=floor, pool=pool, skip_small=skip_small, user=actor)
    except (FitRefused, NothingToRead) as error:
        Event.objects.create(
            workspace=row.workspace,
            actor=actor,
            verb=FIT_REFUSED,
            object_type="study",
            object_id=row.public_id,
            after=refusal_facts(error),
        )


@shared_task(name="calibration.build_report")  # type: ignore[untyped-decorator]
def build_report(study: int, kind: str, asked: dict[str, Any]) -> None:
    """Compute a report of any kind into the cache, from which its page reads it."""
    refresh_report(study, report_kind(kind), asked)


@shared_task(name="calibration.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Add up what was counted since the last sweep, and delete the reports that no page shows any more."""
    fold()
    prune()

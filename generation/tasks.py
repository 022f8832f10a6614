"""Celery tasks: work on a run. Safe to deliver twice, because the rows say what is left to do."""

from celery import shared_task
from django.utils import timezone

from generation.models import GenerationRun
from generation.responses.batch import advance, in_batches
from generation.responses.runs import GENERATION
from generation.responses.worker import work_on


@shared_task(name="generation.work")  # type: ignore[untyped-decorator]
def work(run_id: int) -> None:
    """Work on a run; does nothing if the run is not running or other workers hold what is left."""
    run = GenerationRun.objects.filter(pk=run_id).first()
    if run is None:
        return
    if in_batches(run):
        advance(run)
    else:
        work_on(run)


@shared_task(name="generation.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Release what dead workers held, and send running runs on which nobody works to a worker."""
    GENERATION.sweep(timezone.now, unleased=in_batches)

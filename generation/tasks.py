"""What Celery carries: 'work on this run'. Safe to deliver twice; the rows say what is left to do."""

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from generation.execution.leases import live_leases, release_dead
from generation.execution.recovery import each_alone, store_all_left
from generation.models import GenerationItem, GenerationRun
from generation.responses.batch import advance, in_batches
from generation.responses.left_replies import store_replies
from generation.responses.runs import finish_if_done
from generation.responses.worker import work_on


@shared_task(name="generation.work")  # type: ignore[untyped-decorator]
def work(run_id: int) -> None:
    """One worker's shift at a run; does nothing where the run is not running or others hold what is left."""
    run = GenerationRun.objects.filter(pk=run_id).first()
    if run is None:
        return
    if in_batches(run):
        advance(run)
    else:
        work_on(run)


@shared_task(name="generation.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Returns what died: leases that ran out are free again, and running runs that nobody works on are sent again.

    What a worker held that ended on this machine is free at once.
    """
    clock = timezone.now
    GenerationItem.objects.filter(status=GenerationItem.Status.WAITING, leased_until__lt=clock()).update(
        leased_until=None, leased_by=""
    )
    store_all_left(GenerationRun, store_replies)

    def send_on(run: GenerationRun) -> None:
        release_dead(run, clock)
        if not finish_if_done(run, clock=clock) and (in_batches(run) or not live_leases(run, clock).exists()):
            work.delay(run.pk)

    each_alone(GenerationRun.objects.filter(status=GenerationRun.Status.RUNNING).order_by("pk"), send_on)


def enqueue(run: GenerationRun) -> None:
    """Hands the run to a worker once the present transaction is committed."""
    transaction.on_commit(lambda: work.delay(run.pk))

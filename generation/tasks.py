"""Celery tasks: work on a run. Safe to deliver twice, because the rows say what is left to do."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from accounts.models import User
from generation.curation.curating import apply_curation, curation_of
from generation.curation.rules.filters import CurationRules
from generation.models import Benchmark, GenerationRun
from generation.responses.batch import advance, in_batches
from generation.responses.runs import GENERATION
from generation.responses.worker import work_on
from generation.webhooks import sending
from generation.webhooks.events import TASK as SEND_WEBHOOKS


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
    """Release what dead workers held, and send running runs on which nobody works to a worker; the same for webhooks."""
    sending.send_waiting(timezone.now)
    GENERATION.sweep(timezone.now, unleased=in_batches)


@shared_task(name=SEND_WEBHOOKS)  # type: ignore[untyped-decorator]
def send_webhooks(webhook_id: int) -> None:
    """Send the messages of a webhook that are due; does nothing for those that another worker sends."""
    sending.send_due(webhook_id)


@shared_task(name="generation.curate")  # type: ignore[untyped-decorator]
def curate(benchmark_id: int, rules: dict[str, Any], tag: str, user_id: int) -> None:
    """Give the tag to the instructions of a large benchmark that pass the rules."""
    benchmark = Benchmark.objects.filter(pk=benchmark_id).first()
    if benchmark is not None:
        lists: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in rules.items()
        }
        found = curation_of(benchmark, CurationRules(**lists))
        apply_curation(found, tag, by=User.objects.filter(pk=user_id).first())

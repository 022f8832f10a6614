"""The life of a generation run: started, paused, resumed, cancelled, failed, finished, retried; and how far it is."""

import time
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, Sum

from accounts.models import User
from core.clock import Clock
from generation.execution import recovery
from generation.execution.leases import live_leases
from generation.execution.progress import RunProgress, calls_now, most_frequent
from generation.execution.states import (
    NotPossible,
    all_settled,
    begin,
    cancel_run,
    fail_run,
    finish,
    nobody_works,
    pause_run,
    put_back,
    raise_budget,
)
from generation.llm.replies import BROKEN_OFF
from generation.models import GenerationItem, GenerationRun, Response, SurplusReply
from generation.responses.left_replies import store_replies
from generation.responses.manifest import manifest_at_end, manifest_at_start
from generation.responses.spending import paid_for

__all__ = [
    "NotPossible",
    "Progress",
    "cancel_run",
    "fail_run",
    "finish_if_done",
    "keep_left",
    "nobody_works",
    "pause_run",
    "progress_of",
    "raise_budget",
    "retry_failed",
    "start_run",
]

SLOWEST_SHOWN = 5


def start_run(run: GenerationRun, *, clock: Clock, user: User | None = None) -> None:
    """Starts or resumes a run; what is done stays done. Raises NotPossible where it is finished or cancelled."""
    # Before what a killed worker had set aside comes free.
    keep_left(run)
    begin(run, manifest_at_start, clock=clock, user=user)


def keep_left(run: GenerationRun) -> None:
    """As recovery.keep_left."""
    recovery.keep_left(run, store_replies)


def retry_failed(run: GenerationRun, *, clock: Clock, user: User | None = None) -> int:
    """Puts the failed items back in line and the run, also a finished one, where it can be resumed; how many.

    Raises NotPossible where the run was cancelled or imported.
    """
    return put_back(run, run.items.filter(status=GenerationItem.Status.FAILED), user=user)


def finish_if_done(run: GenerationRun, *, clock: Clock) -> bool:
    """Finishes a running run with no item waiting, and completes its manifest."""
    return all_settled(run) and finish(run, manifest_at_end, clock=clock)


@dataclass(frozen=True)
class ModelProgress:
    """How far one model of a run is."""

    name: str
    total: int
    done: int
    failed: int

    @property
    def waiting(self) -> int:
        return self.total - self.done - self.failed


@dataclass(frozen=True)
class Progress(RunProgress):
    """`done` items have a response, some of them without a word; the others that are settled have failed.

    `broken_off` texts never came to their end: paid for, their tokens estimated, and asked for again.
    """

    models: tuple[ModelProgress, ...]
    words: int
    empty: int
    broken_off: int
    last_response_at: datetime | None

    @property
    def done(self) -> int:
        return sum(model.done for model in self.models)

    @property
    def failed(self) -> int:
        return sum(model.failed for model in self.models)


def progress_of(run: GenerationRun, *, clock: Clock) -> Progress:
    begun = time.monotonic()
    status = GenerationItem.Status
    rows = (
        run.items.order_by()
        .values("model__name")
        .annotate(
            total=Count("pk"),
            done=Count("pk", filter=Q(status=status.DONE)),
            failed=Count("pk", filter=Q(status=status.FAILED)),
        )
        .order_by("model__name")
    )
    models = tuple(ModelProgress(row["model__name"], row["total"], row["done"], row["failed"]) for row in rows)
    written = Response.objects.filter(run=run).aggregate(
        empty=Count("pk", filter=Q(words=0)), words=Sum("words", default=0), last=Max("created_at")
    )
    paid = paid_for(run)
    return Progress(
        total=sum(model.total for model in models),
        settled=sum(model.done + model.failed for model in models),
        models=models,
        busy=live_leases(run, clock).count(),
        calls_now=calls_now(run, clock),
        errors=most_frequent(run.items.all()),
        calls=paid.calls,
        input_tokens=paid.input_tokens,
        output_tokens=paid.output_tokens,
        words=written["words"],
        empty=written["empty"],
        broken_off=SurplusReply.objects.filter(run=run, finish_reason=BROKEN_OFF).count(),
        money=paid.money,
        last_response_at=written["last"],
        counted_in=time.monotonic() - begun,
    )

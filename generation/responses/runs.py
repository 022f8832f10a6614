"""The life cycle of a generation run, and its progress."""

import time
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, Sum

from accounts.models import User
from core.clock import Clock
from generation.execution.leases import live_leases
from generation.execution.progress import RunProgress, calls_now, most_frequent
from generation.execution.states import NotPossible, RunKind, cancel_run, fail_run, pause_run, put_back, raise_budget
from generation.llm.replies import BROKEN_OFF
from generation.models import GenerationItem, GenerationRun, Response, SurplusReply
from generation.responses.manifest import manifest_at_end, manifest_at_start
from generation.responses.recording import paid_for, store_replies

__all__ = ["NotPossible", "cancel_run", "fail_run", "pause_run", "raise_budget"]

GENERATION = RunKind(GenerationRun, "generation.work", store_replies, manifest_at_start, manifest_at_end)
start_run, keep_logged = GENERATION.start, GENERATION.keep_logged
finish_if_done, nobody_works = GENERATION.finish_if_done, GENERATION.nobody_works
SLOWEST_SHOWN = 5


def retry_failed(run: GenerationRun, *, clock: Clock, user: User | None = None) -> int:
    """Queue the failed items again, and make a finished run resumable; return their number.

    Raises NotPossible if the run was cancelled or imported.
    """
    return put_back(run, run.items.filter(status=GenerationItem.Status.FAILED), user=user)


@dataclass(frozen=True)
class ModelProgress:
    """The progress of one model of a run."""

    name: str
    total: int
    done: int
    failed: int

    @property
    def waiting(self) -> int:
        return self.total - self.done - self.failed


@dataclass(frozen=True)
class Progress(RunProgress):
    """`done` items have a response, some of them without a word; the other settled items have failed.

    `broken_off` texts never reached their end: they are paid for, their tokens are estimated, and they are asked for
    again.
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

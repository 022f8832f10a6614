"""The life of a generation run: started, paused, resumed, cancelled, failed, finished, retried; and how far it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Avg, Count, Max, Q, Sum

from accounts.models import Event, User
from generation.leases import Clock, live_leases, release_dead
from generation.manifests import manifest_at_end, manifest_at_start
from generation.models import GenerationItem, GenerationRun, Response

RESUMABLE = (GenerationRun.Status.PLANNED, GenerationRun.Status.PAUSED, GenerationRun.Status.FAILED)
GOING = (GenerationRun.Status.RUNNING,)
RETRIABLE = (*RESUMABLE, *GOING, GenerationRun.Status.FINISHED)
ERRORS_SHOWN = 8
SLOWEST_SHOWN = 5


class NotPossible(ValueError):
    """The run's state does not allow this; the sentence says which state it is in."""


def start_run(run: GenerationRun, *, clock: Clock, user: User | None = None) -> None:
    """Starts or resumes a run; what is done stays done. Raises NotPossible where it is finished or cancelled."""
    manifest = run.manifest if "asked" in run.manifest else {**run.manifest, **manifest_at_start(run)}
    changed = GenerationRun.objects.filter(pk=run.pk, status__in=RESUMABLE).update(
        status=GenerationRun.Status.RUNNING,
        message="",
        manifest=manifest,
        started_at=run.started_at or clock(),
        finished_at=None,
    )
    run.refresh_from_db()
    if not changed and run.status != GenerationRun.Status.RUNNING:
        raise NotPossible(f"Run {run.public_id} is {run.status}; plan a new one.")
    # Also where the run counts as running, because the process that ran it was killed.
    release_dead(run, clock)
    if changed:
        _log(run, "started", user)


def pause_run(run: GenerationRun, message: str = "", *, clock: Clock, user: User | None = None) -> None:
    """What is on its way is still stored; nothing new is sent."""
    _move(run, GOING, GenerationRun.Status.PAUSED, message, None, user)


def cancel_run(run: GenerationRun, *, clock: Clock, user: User | None = None) -> None:
    """Ends the run for good; what was generated stays."""
    _move(run, (*RESUMABLE, *GOING), GenerationRun.Status.CANCELLED, "", clock(), user)


def fail_run(run: GenerationRun, message: str, *, clock: Clock) -> None:
    """Stops the run with the endpoint's words; it can be resumed."""
    _move(run, GOING, GenerationRun.Status.FAILED, message, clock(), None)


def retry_failed(run: GenerationRun, *, clock: Clock, user: User | None = None) -> int:
    """Puts the failed items back in line and the run, also a finished one, where it can be resumed; how many."""
    if run.status not in RETRIABLE:
        raise NotPossible(f"Run {run.public_id} is {run.status}, so nothing of it is tried again.")
    freed = run.items.filter(status=GenerationItem.Status.FAILED).update(
        status=GenerationItem.Status.WAITING, leased_until=None, leased_by=""
    )
    if freed:
        GenerationRun.objects.filter(pk=run.pk, status=GenerationRun.Status.FINISHED).update(
            status=GenerationRun.Status.PAUSED, finished_at=None
        )
        run.refresh_from_db()
        _log(run, "retried", user)
    return freed


def finish_if_done(run: GenerationRun, *, clock: Clock) -> bool:
    """Finishes a running run with no item waiting, and completes its manifest."""
    if run.items.filter(status=GenerationItem.Status.WAITING).exists():
        return False
    run.refresh_from_db()
    if run.status != GenerationRun.Status.RUNNING:
        return False
    changed = GenerationRun.objects.filter(pk=run.pk, status=GenerationRun.Status.RUNNING).update(
        status=GenerationRun.Status.FINISHED,
        finished_at=clock(),
        message="",
        manifest={**run.manifest, **manifest_at_end(run)},
    )
    run.refresh_from_db()
    if changed:
        _log(run, "finished", None)
    return bool(changed)


def _move(
    run: GenerationRun,
    before: Iterable[str],
    after: str,
    message: str,
    finished_at: datetime | None,
    user: User | None,
) -> None:
    changed = GenerationRun.objects.filter(pk=run.pk, status__in=list(before)).update(
        status=after, message=message, finished_at=finished_at
    )
    run.refresh_from_db()
    if changed:
        _log(run, after, user)
    elif run.status != after:
        raise NotPossible(f"Run {run.public_id} is {run.status}, so it cannot become {after}.")


def _log(run: GenerationRun, verb: str, user: User | None) -> None:
    Event.objects.create(
        workspace_id=run.benchmark.workspace_id,
        actor=user,
        verb=f"generation run {verb}"[:50],
        object_type="generation.GenerationRun",
        object_id=run.public_id,
        after={"status": run.status, "message": run.message},
    )


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
class Progress:
    """Counted from rows. errors are (words, how often), most frequent first; money in the prices' unit."""

    models: tuple[ModelProgress, ...]
    busy: int
    errors: tuple[tuple[str, int], ...]
    calls: int
    input_tokens: int
    output_tokens: int
    words: int
    money: Decimal
    seconds_per_response: float | None
    last_response_at: datetime | None

    @property
    def total(self) -> int:
        return sum(model.total for model in self.models)

    @property
    def done(self) -> int:
        return sum(model.done for model in self.models)

    @property
    def failed(self) -> int:
        return sum(model.failed for model in self.models)

    @property
    def waiting(self) -> int:
        return self.total - self.done - self.failed

    @property
    def percent(self) -> int:
        return 100 * (self.done + self.failed) // self.total if self.total else 100

    @property
    def projected_money(self) -> Decimal | None:
        """What the whole run will have cost at the present rate."""
        return self.money * self.total / self.done if self.done else None


def progress_of(run: GenerationRun, *, clock: Clock) -> Progress:
    status = GenerationItem.Status
    models = (
        run.items.order_by()
        .values("model__name")
        .annotate(
            total=Count("pk"),
            done=Count("pk", filter=Q(status=status.DONE)),
            failed=Count("pk", filter=Q(status=status.FAILED)),
        )
        .order_by("model__name")
    )
    errors = (
        run.items.exclude(error="").order_by().values("error").annotate(n=Count("pk")).order_by("-n", "error")
    )
    sums = Response.objects.filter(run=run).aggregate(
        read=Sum("input_tokens", default=0),
        written=Sum("tokens", default=0),
        words=Sum("words", default=0),
        money=Sum("cost", default=Decimal(0)),
        seconds=Avg("seconds"),
        last=Max("created_at"),
    )
    return Progress(
        models=tuple(
            ModelProgress(row["model__name"], row["total"], row["done"], row["failed"]) for row in models
        ),
        busy=live_leases(run, clock).count(),
        errors=tuple((row["error"], row["n"]) for row in errors[:ERRORS_SHOWN]),
        calls=run.items.aggregate(n=Sum("attempts", default=0))["n"],
        input_tokens=sums["read"],
        output_tokens=sums["written"],
        words=sums["words"],
        money=Decimal(sums["money"]),
        seconds_per_response=sums["seconds"],
        last_response_at=sums["last"],
    )


def nobody_works(run: GenerationRun, *, clock: Clock, after: timedelta = timedelta(seconds=15)) -> bool:
    """A running run that no worker holds an item of, some time after it was started."""
    if run.status != GenerationRun.Status.RUNNING or run.started_at is None:
        return False
    return clock() - run.started_at >= after and not live_leases(run, clock).exists()

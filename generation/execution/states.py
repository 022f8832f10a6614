"""The states of a run and its transitions, the same for every kind of run. Every transition is logged as an event."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.db.models import QuerySet

from accounts.models import Event, User
from core.background import send, send_after_commit
from core.clock import Clock
from core.db.full_disk import is_full
from core.errors import UserError
from core.messages.message import cut, stored
from generation.execution.leases import WAITING, live_leases, release_dead
from generation.execution.monthly_limit import OVER_MONTH, may_continue
from generation.execution.recovery import Store, each_alone, store_all_logged, store_logged
from generation.execution.write_ahead_log import LogFull, LogUnusable, log_has_room
from generation.llm.protocol.messages import DATABASE_FULL, DISK_FULL, FAULT
from generation.llm.protocol.prices import Ceiling
from generation.run_fields import AnyRun
from generation.webhooks.events import EventName, announce

Status = AnyRun.Status
RESUMABLE = (Status.PLANNED, Status.PAUSED, Status.FAILED)
RETRIABLE = (*RESUMABLE, Status.RUNNING, Status.FINISHED)
LONGEST_FAULT = 500

Run = TypeVar("Run", bound=AnyRun)


class NotPossible(UserError):
    """The run's state does not allow this; the sentence says which state it is in."""


@dataclass(frozen=True)
class RunKind(Generic[Run]):
    """What the life cycle needs to know of a kind of run.

    `task` is the name of the Celery task that works on a run. `store_replies` stores replies from a write-ahead log, each
    once however often it is found, and returns how many were new. `conclude` does what is left to do once all items are
    settled, and returns whether the run is finished. `prepares` says whether a worker is busy with preparing the run.
    """

    runs: type[Run]
    task: str
    store_replies: Store[Run]
    manifest_at_start: Callable[[Run], dict[str, Any]]
    manifest_at_end: Callable[[Run], dict[str, Any]]
    conclude: Callable[[Run, Clock], bool] = lambda _run, _clock: True
    prepares: Callable[[Run, Clock], bool] = lambda _run, _clock: False

    def start(self, run: Run, *, clock: Clock, user: User | None = None) -> None:
        """Start or resume a run; what is done is kept. Raises NotPossible if it is finished or cancelled."""
        # Before the reservations of a killed worker are released.
        self.keep_logged(run)
        manifest = run.manifest if "asked" in run.manifest else {**run.manifest, **self.manifest_at_start(run)}
        changed = _row(run, RESUMABLE).update(
            status=Status.RUNNING,
            manifest=manifest,
            started_at=run.started_at or clock(),
            finished_at=None,
            **stored("message", ""),
        )
        run.refresh_from_db()
        if not changed and run.status != Status.RUNNING:
            raise NotPossible(f"Run {run.public_id} is {run.status}; plan a new one.")
        # Also if the run counts as running because the process that ran it was killed.
        release_dead(run, clock)
        if changed:
            _log(run, "started", user)

    def hand_over(self, run: Run) -> None:
        """Hand the run to a worker once the present transaction is committed."""
        send_after_commit(self.task, run.pk, kept=False)

    def recover(self, run: Run, clock: Clock) -> None:
        """Store the logged replies of dead workers, then release their items and budget. Raises LogUnusable.

        In this order, what they had spent is counted before their reservations are released.
        """
        store_logged(run, self.store_replies)
        release_dead(run, clock)

    def keep_logged(self, run: Run) -> None:
        """Store the logged replies of dead workers. Not for a transaction that may be undone: the files are deleted.

        If this fails, the worker that begins reports it.
        """
        with suppress(LogUnusable):
            store_logged(run, self.store_replies)

    def finish_if_done(self, run: Run, *, clock: Clock) -> bool:
        """Finish a running run without waiting items and complete its manifest; return whether this call did it."""
        if run.items.filter(status=WAITING).exists():
            return False
        run.refresh_from_db()
        if run.status != Status.RUNNING or not self.conclude(run, clock):
            return False
        manifest = {**run.manifest, **self.manifest_at_end(run)}
        with transaction.atomic():
            changed = _row(run, [Status.RUNNING]).update(
                status=Status.FINISHED, finished_at=clock(), manifest=manifest, **stored("message", "")
            )
            run.refresh_from_db()
            if changed:
                _log(run, "finished", None)
                _announce_end(run, clock)
        return bool(changed)

    def nobody_works(self, run: Run, *, clock: Clock, after: timedelta = timedelta(seconds=15)) -> bool:
        """Whether no worker holds anything of a running run some time after its start."""
        if run.status != Status.RUNNING or run.started_at is None or clock() - run.started_at < after:
            return False
        return not live_leases(run, clock).exists() and not self.prepares(run, clock)

    def sweep(self, clock: Clock, *, unleased: Callable[[Run], bool] = lambda _run: False) -> None:
        """Release what dead workers held, store their replies, and send running runs on which nobody works to a worker.

        Expired leases are released, as is everything of a worker that ended on this machine. Replies are also stored of
        runs that nobody will resume, because they are paid for. `unleased` runs are sent whoever holds their items. Runs
        that a full disk has paused go on where this machine has room.
        """
        items: Any = self.runs._meta.get_field("items").related_model
        items._default_manager.filter(status=WAITING, leased_until__lt=clock()).update(leased_until=None, leased_by="")
        store_all_logged(self.runs, self.store_replies)

        room = log_has_room()
        full = self.runs._default_manager.filter(
            status=Status.PAUSED, message_json__code__in=[DISK_FULL.code, DATABASE_FULL.code]
        )
        if room:
            each_alone(full.order_by("pk"), lambda run: self.start(run, clock=clock))

        def send_on(run: Run) -> None:
            release_dead(run, clock)
            if self.finish_if_done(run, clock=clock) or self.prepares(run, clock):
                return
            if not room:
                with stopping_at_faults(run, clock=clock):
                    check_room()
            elif unleased(run) or not live_leases(run, clock).exists():
                send(self.task, run.pk)

        each_alone(self.runs._default_manager.filter(status=Status.RUNNING).order_by("pk"), send_on)
        each_alone(self._paused_by_the_month(), lambda run: self._continue(run, clock))

    def _paused_by_the_month(self) -> QuerySet[Run]:
        paused = self.runs._default_manager.filter(status=Status.PAUSED, message_json__code=OVER_MONTH.code)
        return paused.order_by("pk")

    def _continue(self, run: Run, clock: Clock) -> None:
        """Resume a run that the workspace's limit paused, once the month or the limit has room."""
        if may_continue(run, clock):
            self.start(run, clock=clock)
            send(self.task, run.pk)


def pause_run(run: AnyRun, message: str = "", *, clock: Clock, user: User | None = None) -> None:
    """Send nothing more; the replies to calls under way are still stored."""
    _move(run, [Status.RUNNING], Status.PAUSED, message, None, user)


def cancel_run(run: AnyRun, *, clock: Clock, user: User | None = None) -> None:
    """End the run permanently; its results are kept."""
    with transaction.atomic():
        if _move(run, (*RESUMABLE, Status.RUNNING), Status.CANCELLED, "", clock(), user):
            _announce_end(run, clock)


def fail_run(run: AnyRun, message: str, *, clock: Clock) -> None:
    """Stop the run with the endpoint's message; it can be resumed."""
    with transaction.atomic():
        if _move(run, [Status.RUNNING], Status.FAILED, message, clock(), None):
            _announce_end(run, clock)


@contextmanager
def stopping_at_faults(run: AnyRun, *, clock: Clock) -> Iterator[None]:
    """Let a fault on this side fail the run, which would otherwise be started again and again, at a cost.

    A fault of the program is raised as well. A database that is unavailable or busy comes back, and the run continues. A
    full disk pauses the run, which the sweep resumes.
    """
    try:
        yield
    except LogFull as error:
        pause_run(run, error.message, clock=clock)
    except LogUnusable as error:
        fail_run(run, str(error), clock=clock)
    except (OperationalError, InterfaceError) as error:
        if not is_full(error) or not _paused_for_space(run, clock):
            raise
    except Exception as error:
        fail_run(run, FAULT(kind=type(error).__name__, words=cut(str(error), LONGEST_FAULT)), clock=clock)
        raise


def check_room() -> None:
    """Raises LogFull where replies could not be kept."""
    if not log_has_room():
        raise LogFull(DISK_FULL(folder=settings.JOURNAL_DIR))


def _paused_for_space(run: AnyRun, clock: Clock) -> bool:
    """Whether the reason could be stored; where even that has no room, the run is left to the sweep."""
    try:
        pause_run(run, DATABASE_FULL(), clock=clock)
    except DatabaseError:
        return False
    return True


def raise_budget(run: AnyRun, ceiling: Ceiling, *, user: User | None = None) -> None:
    """Set another budget, also of a running run: workers apply it when they next make a reservation."""
    type(run)._default_manager.filter(pk=run.pk).update(
        budget_calls=ceiling.calls, budget_tokens=ceiling.tokens, budget_money=ceiling.money
    )
    run.refresh_from_db()
    _log(run, "budget changed", user)


def put_back(run: AnyRun, closed: QuerySet[Any], *, user: User | None = None, **fields: Any) -> int:
    """Queue closed items again, with these `fields`, and make a finished run resumable; return their number.

    Raises NotPossible if the run was cancelled or imported.
    """
    if run.status not in RETRIABLE:
        raise NotPossible(f"Run {run.public_id} is {run.status}, so nothing of it is tried again.")
    freed = closed.update(status=WAITING, leased_until=None, leased_by="", **fields)
    if freed:
        _row(run, [Status.FINISHED]).update(status=Status.PAUSED, finished_at=None)
        run.refresh_from_db()
        _log(run, "retried", user)
    return freed


def _row(run: AnyRun, states: Iterable[str]) -> QuerySet[Any]:
    """The run's row if it is in one of these states, so that it is checked and changed in one statement."""
    return type(run)._default_manager.filter(pk=run.pk, status__in=list(states))


def _move(
    run: AnyRun, before: Iterable[str], after: str, message: str, finished_at: datetime | None, user: User | None
) -> bool:
    """Return whether this call changed the state. Raises NotPossible."""
    changed = _row(run, before).update(status=after, finished_at=finished_at, **stored("message", message))
    run.refresh_from_db()
    if changed:
        _log(run, after, user)
    elif run.status != after:
        raise NotPossible(f"Run {run.public_id} is {run.status}, so it cannot become {after}.")
    return bool(changed)


ANNOUNCED = {"generation.GenerationRun": "generation", "judging.JudgeRun": "judging"}
"""What messages to webhooks call the kinds of runs of which they tell."""


def _announce_end(run: AnyRun, clock: Clock) -> None:
    if kind := ANNOUNCED.get(run._meta.label):
        about = {"run": {"id": run.public_id, "kind": kind, "status": str(run.status)}}
        announce(run.workspace_id, EventName.RUN_FINISHED, about, clock=clock)


def _log(run: AnyRun, verb: str, user: User | None) -> None:
    Event.objects.create(
        workspace_id=run.workspace_id,
        actor=user,
        verb=f"{run._meta.verbose_name} {verb}"[:50],
        object_type=run._meta.label,
        object_id=run.public_id,
        after={"status": run.status, "message": run.message},
    )

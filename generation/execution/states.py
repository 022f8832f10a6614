"""The states of a run, of generation and of judging alike: how it moves from one to the next. Every move is an event."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import InterfaceError, OperationalError
from django.db.models import QuerySet

from accounts.models import Event, User
from core.clock import Clock
from core.errors import UserError
from core.messages.message import cut, stored
from generation.execution.leases import WAITING, live_leases, release_dead
from generation.execution.write_ahead_log import JournalFailed
from generation.llm.protocol.messages import FAULT
from generation.llm.protocol.prices import Ceiling
from generation.run_fields import AnyRun

Status = AnyRun.Status
RESUMABLE = (Status.PLANNED, Status.PAUSED, Status.FAILED)
GOING = (Status.RUNNING,)
LONGEST_FAULT = 500
RETRIABLE = (*RESUMABLE, *GOING, Status.FINISHED)

Manifest = Callable[[Any], dict[str, Any]]


class NotPossible(UserError):
    """The run's state does not allow this; the sentence says which state it is in."""


def begin(run: AnyRun, manifest_at_start: Manifest, *, clock: Clock, user: User | None = None) -> None:
    """Starts or resumes a run; what is done stays done. Raises NotPossible where it is finished or cancelled."""
    manifest = run.manifest if "asked" in run.manifest else {**run.manifest, **manifest_at_start(run)}
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
    # Also where the run counts as running, because the process that ran it was killed.
    release_dead(run, clock)
    if changed:
        _log(run, "started", user)


def pause_run(run: AnyRun, message: str = "", *, clock: Clock, user: User | None = None) -> None:
    """What is on its way is still stored; nothing new is sent."""
    _move(run, GOING, Status.PAUSED, message, None, user)


def cancel_run(run: AnyRun, *, clock: Clock, user: User | None = None) -> None:
    """Ends the run for good; what came of it stays."""
    _move(run, (*RESUMABLE, *GOING), Status.CANCELLED, "", clock(), user)


def fail_run(run: AnyRun, message: str, *, clock: Clock) -> None:
    """Stops the run with the endpoint's words; it can be resumed."""
    _move(run, GOING, Status.FAILED, message, clock(), None)


@contextmanager
def stopping_at_faults(run: AnyRun, *, clock: Clock) -> Iterator[None]:
    """What goes wrong on this side fails the run, which else would be begun again and again, at somebody's cost.

    A fault of the program is raised as well. A database that is away or busy comes back: then the run goes on by itself.
    """
    try:
        yield
    except JournalFailed as error:
        fail_run(run, str(error), clock=clock)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        fail_run(run, FAULT(kind=type(error).__name__, words=cut(str(error), LONGEST_FAULT)), clock=clock)
        raise


def raise_budget(run: AnyRun, ceiling: Ceiling, *, user: User | None = None) -> None:
    """Another budget, also while the run goes on: workers see it when they next set something aside."""
    type(run)._default_manager.filter(pk=run.pk).update(
        budget_calls=ceiling.calls, budget_tokens=ceiling.tokens, budget_money=ceiling.money
    )
    run.refresh_from_db()
    _log(run, "budget changed", user)


def put_back(run: AnyRun, closed: QuerySet[Any], *, user: User | None = None, **fields: Any) -> int:
    """Puts closed items back in line and a finished run where it can be resumed; how many. `fields` are set in them.

    Raises NotPossible where the run is over for good.
    """
    if run.status not in RETRIABLE:
        raise NotPossible(f"Run {run.public_id} is {run.status}, so nothing of it is tried again.")
    freed = closed.update(status=WAITING, leased_until=None, leased_by="", **fields)
    if freed:
        _row(run, [Status.FINISHED]).update(status=Status.PAUSED, finished_at=None)
        run.refresh_from_db()
        _log(run, "retried", user)
    return freed


def all_settled(run: AnyRun) -> bool:
    """Whether the run is going and none of its items waits, so that it can be finished."""
    if run.items.filter(status=WAITING).exists():
        return False
    run.refresh_from_db()
    return run.status == Status.RUNNING


def finish(run: AnyRun, manifest_at_end: Manifest, *, clock: Clock) -> bool:
    """Finishes a running run and completes its manifest; False where it was finished or stopped meanwhile."""
    changed = _row(run, GOING).update(
        status=Status.FINISHED,
        finished_at=clock(),
        manifest={**run.manifest, **manifest_at_end(run)},
        **stored("message", ""),
    )
    run.refresh_from_db()
    if changed:
        _log(run, "finished", None)
    return bool(changed)


def nobody_works(run: AnyRun, *, clock: Clock, after: timedelta = timedelta(seconds=15)) -> bool:
    """A running run that no worker holds an item of, some time after it was started."""
    if run.status != Status.RUNNING or run.started_at is None or clock() - run.started_at < after:
        return False
    return not live_leases(run, clock).exists()


def _row(run: AnyRun, states: Iterable[str]) -> QuerySet[Any]:
    """The run's row where it is in one of these states: asked and changed in one statement."""
    return type(run)._default_manager.filter(pk=run.pk, status__in=list(states))


def _move(
    run: AnyRun, before: Iterable[str], after: str, message: str, finished_at: datetime | None, user: User | None
) -> None:
    changed = _row(run, before).update(status=after, finished_at=finished_at, **stored("message", message))
    run.refresh_from_db()
    if changed:
        _log(run, after, user)
    elif run.status != after:
        raise NotPossible(f"Run {run.public_id} is {run.status}, so it cannot become {after}.")


def _log(run: AnyRun, verb: str, user: User | None) -> None:
    Event.objects.create(
        workspace_id=run.workspace_id,
        actor=user,
        verb=f"{run._meta.verbose_name} {verb}"[:50],
        object_type=run._meta.label,
        object_id=run.public_id,
        after={"status": run.status, "message": run.message},
    )

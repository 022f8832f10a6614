"""The life of a run: started, paused, resumed, cancelled, failed, finished; and how far it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Avg, Count, Max, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_noop

from accounts.models import Event, User
from annotation.handout import Clock
from generation.spending import Ceiling
from judging.canaries import CanariesUnscored, CanaryFailed
from judging.leases import live_leases, release_dead
from judging.manifests import manifest_at_end, manifest_at_start
from judging.models import JudgeRun, PlannedItem, Reply
from judging.settled_runs import check_canaries, derive

RESUMABLE = (JudgeRun.Status.PLANNED, JudgeRun.Status.PAUSED, JudgeRun.Status.FAILED)
GOING = (JudgeRun.Status.RUNNING,)
ERRORS_SHOWN = 8
REASONS_SHOWN = 12
A_MINUTE = timedelta(seconds=60)


class NotPossible(ValueError):
    """The run's state does not allow this; the sentence says which state it is in."""


def start_run(run: JudgeRun, *, clock: Clock, user: User | None = None) -> None:
    """Starts or resumes a run; what is done stays done. Raises NotPossible where it is finished or cancelled."""
    manifest = run.manifest if "asked" in run.manifest else {**run.manifest, **manifest_at_start(run)}
    now = clock()
    changed = JudgeRun.objects.filter(pk=run.pk, status__in=RESUMABLE).update(
        status=JudgeRun.Status.RUNNING,
        message="",
        manifest=manifest,
        started_at=run.started_at or now,
        finished_at=None,
    )
    run.refresh_from_db()
    if not changed and run.status != JudgeRun.Status.RUNNING:
        raise NotPossible(f"Run {run.public_id} is {run.status}; plan a new one.")
    release_dead(run, clock)
    if changed:
        _log(run, "started", user)


def pause_run(run: JudgeRun, message: str = "", *, clock: Clock, user: User | None = None) -> None:
    """What is on its way is still stored; nothing new is sent."""
    _move(run, GOING, JudgeRun.Status.PAUSED, message, None, user)


def cancel_run(run: JudgeRun, *, clock: Clock, user: User | None = None) -> None:
    """Ends the run for good; what was answered stays."""
    _move(run, (*RESUMABLE, *GOING), JudgeRun.Status.CANCELLED, "", clock(), user)


def raise_budget(run: JudgeRun, ceiling: Ceiling, *, user: User | None = None) -> None:
    """Another budget, also while the run goes on: workers see it when they next set something aside."""
    JudgeRun.objects.filter(pk=run.pk).update(
        budget_calls=ceiling.calls, budget_tokens=ceiling.tokens, budget_money=ceiling.money
    )
    run.refresh_from_db()
    _log(run, "budget changed", user)


def retry_unscored(run: JudgeRun, *, clock: Clock, user: User | None = None) -> int:
    """Puts the unscored items back in line and a finished run where it can be resumed; how many.

    Their replies stay, and what they cost stays counted. Raises NotPossible where the run was cancelled.
    """
    if run.status == JudgeRun.Status.CANCELLED:
        raise NotPossible(f"Run {run.public_id} is cancelled, so nothing of it is tried again.")
    last = Reply.objects.filter(item=OuterRef("pk")).order_by("-attempt").values("attempt")[:1]
    freed = run.items.filter(status=PlannedItem.Status.UNSCORED).update(
        status=PlannedItem.Status.WAITING,
        attempts_before=Coalesce(Subquery(last) + 1, 0),
        reason="",
        leased_until=None,
        leased_by="",
    )
    if freed:
        JudgeRun.objects.filter(pk=run.pk, status=JudgeRun.Status.FINISHED).update(
            status=JudgeRun.Status.PAUSED, finished_at=None
        )
        run.refresh_from_db()
        _log(run, "retried", user)
    return freed


def fail_run(run: JudgeRun, message: str, *, clock: Clock) -> None:
    """Stops the run with the endpoint's words; it can be resumed."""
    _move(run, GOING, JudgeRun.Status.FAILED, message, clock(), None)


def finish_if_done(run: JudgeRun, *, clock: Clock) -> bool:
    """Finishes a running run with no item waiting: derives what its parts come to, and completes its manifest.

    A run whose judge fell for a planted text fails instead.
    """
    if run.items.filter(status=PlannedItem.Status.WAITING).exists():
        return False
    run.refresh_from_db()
    if run.status != JudgeRun.Status.RUNNING:
        return False
    derive(run, clock=clock)
    try:
        check_canaries(run)
    except (CanaryFailed, CanariesUnscored) as error:
        fail_run(run, str(error), clock=clock)
        return False
    changed = JudgeRun.objects.filter(pk=run.pk, status=JudgeRun.Status.RUNNING).update(
        status=JudgeRun.Status.FINISHED,
        finished_at=clock(),
        message="",
        manifest={**run.manifest, **manifest_at_end(run)},
    )
    run.refresh_from_db()
    if changed:
        _log(run, "finished", None)
    return bool(changed)


def _move(
    run: JudgeRun,
    before: Iterable[str],
    after: str,
    message: str,
    finished_at: datetime | None,
    user: User | None,
) -> None:
    changed = JudgeRun.objects.filter(pk=run.pk, status__in=list(before)).update(
        status=after, message=message, finished_at=finished_at
    )
    run.refresh_from_db()
    if changed:
        _log(run, after, user)
    elif run.status != after:
        raise NotPossible(f"Run {run.public_id} is {run.status}, so it cannot become {after}.")


def _log(run: JudgeRun, verb: str, user: User | None) -> None:
    Event.objects.create(
        workspace_id=run.judge.workspace_id,
        actor=user,
        verb=f"judge run {verb}"[:50],
        object_type="judging.JudgeRun",
        object_id=run.public_id,
        after={"status": run.status, "message": run.message},
    )


@dataclass(frozen=True)
class Progress:
    """Counted from rows. reasons and errors are (words, how often), most frequent first; money in the prices' unit.

    `last_minute` counts the replies of the last 60 seconds.
    """

    total: int
    scored: int
    unscored: int
    busy: int
    reasons: tuple[tuple[str, int], ...]
    errors: tuple[tuple[str, int], ...]
    calls: int
    reused: int
    input_tokens: int
    output_tokens: int
    money: Decimal
    seconds_per_reply: float | None
    last_reply_at: datetime | None
    last_minute: int = 0

    @property
    def done(self) -> int:
        return self.scored + self.unscored

    @property
    def waiting(self) -> int:
        return self.total - self.done

    @property
    def percent(self) -> int:
        return 100 * self.done // self.total if self.total else 100

    @property
    def projected_money(self) -> Decimal | None:
        """What the whole run will have cost at the present rate."""
        return self.money * self.total / self.done if self.done else None


def progress_of(run: JudgeRun, *, clock: Clock) -> Progress:
    items = run.items.filter(canary="").order_by().values("status").annotate(n=Count("pk"))
    counts = {row["status"]: row["n"] for row in items}
    reasons: dict[str, int] = {}
    unscored = run.items.filter(status=PlannedItem.Status.UNSCORED, canary="").order_by()
    for row in unscored.values("reason").annotate(n=Count("pk")):
        why = row["reason"].partition(":")[0]
        reasons[why] = reasons.get(why, 0) + row["n"]
    replies = Reply.objects.filter(item__run=run)
    sums = replies.aggregate(
        calls=Count("pk", filter=Q(reused_from=None)),
        reused=Count("pk", filter=Q(reused_from__isnull=False)),
        read=Sum("input_tokens", default=0),
        written=Sum("output_tokens", default=0),
        money=Sum("cost", default=Decimal(0)),
        seconds=Avg("seconds", filter=Q(reused_from=None, error="")),
        last=Max("created_at"),
        lately=Count("pk", filter=Q(created_at__gte=clock() - A_MINUTE)),
        failed=Count("pk", filter=~Q(error="")),
    )
    errors = replies.exclude(error="").order_by().values("error").annotate(n=Count("pk"))
    # Only where there are some: looking for them reads every reply of the run once more.
    worst = errors.order_by("-n", "error")[:ERRORS_SHOWN] if sums["failed"] else []
    return Progress(
        total=sum(counts.values()),
        scored=counts.get(PlannedItem.Status.SCORED, 0),
        unscored=counts.get(PlannedItem.Status.UNSCORED, 0),
        busy=live_leases(run, clock).count(),
        reasons=tuple(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        errors=tuple((row["error"], row["n"]) for row in worst),
        calls=sums["calls"],
        reused=sums["reused"],
        input_tokens=sums["read"],
        output_tokens=sums["written"],
        money=Decimal(sums["money"]),
        seconds_per_reply=sums["seconds"],
        last_reply_at=sums["last"],
        last_minute=sums["lately"],
    )


def nobody_works(run: JudgeRun, *, clock: Clock, after: timedelta = timedelta(seconds=15)) -> bool:
    """A running run that no worker holds an item of, some time after it was started."""
    if run.status != JudgeRun.Status.RUNNING or run.started_at is None or clock() - run.started_at < after:
        return False
    return not live_leases(run, clock).exists()


# What a reason's first word means to a reader; marked here for translation, translated where it is shown.
REASON_TEXTS = {
    "prose": gettext_noop("Prose instead of an answer"),
    "unreadable": gettext_noop("Unreadable answer"),
    "cut_off": gettext_noop("Cut off before the end"),
    "missing_item": gettext_noop("A question left out"),
    "doubled_item": gettext_noop("A question answered twice"),
    "unknown_item": gettext_noop("An answer to no question"),
    "off_scale": gettext_noop("A score off the scale"),
    "refused": gettext_noop("The model declined"),
    "too_long": gettext_noop("Longer than the model's context"),
    "no_text": gettext_noop("The response has no text"),
    "endpoint": gettext_noop("The endpoint failed"),
}

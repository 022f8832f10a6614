"""The life cycle of a judge run, its preparation by a worker, and its progress."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Avg, Count, Max, OuterRef, Q, Subquery, TextField
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_noop

from accounts.models import User
from core.clock import Clock
from core.messages.message import stored
from generation.execution.leases import LEASE, ended_here, live_leases
from generation.execution.progress import RunProgress, calls_now, most_frequent, sums_of
from generation.execution.states import NotPossible, RunKind, cancel_run, fail_run, pause_run, put_back, raise_budget
from judging.methods.canaries import CanariesUnscored, CanaryFailed
from judging.models import JudgeRun, PlannedItem, Preparation, Reply
from judging.runs.aggregation import check_canaries, derive, discredit, rehabilitate
from judging.runs.manifest import manifest_at_end, manifest_at_start
from judging.runs.recording import PAID_CALLS, store_replies

__all__ = ["NotPossible", "cancel_run", "fail_run", "pause_run", "raise_budget"]

A_MINUTE = timedelta(seconds=60)


def somebody_prepares(run: JudgeRun, clock: Clock) -> bool:
    """Whether a worker prepares the run, as far as is known: one of this machine that has ended does not."""
    held = Preparation.objects.filter(run=run, leased_until__gte=clock()).values_list("leased_by", flat=True)
    return any(not list(ended_here([worker])) for worker in held)


def take_preparation(run: JudgeRun, worker: str, clock: Clock) -> bool:
    """Lease the run's preparation, if there is one, to this worker; return whether it was free."""
    rows = Preparation.objects.filter(run=run)
    holders = rows.values_list("leased_by", flat=True)
    free = Q(leased_until=None) | Q(leased_until__lt=clock()) | Q(leased_by__in=list(ended_here(holders)))
    return bool(rows.filter(free).update(leased_until=clock() + LEASE, leased_by=worker))


def retry_unscored(run: JudgeRun, *, clock: Clock, user: User | None = None, only: Sequence[int] | None = None) -> int:
    """Queue the unscored items again, or `only` those with these pks, and make a finished run resumable; return how many.

    Their replies stay, and their cost stays counted. Raises NotPossible if the run was cancelled.
    """
    last = Reply.objects.filter(item=OuterRef("pk")).order_by("-attempt").values("attempt")[:1]
    unscored = run.items.filter(status=PlannedItem.Status.UNSCORED)
    if only is not None:
        unscored = unscored.filter(pk__in=only)
    return put_back(run, unscored, user=user, attempts_before=Coalesce(Subquery(last) + 1, 0), **stored("reason", ""))


def ask_again(run: JudgeRun, *, clock: Clock, user: User | None = None) -> int:
    """Queue the unscored items again and hand the run to a worker, if there are any; return how many.

    Raises NotPossible if the run was cancelled.
    """
    freed = retry_unscored(run, clock=clock, user=user)
    if freed:
        JUDGING.start(run, clock=clock, user=user)
        JUDGING.hand_over(run)
    return freed


def _first_manifest(run: JudgeRun) -> dict[str, object]:
    """The manifest of a run that is still being prepared is written once it has all its items."""
    return {} if run.preparing else manifest_at_start(run)


def _conclude(run: JudgeRun, clock: Clock) -> bool:
    """Combine the verdicts of a run whose items are settled. If its judge believed a canary text, the run fails."""
    if run.preparing:
        return False
    derive(run, clock=clock)
    try:
        check_canaries(run)
    except (CanaryFailed, CanariesUnscored) as error:
        discredit(run, error)
        fail_run(run, str(error), clock=clock)
        return False
    rehabilitate(run)
    return True


JUDGING = RunKind(
    JudgeRun, "judging.work", store_replies, _first_manifest, manifest_at_end, _conclude, somebody_prepares
)
start_run, keep_logged = JUDGING.start, JUDGING.keep_logged
finish_if_done, nobody_works = JUDGING.finish_if_done, JUDGING.nobody_works


@dataclass(frozen=True)
class Progress(RunProgress):
    """`reasons` are (reason, count), most frequent first. `last_minute` counts the replies of the last 60 seconds."""

    scored: int
    unscored: int
    reasons: tuple[tuple[str, int], ...]
    reused: int
    seconds_per_reply: float | None
    last_reply_at: datetime | None
    last_minute: int = 0

    @property
    def done(self) -> int:
        return self.settled


def progress_of(run: JudgeRun, *, clock: Clock) -> Progress:
    begun = time.monotonic()
    items = run.items.filter(canary="").order_by().values("status").annotate(n=Count("pk"))
    counts = {row["status"]: row["n"] for row in items}
    without = run.items.filter(status=PlannedItem.Status.UNSCORED, canary="").order_by()
    why = Coalesce(KT("reason_json__params__why"), "reason", output_field=TextField())
    reasons = {row["why"]: row["n"] for row in without.values(why=why).annotate(n=Count("pk"))}
    replies = Reply.objects.filter(item__run=run)
    sums = sums_of(
        replies,
        written="output_tokens",
        calls=PAID_CALLS,
        reused=Count("pk", filter=Q(reused_from__isnull=False)),
        seconds=Avg("seconds", filter=Q(reused_from=None, error="")),
        last=Max("created_at"),
        lately=Count("pk", filter=Q(created_at__gte=clock() - A_MINUTE)),
        failed=Count("pk", filter=~Q(error="")),
    )
    scored, unscored = (counts.get(status, 0) for status in (PlannedItem.Status.SCORED, PlannedItem.Status.UNSCORED))
    return Progress(
        total=sum(counts.values()),
        settled=scored + unscored,
        scored=scored,
        unscored=unscored,
        busy=live_leases(run, clock).count(),
        calls_now=calls_now(run, clock),
        reasons=tuple(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        # Only where there are some: looking for them reads every reply of the run once more.
        errors=most_frequent(replies) if sums["failed"] else (),
        calls=sums["calls"],
        reused=sums["reused"],
        input_tokens=sums["read"],
        output_tokens=sums["written"],
        money=Decimal(sums["money"]),
        seconds_per_reply=sums["seconds"],
        last_reply_at=sums["last"],
        last_minute=sums["lately"],
        counted_in=time.monotonic() - begun,
    )


# What a reason's first word means to a reader; marked here for translation, translated where it is shown.
REASON_TEXTS = {
    "prose": gettext_noop("Prose instead of a structured answer"),
    "empty": gettext_noop("Empty answer"),
    "unreadable": gettext_noop("Answer that could not be parsed"),
    "cut_off": gettext_noop("Answer cut off"),
    "missing_item": gettext_noop("Unanswered question"),
    "doubled_item": gettext_noop("Question answered twice"),
    "unknown_item": gettext_noop("Answer to a question that was not asked"),
    "off_scale": gettext_noop("Score outside the scale"),
    "refused": gettext_noop("Model declined to answer"),
    "too_long": gettext_noop("Longer than the model's context"),
    "no_text": gettext_noop("Response without text"),
    "endpoint": gettext_noop("Endpoint error"),
}

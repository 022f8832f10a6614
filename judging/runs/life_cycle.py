"""The life cycle of a run: started, paused, resumed, cancelled, failed, finished; and its progress."""

import time
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
from generation.execution import recovery, states as run_states
from generation.execution.leases import live_leases
from generation.execution.progress import RunProgress, calls_now, most_frequent, sums_of
from generation.execution.states import (
    NotPossible,
    all_settled,
    begin,
    cancel_run,
    fail_run,
    finish,
    pause_run,
    put_back,
    raise_budget,
)
from judging.methods.canaries import CanariesUnscored, CanaryFailed
from judging.models import JudgeRun, PlannedItem, Reply
from judging.runs.aggregation import check_canaries, derive, discredit, rehabilitate
from judging.runs.leases import somebody_prepares
from judging.runs.left_replies import store_replies
from judging.runs.manifest import manifest_at_end, manifest_at_start
from judging.runs.spending import PAID

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
    "retry_unscored",
    "start_run",
]

A_MINUTE = timedelta(seconds=60)


def start_run(run: JudgeRun, *, clock: Clock, user: User | None = None) -> None:
    """Start or resume a run; its verdicts so far are kept. Raises NotPossible if it is finished or cancelled.

    The manifest of a run that is still being prepared is written once it has all its items.
    """
    # Before what a killed worker had set aside comes free.
    keep_left(run)
    begin(run, (lambda _run: {}) if run.preparing else manifest_at_start, clock=clock, user=user)


def keep_left(run: JudgeRun) -> None:
    """As recovery.keep_left."""
    recovery.keep_left(run, store_replies)


def retry_unscored(run: JudgeRun, *, clock: Clock, user: User | None = None) -> int:
    """Queue the unscored items again, and make a finished run resumable; return their number.

    Their replies stay, and their cost stays counted. Raises NotPossible if the run was cancelled.
    """
    last = Reply.objects.filter(item=OuterRef("pk")).order_by("-attempt").values("attempt")[:1]
    unscored = run.items.filter(status=PlannedItem.Status.UNSCORED)
    return put_back(run, unscored, user=user, attempts_before=Coalesce(Subquery(last) + 1, 0), **stored("reason", ""))


def finish_if_done(run: JudgeRun, *, clock: Clock) -> bool:
    """Finish a running run without waiting items: combine its verdicts and complete its manifest.

    If its judge believed a canary text, the run fails instead.
    """
    if run.preparing or not all_settled(run):
        return False
    derive(run, clock=clock)
    try:
        check_canaries(run)
    except (CanaryFailed, CanariesUnscored) as error:
        discredit(run, error)
        fail_run(run, str(error), clock=clock)
        return False
    rehabilitate(run)
    return finish(run, manifest_at_end, clock=clock)


def nobody_works(run: JudgeRun, *, clock: Clock) -> bool:
    """Whether no worker holds anything of a running run some time after its start."""
    return run_states.nobody_works(run, clock=clock) and not somebody_prepares(run, clock)


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
        calls=PAID,
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

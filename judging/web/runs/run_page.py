"""The contents of a run's page, in the reader's language."""

from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from annotation.models import Task
from core.clock import Clock
from core.messages.message import from_json
from core.messages.rendering import for_reader
from generation.execution.messages import calls_in_words, rate_since, state_in_words, time_left
from judging.models import JudgeRun, PlannedItem, Preparation
from judging.runs.aggregation import is_panel, unscored_of, verdicts_of_run
from judging.runs.life_cycle import REASON_TEXTS, Progress, nobody_works, progress_of
from judging.runs.planning.requirements import noted_lacks
from judging.web.runs.files import SlowReply, slowest_replies

RECENT_SHOWN = 10


@dataclass(frozen=True)
class UnscoredRow:
    """A response without a verdict, with the reason."""

    instruction: str
    why: str
    detail: str


@dataclass(frozen=True)
class RunPanel:
    """`live`: the page reloads, also while a paused run's last replies arrive. `stalled`: no worker works on a running
    run.

    `retriable`: some items got no verdict and can be asked again. `misled`: the judge believed a canary text, or judged
    none. `offers` changes when the lead's options change. `preparing`: the unfinished preparation. `calls`: a sentence
    on calls that wait for a rate limit, or for which a stop waits. `lacks`: sentences on tasks that the method cannot
    be asked about. `believed`: the canary texts that the judge believed, with its verdicts. `verdicts`: the number of
    tasks judged by the run's judge; the members of a panel are judges of their own. `in_parts`: a verdict is combined
    from several answers, or there is none.
    """

    progress: Progress
    opening: str
    live: bool
    stalled: bool
    reasons: list[tuple[str, int]]
    unscored: list[UnscoredRow]
    slowest: list[SlowReply]
    per_minute: float | None
    left: str
    calls: str
    lacks: list[str]
    believed: list[tuple[str, str]]
    verdicts: int
    in_parts: bool
    retriable: bool
    misled: bool
    offers: str
    preparing: Preparation | None


def canary_in_words(key: str) -> str:
    """Return the name of a canary text."""
    names = {
        "empty": gettext("An empty text"),
        "refusal": gettext("A refusal to answer"),
        "null": gettext("The word “null”"),
        "order": gettext("A text that tells the judge to prefer it"),
    }
    return names.get(key, key)


def run_panel(run: JudgeRun, *, clock: Clock) -> RunPanel:
    # Read before the items: if it no longer exists when they are counted, they all exist.
    preparing = Preparation.objects.filter(run=run).defer("tasks").first()
    progress = progress_of(run, clock=clock)
    per_minute = _per_minute(run, progress)
    silent = run.believed_canaries == []
    retriable = (progress.unscored > 0 or silent) and run.status != JudgeRun.Status.CANCELLED
    return RunPanel(
        progress=progress,
        opening=_opening(run, progress, preparing),
        live=run.status == JudgeRun.Status.RUNNING or progress.busy > 0,
        stalled=(progress.waiting > 0 or preparing is not None) and nobody_works(run, clock=clock),
        reasons=[(gettext(REASON_TEXTS.get(why, why)), count) for why, count in progress.reasons],
        unscored=_unscored_rows(run),
        slowest=slowest_replies(run),
        per_minute=per_minute,
        calls=calls_in_words(run.status, progress.calls_now, clock=clock),
        misled=preparing is None and _misled(run, progress),
        retriable=retriable,
        offers=f"{run.status}-{int(retriable)}-{int(progress.scored > 0)}",
        left=time_left(progress.waiting, per_minute) if run.status == JudgeRun.Status.RUNNING else "",
        preparing=preparing,
        lacks=[for_reader(lack.warning) for lack in noted_lacks(run)],
        believed=[
            (canary_in_words(one["text"]), for_reader(from_json(one.get("what_json")) or one["what"]))
            for one in run.believed_canaries or []
        ],
        verdicts=verdicts_of_run(run).filter(rater=run.judge.rater_id).verdicts().count(),
        in_parts=is_panel(run) or run.watch_id is not None or run.probes is not None,
    )


def _opening(run: JudgeRun, progress: Progress, preparing: Preparation | None) -> str:
    """Return the opening sentence: the progress and the state of the run."""
    if preparing is not None:
        steps = {"done": f"{preparing.done:,}", "total": f"{preparing.total:,}"}
        return gettext("Preparing: %(done)s of %(total)s steps") % steps + state_in_words(run.status)
    if is_panel(run) or run.probes is not None:
        sentence = ngettext(
            "%(scored)s of %(total)s question answered", "%(scored)s of %(total)s questions answered", progress.total
        )
    elif run.study.task_kind == Task.Kind.PAIR:
        sentence = ngettext(
            "%(scored)s of %(total)s pair judged", "%(scored)s of %(total)s pairs judged", progress.total
        )
    else:
        sentence = ngettext(
            "%(scored)s of %(total)s response judged", "%(scored)s of %(total)s responses judged", progress.total
        )
    sentence %= {"scored": f"{progress.scored:,}", "total": f"{progress.total:,}"}
    if progress.unscored:
        sentence += ngettext(", %(n)s verdict unusable", ", %(n)s verdicts unusable", progress.unscored) % {
            "n": f"{progress.unscored:,}"
        }
    if _misled(run, progress):
        return sentence + gettext("; the run stopped because of its canary texts.")
    return sentence + state_in_words(run.status)


def _misled(run: JudgeRun, progress: Progress) -> bool:
    """Whether the run failed its canary texts and has not been asked again since."""
    return run.discredited and progress.waiting == 0


def _per_minute(run: JudgeRun, progress: Progress) -> float | None:
    """Return replies in the last minute of a running run, else since its start; None if there are too few."""
    if run.status == JudgeRun.Status.RUNNING and progress.last_minute and progress.calls > progress.last_minute:
        return float(progress.last_minute)
    return rate_since(run.started_at, progress.last_reply_at, progress.done)


def _unscored_rows(run: JudgeRun) -> list[UnscoredRow]:
    items = (
        run.items.filter(status=PlannedItem.Status.UNSCORED, canary="")
        .select_related("task__response_a__instruction")
        .order_by("position")[:RECENT_SHOWN]
    )
    rows = []
    for item in items:
        unscored = unscored_of(item)
        name = item.task.response_a.instruction.external_id
        rows.append(UnscoredRow(name, gettext(REASON_TEXTS[unscored.why]), for_reader(unscored.detail)))
    return rows

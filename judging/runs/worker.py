"""Work through a run: prepare it, ask the judges, store the replies. The same for a command and for Celery."""

from contextlib import suppress

from django.utils import timezone

from core.clock import Clock
from generation.endpoints.clients import open_chat
from generation.execution.states import NotPossible, pause_run
from generation.execution.worker import DEFAULT_OPTIONS, ChatMaker, WorkerOptions, work_through
from judging.methods.messages import INTERRUPTED
from judging.methods.registry import needs_no_call
from judging.models import JudgeRun
from judging.runs.endpoint_probe import passes_probe
from judging.runs.life_cycle import JUDGING
from judging.runs.planning.preparation import prepare
from judging.runs.queue import open_queues
from judging.runs.runs_without_calls import settle_inline


def work_on(
    run: JudgeRun,
    *,
    options: WorkerOptions = DEFAULT_OPTIONS,
    clock: Clock = timezone.now,
    chat_for: ChatMaker = open_chat,
) -> JudgeRun:
    """Ask the open questions of a running run; return the run as it is afterwards. See `work_through`."""
    run = JudgeRun.objects.select_related("judge__rater", "study__guideline").get(pk=run.pk)

    def begin() -> bool:
        if not prepared(run, options, clock):
            return False
        if needs_no_call(run.judge.method):
            settle_inline(run, options, clock)
            return False
        return passes_probe(run, options=options, clock=clock, chat_for=chat_for)

    work_through(
        JUDGING, run, open_queues, options=options, clock=clock, chat_for=chat_for, interrupted=INTERRUPTED, begin=begin
    )
    return run


def prepared(run: JudgeRun, options: WorkerOptions, clock: Clock) -> bool:
    """Whether the run can be asked about: complete its plan; an interrupted run is paused."""
    if prepare(run, options=options, clock=clock):
        return True
    if options.interrupted():
        with suppress(NotPossible):
            pause_run(run, INTERRUPTED(), clock=clock)
    return False

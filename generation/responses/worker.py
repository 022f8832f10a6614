"""Work through a generation run, each endpoint with its own engine. The same for a command and for Celery."""

from django.utils import timezone

from core.clock import Clock
from generation.endpoints.clients import open_chat
from generation.execution.worker import DEFAULT_OPTIONS, ChatMaker, WorkerOptions, work_through
from generation.llm.protocol.messages import INTERRUPTED
from generation.models import GenerationRun
from generation.responses.queue import open_queues
from generation.responses.runs import GENERATION


def work_on(
    run: GenerationRun,
    *,
    options: WorkerOptions = DEFAULT_OPTIONS,
    clock: Clock = timezone.now,
    chat_for: ChatMaker = open_chat,
) -> GenerationRun:
    """Ask for what is outstanding in a running run; return the run as it is afterwards. See `work_through`."""
    run = GenerationRun.objects.select_related("benchmark__workspace").get(pk=run.pk)
    work_through(GENERATION, run, open_queues, options=options, clock=clock, chat_for=chat_for, interrupted=INTERRUPTED)
    return run

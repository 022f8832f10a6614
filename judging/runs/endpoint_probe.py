"""The probe of a large run: its first questions are asked alone, before thousands of others are paid for.

They are items of the run like any other: asked once, paid from its budget, stored and counted. A wrong key, model or
address stops the run with the endpoint's own words, and so does a context that has no room for any of them.
"""

from typing import Any

from core.clock import Clock
from generation.execution.states import fail_run
from generation.execution.worker import ChatMaker, WorkerOptions, make_calls
from judging.judges.judge_calls import JudgeCall
from judging.methods.messages import INTERRUPTED, NO_ROOM
from judging.methods.parsing import Why
from judging.models import JudgeRun, PlannedItem
from judging.runs.life_cycle import retry_unscored
from judging.runs.queue import JudgeQueue, open_queues

PROBED_FROM = 100
"""Questions from which on a run is probed; a shorter one is its own probe."""
QUESTIONS = 3
"""Asked of each judge at once: one that is refused for its own content says nothing about the others."""


class ProbeQueue(JudgeQueue):
    """The first questions of a judge. `asked` are the items that a call was made for."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: list[int] = []

    def next_calls(self, count: int) -> tuple[list[JudgeCall], bool]:
        left = QUESTIONS - len(self.asked)
        if left <= 0:
            return [], False
        calls, more = super().next_calls(min(count, left))
        self.asked += [call.key for call in calls]
        return calls, more and len(self.asked) < QUESTIONS

    def others_are_busy(self) -> bool:
        """The rest of the run waits for this queue, not the other way round."""
        return False


def is_due(run: JudgeRun) -> bool:
    """Whether the run is large, wants to be probed, and has no verdict that shows that its judges answer."""
    if not run.manifest.get("settings", {}).get("probe", True):
        return False
    waiting = run.items.filter(status=PlannedItem.Status.WAITING)
    if not waiting[PROBED_FROM - 1 : PROBED_FROM].exists():
        return False
    return not run.items.filter(status=PlannedItem.Status.SCORED).exists()


def passes_probe(run: JudgeRun, *, options: WorkerOptions, clock: Clock, chat_for: ChatMaker) -> bool:
    """Ask the first questions of each judge if the run is to be probed; return whether the others can be asked.

    If not, the run has stopped and says why. It can be resumed, and is then probed again.
    """
    if not is_due(run):
        return True
    queues: list[ProbeQueue] = []

    async def opened(run: JudgeRun, clock: Clock, chat_for: ChatMaker) -> tuple[list[JudgeQueue], list[str]]:
        found, problems = await open_queues(run, clock, chat_for, ProbeQueue)
        queues.extend(queue for queue in found if isinstance(queue, ProbeQueue))
        return found, problems

    make_calls(run, opened, options=options, clock=clock, chat_for=chat_for, interrupted=INTERRUPTED)
    run.refresh_from_db()
    if run.status != JudgeRun.Status.RUNNING:
        return False
    asked = sum(len(queue.asked) for queue in queues)
    run.manifest = {**run.manifest, "probe": {"questions": asked, "at": clock().isoformat()}}
    run.save(update_fields=["manifest"])
    for queue in queues:
        if queue.asked and _without_room(queue):
            fail_run(run, NO_ROOM(judge=queue.judge.rater.name, n=len(queue.asked)), clock=clock)
            retry_unscored(run, clock=clock, only=queue.asked)
            return False
    return True


def _without_room(queue: ProbeQueue) -> bool:
    """Whether no question of the probe fits into the model's context."""
    items = PlannedItem.objects.filter(pk__in=queue.asked).values_list("status", "reason_json__params__why")
    return all(found == (PlannedItem.Status.UNSCORED, str(Why.TOO_LONG)) for found in items)

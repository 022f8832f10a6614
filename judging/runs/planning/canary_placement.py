"""Add canary texts to a run's items: texts that deserve the lowest score, and whose verdicts count nowhere."""

import hashlib
import random
from collections.abc import Sequence

from annotation.models import Task
from generation.models import Endpoint, Response
from generation.text_metrics.counts import word_count
from judging.judges.questions import Questions
from judging.methods.canaries import Canary, canaries_for
from judging.methods.registry import METHODS
from judging.methods.spec import Transport
from judging.models import Judge, JudgeRun, PlannedItem

PURPOSE = "canary"
CANARIES = 4
"""Number of canary texts per judge of a run; on pairs, each in both orders."""


def takes_canaries(judge: Judge) -> bool:
    """Whether canary texts test the judge: it must read, and an instruction check may rightly hold for an empty text."""
    needs = METHODS[judge.method]
    model = judge.language_model
    scripted = bool(model and model.endpoint and model.endpoint.kind == Endpoint.Kind.SCRIPTED)
    return needs.transport == Transport.CHAT and needs.task_kind != Task.Kind.CHECK and not scripted


def plant(run: JudgeRun, pks: Sequence[int], jurors: Sequence[Judge], seed: int) -> list[PlannedItem]:
    """Return unsaved items for one canary text of each kind, for each judge that takes them, next to drawn tasks of the
    plan.
    """
    draws = random.Random(f"{seed} canaries")
    method = jurors[0].method
    pair = METHODS[method].task_kind == Task.Kind.PAIR
    questions = Questions(method, run.study)
    drawn = draws.sample(pks, min(4, len(pks)))
    tasks = list(
        Task.objects.filter(pk__in=drawn).select_related("response_a__instruction", "response_b").order_by("pk")
    )
    found = []
    for number, canary in enumerate(canaries_for(questions.answered(tasks[0]), pair=pair)):
        host = tasks[number % len(tasks)]
        if canary.key == "order":
            canary = next(one for one in canaries_for(questions.answered(host), pair=pair) if one.key == canary.key)
        task = _task_of(host, canary, pair)
        for juror in (place for place, judge in enumerate(jurors) if takes_canaries(judge)):
            for repeat, side in enumerate("ab" if pair else "a"):
                found.append(
                    PlannedItem(run=run, task=task, shown_first=side, repeat=repeat, juror=juror, canary=canary.key)
                )
    return found


def _task_of(host: Task, canary: Canary, pair: bool) -> Task:
    """Return the task about the canary text; next to an ordinary response it is side B."""
    digest = hashlib.sha256(canary.text.encode()).hexdigest()[:12]
    response, _made = Response.objects.get_or_create(
        instruction=host.response_a.instruction,
        model=None,
        external_id=f"canary:{canary.key}:{digest}",
        defaults={"kind": Response.Kind.CANARY, "text": canary.text, "words": word_count(canary.text)},
    )
    task, _made = Task.objects.get_or_create(
        study=host.study,
        key=f"canary:{host.pk}:{response.pk}",
        defaults={
            "kind": host.kind,
            "response_a": host.response_a if pair else response,
            "response_b": response if pair else None,
            "answer_rubric": host.answer_rubric,
            "guide_rubric": host.guide_rubric,
            "gold": {"purpose": PURPOSE},
        },
    )
    return task

"""How many tasks a study's choices give, and how much there is to read: what its plan needs, without listing them."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Max, Q, Sum, Value
from django.db.models.functions import Coalesce

from annotation.models import Criterion, Study
from annotation.policies.policies import Policies, Selection
from annotation.studies.selection import WORDS_WHERE_UNKNOWN, chosen_responses, planned_tasks
from core.db.stores_nothing import stores_nothing
from generation.models import Instruction
from generation.text_metrics.counts import word_count

RESPONSE = "r:"
"""What the key of a task with one response begins with; the response's primary key follows."""
MOST_LEFT_OUT = 500
"""Tasks that are left out one by one in a query; beyond that, the tasks are listed."""
INSTRUCTIONS_READ = 200


@dataclass(frozen=True)
class StudySize:
    """Inputs of a study's plan; words are means per task and per instruction. `without_rubric` and `absent` are those of
    PlannedTasks; `first_of_rubrics` are the numbers, from 1, of the first task that each rubric asks about.
    """

    tasks: int
    instructions: int
    items: int
    words_a_task: float
    words_an_instruction: float
    without_rubric: int
    absent: int = 0
    first_of_rubrics: tuple[int, ...] = ()


def size_of(study: Study) -> StudySize:
    """Plan inputs of the study as it would be launched now."""
    return _counted(study) or _listed(study)


def _counted(study: Study) -> StudySize | None:
    """The size as the database counts it; None where only the list of tasks tells.

    It counts the responses to rate one by one with the study's own rubric, unless instructions are drawn at random, or
    several responses of one model to an instruction are there, of which only the first is rated.
    """
    selection = Selection.of(study)
    one_by_one = study.kind in (Study.Kind.CHECKLIST, Study.Kind.STARS)
    if not one_by_one or study.benchmark_id is None or study.rubric_id is None or selection.instructions:
        return None
    left_out = _left_out(study)
    if len(left_out) > MOST_LEFT_OUT:
        return None
    rated = ~Q(pk__in=left_out)
    by_model = chosen_responses(study).order_by().values("instruction", "model")
    found = by_model.annotate(
        rated=Count("pk", filter=rated), read=Sum(Coalesce(F("words"), Value(WORDS_WHERE_UNKNOWN)), filter=rated)
    ).aggregate(
        tasks=Sum("rated"),
        words=Sum("read"),
        instructions=Count("instruction", distinct=True, filter=Q(rated__gt=0)),
        most=Max("rated", filter=Q(model__isnull=False)),
    )
    if selection.samples == "first" and (found["most"] or 0) > 1:
        return None
    if left_out and selection.samples == "first" and _has_several(by_model):
        return None
    tasks = found["tasks"] or 0
    items = Criterion.objects.filter(rubric=study.rubric_id).exclude(role=Criterion.Role.OVERALL).count()
    responses = chosen_responses(study).exclude(pk__in=left_out)
    first = responses.order_by("instruction").values_list("instruction", flat=True).distinct()[:INSTRUCTIONS_READ]
    return StudySize(
        tasks=tasks,
        instructions=found["instructions"],
        items=max(1, items) if tasks else 1,
        words_a_task=found["words"] / tasks if tasks else 0.0,
        words_an_instruction=_words_asked(set(first)) if tasks else 0.0,
        without_rubric=0,
        first_of_rubrics=(1,) if tasks else (),
    )


def _has_several(by_model: Any) -> bool:
    """Whether a model has several responses to one instruction, those that are left out among them."""
    return bool(by_model.exclude(model=None).annotate(n=Count("pk")).filter(n__gt=1).exists())


def _left_out(study: Study) -> list[int]:
    """Primary keys of responses whose tasks are quality checks or were dropped."""
    marked = study.tasks.filter(gold__isnull=False, key__startswith=RESPONSE).values_list("key", flat=True)
    keys = [*marked, *(key for key in Policies.of(study).dropped if key.startswith(RESPONSE))]
    return [int(number) for key in keys if (number := key.removeprefix(RESPONSE)).isdecimal()]


@stores_nothing
def _listed(study: Study) -> StudySize:
    planned = planned_tasks(study)
    instructions = {task.instruction for task in planned.tasks}
    first_of: dict[int, int] = {}
    for number, task in enumerate(planned.tasks, start=1):
        first_of.setdefault(task.answer_rubric, number)
    counts: dict[int, int] = {}
    criteria = Criterion.objects.filter(rubric__in=first_of).exclude(role=Criterion.Role.OVERALL)
    for rubric in criteria.values_list("rubric_id", flat=True):
        counts[rubric] = counts.get(rubric, 0) + 1
    total = sum(counts.get(task.answer_rubric, 0) for task in planned.tasks)
    return StudySize(
        tasks=len(planned),
        instructions=len(instructions),
        items=max(1, round(total / len(planned))) if len(planned) else 1,
        words_a_task=sum(task.words for task in planned.tasks) / len(planned) if len(planned) else 0.0,
        words_an_instruction=_words_asked(instructions),
        without_rubric=planned.without_rubric,
        absent=planned.absent,
        first_of_rubrics=tuple(first_of.values()),
    )


def _words_asked(instructions: set[int]) -> float:
    """Mean number of words in a sample of the instructions."""
    some = sorted(instructions)[:INSTRUCTIONS_READ]
    texts: list[Any] = [one.text for one in Instruction.objects.filter(pk__in=some).only("messages")]
    return sum(map(word_count, texts)) / len(texts) if texts else 0.0

"""The tasks that the prompt editor shows and tries: those of a study, or the responses of a benchmark as tasks."""

from collections.abc import Sequence

from django.db.models import QuerySet
from django.utils.translation import gettext

from accounts.models import Workspace
from annotation.models import Assignment, Rubric, Study, Task
from generation.models import Benchmark, Response
from judging.methods.registry import METHODS
from judging.studies.benchmarks import rated_responses

STUDY, BENCHMARK = "study", "benchmark"
OFFERED = 60


def task_sources(workspace: Workspace, method: str) -> list[tuple[str, str]]:
    """(value, name) of the studies with tasks for the method, then of the benchmarks with responses for it."""
    kind = METHODS[method].task_kind
    studies = Study.objects.filter(workspace=workspace, tasks__kind=kind).distinct().order_by("-created_at")
    found = [(f"{STUDY}:{study.pk}", study.name) for study in studies[:OFFERED]]
    if kind == Task.Kind.SINGLE:
        benchmarks = Benchmark.objects.filter(
            workspace=workspace, instructions__responses__text__isnull=False
        ).distinct()
        found += [
            (f"{BENCHMARK}:{one.pk}", gettext("Benchmark %(name)s") % {"name": one.name})
            for one in benchmarks.order_by("slug")[:OFFERED]
        ]
    return found


def task_at(workspace: Workspace, method: str, source: str, number: int) -> tuple[Task, int] | None:
    """Return task `number` of the source (from 1, wrapping around) and how many it has; None if it has none."""
    pks = _pks(workspace, method, source)
    if not pks:
        return None
    found = _tasks(workspace, source, [pks[(max(1, number) - 1) % len(pks)]])
    return (found[0], len(pks)) if found else None


def tasks_to_try(workspace: Workspace, method: str, source: str, number: int, count: int) -> list[Task]:
    """Return `count` tasks of the source: task `number` alone, or several spread evenly, those that people rated first."""
    pks = _pks(workspace, method, source)
    if not pks:
        return []
    start = (max(1, number) - 1) % len(pks)
    if count == 1:
        return _tasks(workspace, source, [pks[start]])
    rated = _rated(source, pks)
    first = spread([pk for pk in pks if pk in rated], count, start)
    others = spread([pk for pk in pks if pk not in rated], count - len(first), start)
    return _tasks(workspace, source, [*first, *others])


def spread(rows: Sequence[int], count: int, start: int) -> list[int]:
    """Return up to `count` of the rows at even distances, the first at place `start`, wrapping around."""
    count = min(count, len(rows))
    return [rows[(start + n * len(rows) // count) % len(rows)] for n in range(count)]


def about(task: Task) -> str:
    """Name the instruction and the models; the messages themselves never name a model."""
    models = [str(one.model or "–") for one in (task.response_a, task.response_b) if one is not None]
    return f"{task.response_a.instruction.external_id} · {' / '.join(models)}"


def _pks(workspace: Workspace, method: str, source: str) -> list[int]:
    """Return the pks of the source's tasks, or of a benchmark's responses, in order."""
    kind, _colon, pk = source.partition(":")
    if not pk.isdecimal():
        return []
    if kind == BENCHMARK:
        return list(_responses(workspace, int(pk)).values_list("pk", flat=True))
    tasks = Task.objects.filter(
        study__workspace=workspace, study=int(pk), kind=METHODS[method].task_kind, gold__isnull=True
    )
    return list(tasks.order_by("position", "pk").values_list("pk", flat=True))


def _rated(source: str, pks: Sequence[int]) -> set[int]:
    kind, _colon, pk = source.partition(":")
    if kind == BENCHMARK:
        return set(rated_responses(Benchmark.objects.get(pk=int(pk))))
    answered = Assignment.objects.filter(task__study=int(pk)).answered().of_people()
    return set(answered.values_list("task_id", flat=True))


def _tasks(workspace: Workspace, source: str, pks: Sequence[int]) -> list[Task]:
    """Return the tasks in the order of the pks; those of a benchmark are unsaved, and need a rubric to be one."""
    if source.startswith(f"{STUDY}:"):
        texts = ("study__guideline", "response_a__instruction", "response_a__model", "response_b__model")
        tasks = Task.objects.select_related(*texts).in_bulk(pks)
        return [tasks[pk] for pk in pks if pk in tasks]
    responses = Response.objects.select_related("instruction__category__parent", "instruction__benchmark", "model")
    found = responses.in_bulk(pks)
    made = [task_of(workspace, found[pk]) for pk in pks if pk in found]
    return [task for task in made if task is not None]


def task_of(workspace: Workspace, response: Response, rubric: Rubric | None = None) -> Task | None:
    """Return an unsaved task: the response with the rubric nearest to its instruction; None if there is no rubric."""
    rubric = rubric or Rubric.objects.nearest_to(response.instruction)
    if rubric is None:
        return None
    study = Study(workspace=workspace, benchmark=response.instruction.benchmark, kind=Study.Kind.CHECKLIST)
    return Task(study=study, kind=Task.Kind.SINGLE, response_a=response, answer_rubric=rubric)


def _responses(workspace: Workspace, benchmark: int) -> QuerySet[Response]:
    found = Response.objects.filter(
        instruction__benchmark__workspace=workspace,
        instruction__benchmark=benchmark,
        kind=Response.Kind.RESPONSE,
        text__isnull=False,
    )
    return found.order_by("instruction", "model", "pk")

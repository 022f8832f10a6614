"""Show exactly what a judge would be sent about a real task, without sending it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext

from accounts.models import Workspace
from annotation.models import Rubric, Study, Task
from core.messages.rendering import for_reader
from generation.models import Benchmark, LanguageModel, Response
from judging.judges.judge_calls import shown
from judging.judges.making import judge_parameters
from judging.judges.questions import Questions
from judging.judges.transports import ChatTransport
from judging.methods.parsing import Unscored
from judging.methods.prompts import estimated_tokens
from judging.methods.registry import METHODS, unanswerable
from judging.methods.scales import WrongScale
from judging.methods.single.checklist import MixedScales
from judging.models import Judge, PlannedItem

STUDY, BENCHMARK = "study", "benchmark"
OFFERED = 60


@dataclass(frozen=True)
class PromptPreview:
    """The `messages` to send, or `problem`, a sentence on why this task cannot be asked.

    `schema` is the JSON schema sent with them, "" if it is part of the prompt.
    """

    about: str
    number: int
    of: int
    messages: list[dict[str, str]]
    parameters: dict[str, object]
    schema: str
    tokens: int
    problem: str = ""


def preview_sources(workspace: Workspace, method: str) -> list[tuple[str, str]]:
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


def prompt_preview(
    *,
    workspace: Workspace,
    method: str,
    model: LanguageModel,
    prompt: str,
    parameters: Mapping[str, object],
    source: str,
    number: int,
) -> PromptPreview | None:
    """Return task `number` of the source (from 1, wrapping around); None if it has none. Raises BadTemplate."""
    kind, _, pk = source.partition(":")
    place = max(0, number - 1)
    chosen = _benchmark_task(workspace, pk, place) if kind == BENCHMARK else _study_task(workspace, method, pk, place)
    if chosen is None:
        return None
    task, of = chosen
    number, about = place % of + 1, _about(task)
    judge = Judge(
        workspace=workspace,
        language_model=model,
        method=method,
        prompt=prompt,
        parameters=judge_parameters(model, parameters),
    )
    item = PlannedItem(pk=0, task=task, shown_first="a")
    try:
        question = shown(item, Questions(method, task.study).about(task))
        lack = unanswerable(method, question)
        transport = ChatTransport(judge)
        begun = lack or transport.begin(item, question)
    except (WrongScale, MixedScales) as error:
        return PromptPreview(about, number, of, [], {}, "", 0, for_reader(error))
    if isinstance(begun, Unscored):
        return PromptPreview(about, number, of, [], {}, "", 0, for_reader(begun.detail))
    transport.prepare(begun)
    request = begun.request
    messages = [dict(message) for message in request.messages]
    return PromptPreview(
        about=about,
        number=number,
        of=of,
        messages=messages,
        parameters=dict(request.parameters),
        schema=json.dumps(request.schema, ensure_ascii=False, indent=1) if request.structured else "",
        tokens=sum(estimated_tokens(message["content"]) for message in messages),
    )


def _study_task(workspace: Workspace, method: str, pk: str, place: int) -> tuple[Task, int] | None:
    study = Study.objects.filter(workspace=workspace, pk=int(pk)).first() if pk.isdecimal() else None
    if study is None:
        return None
    tasks = (
        Task.objects.filter(study=study, kind=METHODS[method].task_kind, gold__isnull=True)
        .select_related("study__guideline", "response_a__instruction", "response_b", "response_a__model")
        .order_by("position", "pk")
    )
    of = tasks.count()
    return (tasks[place % of], of) if of else None


def _benchmark_task(workspace: Workspace, pk: str, place: int) -> tuple[Task, int] | None:
    """Return an unsaved task: one response of the benchmark with the rubric nearest to its instruction."""
    benchmark = Benchmark.objects.filter(workspace=workspace, pk=int(pk)).first() if pk.isdecimal() else None
    if benchmark is None:
        return None
    responses = _responses_of(benchmark)
    of = responses.count()
    if not of:
        return None
    response = responses[place % of]
    rubric = Rubric.objects.nearest_to(response.instruction)
    if rubric is None:
        return None
    study = Study(workspace=workspace, benchmark=benchmark, kind=Study.Kind.CHECKLIST)
    return Task(study=study, kind=Task.Kind.SINGLE, response_a=response, answer_rubric=rubric), of


def _responses_of(benchmark: Benchmark) -> QuerySet[Response]:
    found = Response.objects.filter(instruction__benchmark=benchmark, kind=Response.Kind.RESPONSE, text__isnull=False)
    return found.select_related("instruction__category__parent", "model").order_by("instruction", "model", "pk")


def _about(task: Task) -> str:
    """Name the instruction and the models; the messages themselves never name a model."""
    models = [str(one.model or "–") for one in (task.response_a, task.response_b) if one is not None]
    return f"{task.response_a.instruction.external_id} · {' / '.join(models)}"

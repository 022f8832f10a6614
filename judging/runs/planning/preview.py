"""The questions of a run, counted from rows; for a benchmark, including the tasks that its responses would become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import Count, QuerySet

from annotation.models import Study, Task
from generation.models import Response
from judging.methods.registry import METHODS
from judging.runs.planning.plan import check_rubrics, first_of, open_tasks
from judging.runs.planning.request import RunRequest, TaskGroup
from judging.runs.planning.requirements import Lack, check_requirements
from judging.studies.benchmarks import nothing_of, rated_responses

DRAWN = 24
WITH_TEXTS = ("response_a__instruction", "response_a__model__endpoint", "response_b__model__endpoint")


@dataclass(frozen=True)
class Prospect:
    """The number of `tasks` in the plan and a sample of them, spread evenly; these may be unsaved.

    `study` is the stored one, or an unsaved one of the benchmark; `lacks` is what some tasks lack for the method.
    """

    tasks: int
    drawn: list[Task]
    study: Study
    lacks: list[Lack]


def prospect(request: RunRequest) -> Prospect:
    """Return what plan_at_once would plan, or nothing if nothing is left. Otherwise raises what planning raises."""
    target, only_rated = request.target, request.only_rated
    study = target.stored
    shown = study or Study(workspace=target.workspace, benchmark=target.benchmark, kind=Study.Kind.CHECKLIST)
    responses = target.without_task()
    unmade = list(target.new_tasks(responses))
    if target.benchmark is not None:
        if not unmade and (study is None or not study.tasks.exists()):
            raise nothing_of(target.benchmark)
        if only_rated:
            responses = responses.filter(pk__in=rated_responses(target.benchmark))
            unmade = list(target.new_tasks(responses))
    if METHODS[request.leader.method].task_kind != Task.Kind.SINGLE:
        unmade = []
    tasks = (
        Task.objects.none()
        if study is None
        else open_tasks(request.leader, study, only_rated=only_rated, only=request.only)
    )
    rubrics = set(tasks.order_by().values_list("answer_rubric_id", flat=True).distinct())
    given = {group.rubric for group in unmade if group.rubric}
    check_rubrics(sorted(rubrics | given), request.judges, shown)
    groups = sorted([*_stored(tasks), *unmade], key=lambda group: group.place)
    total = sum(group.tasks for group in groups)
    count = total if request.limit is None else min(request.limit, total)
    lacks = []
    if total:
        made = min(count, sum(group.tasks for group in groups if group.rubric is None))
        lacks = check_requirements(
            request.judges,
            shown,
            first_of(tasks, made),
            unmade=responses if given else None,
            rubrics=given,
            seed=request.seed,
        )
    return Prospect(count, _drawn(list(_spread(groups, count)), tasks, responses, shown), shown, lacks)


def _stored(tasks: QuerySet[Task]) -> Iterator[TaskGroup]:
    instruction = "response_a__instruction"
    found = tasks.order_by().values_list(f"{instruction}__external_id", f"{instruction}_id")
    for name, pk, n in found.annotate(n=Count("pk")):
        yield TaskGroup((name, pk), n)


def _spread(rows: Sequence[TaskGroup], count: int) -> Iterator[tuple[TaskGroup, int]]:
    """Return evenly spaced positions of the first `count` tasks: their source, and their number in it."""
    row, begin = 0, 0
    for number in islice(range(0, count, max(1, count // DRAWN)), DRAWN):
        while begin + rows[row].tasks <= number:
            begin += rows[row].tasks
            row += 1
        yield rows[row], number - begin


def _drawn(
    wanted: Sequence[tuple[TaskGroup, int]], tasks: QuerySet[Task], responses: QuerySet[Response], study: Study
) -> list[Task]:
    """Return the sampled tasks, stored or unsaved, in the plan's order, without deleted ones."""
    places = {some.place[1] for some, _ in wanted}
    stored = _by_instruction(tasks.filter(response_a__instruction__in=places), "response_a__instruction_id")
    ordered = responses.filter(instruction__in=places).order_by("model__name", "sample", "pk")
    unmade = _by_instruction(ordered, "instruction_id")
    pks = [
        (some.rubric, own[number])
        for some, number in wanted
        if number < len(own := (stored if some.rubric is None else unmade).get(some.place[1], []))
    ]
    made = Task.objects.select_related(*WITH_TEXTS).in_bulk([pk for rubric, pk in pks if rubric is None])
    texts = Response.objects.select_related("instruction", "model__endpoint").in_bulk(
        [pk for rubric, pk in pks if rubric is not None]
    )
    return [
        made[pk]
        if rubric is None
        else Task(study=study, kind=Task.Kind.SINGLE, response_a=texts[pk], answer_rubric_id=rubric)
        for rubric, pk in pks
        if pk in (made if rubric is None else texts)
    ]


def _by_instruction(rows: "QuerySet[Task] | QuerySet[Response]", instruction: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for pk, place in rows.values_list("pk", instruction):
        found.setdefault(place, []).append(pk)
    return found

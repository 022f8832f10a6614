"""The questions of a run, counted from rows; for a benchmark, including the tasks that its responses would become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import Count, QuerySet

from accounts.models import Workspace
from annotation.models import Study, Task
from generation.models import MAIN_EXPERIMENT, Benchmark, Response
from judging.methods.registry import METHODS
from judging.models import Judge
from judging.runs.planning.plan import check_rubrics, first_of, open_tasks
from judging.runs.planning.requirements import Lack, check_requirements
from judging.studies.benchmarks import (
    NearestRubrics,
    nothing_of,
    rated_of,
    rated_responses,
    responses_without_task,
    slug_of_benchmark,
    study_of_benchmark,
)

DRAWN = 24
WITH_TEXTS = ("response_a__instruction", "response_a__model__endpoint", "response_b__model__endpoint")


@dataclass(frozen=True)
class Target:
    """The target of a run: a study's tasks, or all responses of a benchmark in one of its experiments."""

    workspace: Workspace
    study: Study | None = None
    benchmark: Benchmark | None = None
    experiment: str = MAIN_EXPERIMENT

    def to_judge(self) -> Study:
        """Return the study; for a benchmark its own study, created if necessary. Raises NothingToJudge."""
        if self.study is not None:
            return self.study
        assert self.benchmark is not None
        return study_of_benchmark(self.benchmark, self.experiment)

    @property
    def stored(self) -> Study | None:
        """Return the existing study, if any."""
        if self.study is not None or self.benchmark is None:
            return self.study
        slug = slug_of_benchmark(self.benchmark, self.experiment)
        return Study.objects.filter(workspace=self.workspace, slug=slug).first()

    def without_task(self) -> QuerySet[Response]:
        """Return the benchmark's responses without tasks; none for a study."""
        if self.benchmark is None:
            return Response.objects.none()
        return responses_without_task(self.benchmark, self.experiment, self.stored)

    @property
    def unmade(self) -> int:
        """Return the number of a benchmark's responses with a text and a rubric but without a task."""
        if self.benchmark is None:
            return 0
        return sum(some.tasks for some in _unmade(self.benchmark, self.without_task()))

    @property
    def empty(self) -> bool:
        """The benchmark has no response with both a text and a rubric."""
        if self.benchmark is None or ((study := self.stored) is not None and study.tasks.exists()):
            return False
        return next(_unmade(self.benchmark, self.without_task()), None) is None

    @property
    def rated(self) -> bool:
        """Whether people have rated anything of the target."""
        if self.benchmark is not None:
            return rated_responses(self.benchmark).exists()
        return self.study is not None and rated_of(self.study.tasks.all(), self.study).exists()

    @property
    def kinds(self) -> set[str]:
        if self.study is None:
            return {Task.Kind.SINGLE}
        return set(self.study.tasks.order_by().values_list("kind", flat=True).distinct())


@dataclass(frozen=True)
class Prospect:
    """The number of `tasks` in the plan and a sample of them, spread evenly; these may be unsaved.

    `study` is the stored one, or an unsaved one of the benchmark; `lacks` is what some tasks lack for the method.
    """

    tasks: int
    drawn: list[Task]
    study: Study
    lacks: list[Lack]


@dataclass(frozen=True)
class _Some:
    """The number of an instruction's open tasks or, with a rubric, of its responses that would become tasks."""

    place: tuple[str, int]
    tasks: int
    rubric: int | None = None


def prospect(
    leader: Judge, jurors: Sequence[Judge], target: Target, *, limit: int | None, only_rated: bool, seed: int = 0
) -> Prospect:
    """Return what plan_run would plan for the target, or nothing if nothing is left. Otherwise raises what planning
    raises.
    """
    study = target.stored
    shown = study or Study(workspace=target.workspace, benchmark=target.benchmark, kind=Study.Kind.CHECKLIST)
    responses, unmade = target.without_task(), []
    if target.benchmark is not None:
        unmade = list(_unmade(target.benchmark, responses))
        if not unmade and (study is None or not study.tasks.exists()):
            raise nothing_of(target.benchmark)
        if only_rated:
            responses = responses.filter(pk__in=rated_responses(target.benchmark))
            unmade = list(_unmade(target.benchmark, responses))
    if METHODS[leader.method].task_kind != Task.Kind.SINGLE:
        unmade = []
    tasks = Task.objects.none() if study is None else open_tasks(leader, study, only_rated=only_rated)
    rubrics = set(tasks.order_by().values_list("answer_rubric_id", flat=True).distinct())
    check_rubrics(sorted(rubrics | {one.rubric for one in unmade if one.rubric}), jurors, shown)
    rows = sorted([*_stored(tasks), *unmade], key=lambda one: one.place)
    total = sum(one.tasks for one in rows)
    count = total if limit is None else min(limit, total)
    lacks = []
    if total:
        made = min(count, sum(one.tasks for one in rows if one.rubric is None))
        given = {one.rubric for one in unmade if one.rubric}
        lacks = check_requirements(
            jurors, shown, first_of(tasks, made), unmade=responses if given else None, rubrics=given, seed=seed
        )
    return Prospect(count, _drawn(list(_spread(rows, count)), tasks, responses, shown), shown, lacks)


def _stored(tasks: QuerySet[Task]) -> Iterator[_Some]:
    instruction = "response_a__instruction"
    found = tasks.order_by().values_list(f"{instruction}__external_id", f"{instruction}_id")
    for name, pk, n in found.annotate(n=Count("pk")):
        yield _Some((name, pk), n)


def _unmade(benchmark: Benchmark, responses: QuerySet[Response]) -> Iterator[_Some]:
    rubrics = NearestRubrics(benchmark)
    rows = responses.order_by().values_list("instruction__external_id", "instruction_id", "instruction__category_id")
    for name, pk, category, n in rows.annotate(n=Count("pk")):
        rubric = rubrics.of(pk, category)
        if rubric is not None:
            yield _Some((name, pk), n, rubric.pk)


def _spread(rows: Sequence[_Some], count: int) -> Iterator[tuple[_Some, int]]:
    """Return evenly spaced positions of the first `count` tasks: their source, and their number in it."""
    row, begin = 0, 0
    for number in islice(range(0, count, max(1, count // DRAWN)), DRAWN):
        while begin + rows[row].tasks <= number:
            begin += rows[row].tasks
            row += 1
        yield rows[row], number - begin


def _drawn(
    wanted: Sequence[tuple[_Some, int]], tasks: QuerySet[Task], responses: QuerySet[Response], study: Study
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

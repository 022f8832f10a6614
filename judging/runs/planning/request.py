"""The request for a judge run, which the form, the command, the cost preview and the plan all read."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Count, QuerySet

from accounts.models import User, Workspace
from annotation.models import Study, Task
from generation.llm.protocol.prices import UNLIMITED, Ceiling
from generation.models import MAIN_EXPERIMENT, Benchmark, Response
from judging.methods.combining import How
from judging.methods.registry import METHODS
from judging.models import Judge
from judging.runs.panels import panel_of
from judging.runs.queue import ATTEMPTS
from judging.studies.benchmarks import (
    NearestRubrics,
    rated_of,
    rated_responses,
    responses_without_task,
    slug_of_benchmark,
    study_of_benchmark,
)


class BadRequest(ValueError):
    """A number of the request is too small; `field` names it, and the message begins with this name."""

    def __init__(self, field: str, value: int) -> None:
        super().__init__(f"{field} {value} is too small; give at least 1.")
        self.field = field


@dataclass(frozen=True)
class TaskGroup:
    """The number of tasks about an instruction: open ones or, with a `rubric`, those that its responses would become.

    `place` is the instruction's name and primary key, by which a plan is ordered.
    """

    place: tuple[str, int]
    tasks: int
    rubric: int | None = None


@dataclass(frozen=True)
class Target:
    """What a run judges: a study's tasks, or all responses of a benchmark in one of its experiments."""

    study: Study | None = None
    benchmark: Benchmark | None = None
    experiment: str = MAIN_EXPERIMENT

    @property
    def workspace(self) -> Workspace:
        owner = self.study or self.benchmark
        assert owner is not None
        return owner.workspace

    def to_judge(self) -> Study:
        """Return the study; for a benchmark its own study, created if necessary. Raises NothingToJudge."""
        if self.study is not None:
            return self.study
        assert self.benchmark is not None
        return study_of_benchmark(self.benchmark, self.experiment)

    @property
    def stored(self) -> Study | None:
        """The existing study, if any."""
        if self.study is not None or self.benchmark is None:
            return self.study
        slug = slug_of_benchmark(self.benchmark, self.experiment)
        return Study.objects.filter(workspace=self.workspace, slug=slug).first()

    def without_task(self) -> QuerySet[Response]:
        """Return the benchmark's responses without tasks; none for a study."""
        if self.benchmark is None:
            return Response.objects.none()
        return responses_without_task(self.benchmark, self.experiment, self.stored)

    def new_tasks(self, responses: QuerySet[Response]) -> Iterator[TaskGroup]:
        """Yield, by instruction, those of a benchmark's responses without tasks that have a rubric."""
        if self.benchmark is None:
            return
        rubrics = NearestRubrics(self.benchmark)
        rows = responses.order_by().values_list(
            "instruction__external_id", "instruction_id", "instruction__category_id"
        )
        for name, pk, category, n in rows.annotate(n=Count("pk")):
            rubric = rubrics.of(pk, category)
            if rubric is not None:
                yield TaskGroup((name, pk), n, rubric.pk)

    @property
    def empty(self) -> bool:
        """Whether this is a benchmark without any response that has both a text and a rubric."""
        if self.benchmark is None or ((study := self.stored) is not None and study.tasks.exists()):
            return False
        return next(self.new_tasks(self.without_task()), None) is None

    @property
    def rated(self) -> bool:
        """Whether people have rated anything of the target."""
        if self.benchmark is not None:
            return rated_responses(self.benchmark).exists()
        return self.study is not None and rated_of(self.study.tasks.all(), self.study).exists()

    @property
    def kinds(self) -> set[str]:
        """The kinds of the tasks to judge; all tasks of a benchmark are about single responses."""
        if self.study is None:
            return {Task.Kind.SINGLE}
        return set(self.study.tasks.order_by().values_list("kind", flat=True).distinct())


@dataclass(frozen=True)
class DrawnTasks:
    """Tasks of a study, by pk, that were drawn to be judged; `drawn_as` says how and is stored in the run's manifest."""

    pks: tuple[int, ...]
    drawn_as: Mapping[str, object]


@dataclass(frozen=True)
class RunRequest:
    """What a run shall ask, how often, and within which budget. Raises BadRequest if a number is below 1.

    Several `judges` form a panel, as does one that is asked in `both_orders` of a pair or with `repeats`; `combine`
    says how their verdicts are combined. `limit` is the maximum number of tasks, `only_rated` takes only tasks that
    people have rated, and `reuse` answers repeated questions from stored replies. `canaries` adds texts that deserve
    the lowest score. `drawn` are the only tasks to ask about, but for those that the judge has judged. `concurrency` is
    the number of calls at once, by default that of the endpoint. With `probe`, the first questions of a large run are
    asked alone.
    """

    target: Target
    judges: tuple[Judge, ...]
    both_orders: bool = False
    repeats: int = 1
    combine: How = How.MEDIAN
    canaries: bool = False
    probe: bool = True
    limit: int | None = None
    only_rated: bool = False
    drawn: DrawnTasks | None = None
    reuse: bool = True
    seed: int = 0
    budget: Ceiling = UNLIMITED
    concurrency: int | None = None
    user: User | None = None

    def __post_init__(self) -> None:
        for field in ("limit", "repeats"):
            value = getattr(self, field)
            if value is not None and value < 1:
                raise BadRequest(field, value)

    @cached_property
    def leader(self) -> Judge:
        """The judge itself, or the panel of the judges, orders and repeats, created if necessary.

        Raises PanelRefused.
        """
        if len(self.judges) == 1 and self.orders == 1 and self.repeats == 1:
            return self.judges[0]
        return panel_of(self.judges, self.orders == 2, self.repeats, self.combine)

    @property
    def only(self) -> Collection[int] | None:
        """The pks of the only tasks to ask about, None where it may be any."""
        return self.drawn.pks if self.drawn else None

    @property
    def pairs(self) -> bool:
        """Whether the judges compare two responses."""
        return METHODS[self.judges[0].method].task_kind == Task.Kind.PAIR

    @property
    def orders(self) -> int:
        """The number of orders in which each task is shown: 2 for a pair in both orders, otherwise 1."""
        return 2 if self.both_orders and self.pairs else 1

    @property
    def items_per_task(self) -> int:
        return len(self.judges) * self.repeats * self.orders

    def settings(self) -> dict[str, object]:
        """Return the request as stored in the run's manifest; budget, seed and user are columns of the run."""
        return {
            "attempts": ATTEMPTS,
            "limit": self.limit,
            "concurrency": self.concurrency,
            "reuse": self.reuse,
            "only_rated": self.only_rated,
            "jurors": [judge.pk for judge in self.judges],
            "both_orders": self.orders == 2,
            "repeats": self.repeats,
            "combine": str(self.combine) if self.leader != self.judges[0] else "",
            "canaries": self.canaries,
            "probe": self.probe,
            **({"drawn": dict(self.drawn.drawn_as)} if self.drawn else {}),
        }

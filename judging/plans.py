"""What a run will ask, frozen before the first call: tasks in an order that keeps shared prefixes together."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from annotation.models import Assignment, Rubric, Study, Task
from generation.inserting import Inserting
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun, Response
from generation.spending import UNLIMITED, Ceiling
from judging.combining import How
from judging.methods import method_named
from judging.methods.needs import NEEDS, Transport
from judging.methods.pairs import preference
from judging.methods.scales import only_item
from judging.models import Judge, JudgeRun, PlannedItem
from judging.panels import panel_of
from judging.planting import plant, takes_canaries
from judging.questions import Questions
from judging.worklist import ATTEMPTS

BATCH = 2_000
NEW_ITEMS = Inserting(PlannedItem, "task", "shown_first", "repeat", "juror", "position", "canary")


class NothingToJudge(LookupError):
    """No task of the study is left for this judge, or none is of a kind that its method can judge."""


def study_of_benchmark(benchmark: Benchmark, experiment: str = MAIN_EXPERIMENT) -> Study:
    """The study of all texts of a benchmark's experiment, for judges; responses that came since are added.

    Raises NothingToJudge where there is no text or no rubric.
    """
    slug = f"{benchmark.slug}-judged" + ("" if experiment == MAIN_EXPERIMENT else f"-{experiment}")
    with transaction.atomic():
        study, _made = Study.objects.get_or_create(
            workspace=benchmark.workspace,
            slug=slug,
            defaults={
                "benchmark": benchmark,
                "experiment": experiment,
                "kind": Study.Kind.CHECKLIST,
                "status": Study.Status.CLOSED,
                "names": {"en": f"{benchmark.name}: all responses", "zh-hans": f"{benchmark.name}：全部回答"},
            },
        )
        responses = _responses_of(benchmark, experiment).exclude(tasks_as_a__study=study)
        rubrics = _Rubrics(benchmark)
        tasks = (
            Task(
                study=study,
                kind=Task.Kind.SINGLE,
                key=f"r:{response.pk}",
                response_a=response,
                answer_rubric=rubric,
            )
            for response in responses.select_related("instruction__category__parent").iterator(BATCH)
            if (rubric := rubrics.nearest_to(response)) is not None
        )
        Task.objects.bulk_create(tasks, batch_size=BATCH, ignore_conflicts=True)
        if not study.tasks.exists():
            raise NothingToJudge(
                f"Benchmark {benchmark.slug} has no response with a text and a rubric; load its responses and "
                "its rubrics first."
            )
    return study


def _responses_of(benchmark: Benchmark, experiment: str) -> QuerySet[Response]:
    responses = Response.objects.filter(
        instruction__benchmark=benchmark, kind=Response.Kind.RESPONSE, text__isnull=False
    ).order_by("instruction", "model", "sample", "pk")
    if experiment == MAIN_EXPERIMENT:
        others = GenerationRun.objects.filter(benchmark=benchmark).exclude(experiment=MAIN_EXPERIMENT)
        return responses.exclude(run__in=others)
    return responses.filter(run__experiment=experiment)


class _Rubrics:
    """The nearest rubric of each response, looked up once for a category."""

    def __init__(self, benchmark: Benchmark) -> None:
        own = Rubric.objects.filter(instruction__benchmark=benchmark, study=None)
        self._own = set(own.values_list("instruction_id", flat=True))
        self._known: dict[tuple[str, int | None], Rubric | None] = {}

    def nearest_to(self, response: Response) -> Rubric | None:
        instruction = response.instruction
        place = (
            ("instruction", instruction.pk)
            if instruction.pk in self._own
            else ("category", instruction.category_id)
        )
        if place not in self._known:
            self._known[place] = Rubric.objects.nearest_to(instruction)
        return self._known[place]


@dataclass(frozen=True)
class Asking:
    """How each task is asked: of several judges, in both orders of a pair, several times; and what that comes to.

    `jurors` beside the run's own judge make a jury. With `canaries`, texts that deserve nothing are planted.
    """

    jurors: tuple[Judge, ...] = ()
    both_orders: bool = False
    repeats: int = 1
    combine: How = How.MEDIAN
    canaries: bool = False


PLAINLY = Asking()


def plan_run(
    *,
    judge: Judge,
    study: Study,
    limit: int | None = None,
    budget: Ceiling = UNLIMITED,
    seed: int = 0,
    concurrency: int | None = None,
    reuse: bool = True,
    user: User | None = None,
    asking: Asking = PLAINLY,
    only_rated: bool = False,
) -> JudgeRun:
    """A run over the study's tasks that this judge has not answered, at most `limit` of them.

    Tasks of one instruction stand together, so that a server's prefix cache serves them. With `reuse`, a question
    that was answered before is answered from the stored reply. `only_rated` takes tasks that people have answered.
    Raises NothingToJudge, MixedScales, WrongScale, BadTemplate, PanelRefused.
    """
    jurors = (judge, *asking.jurors)
    both_orders = _both_orders(judge, asking)
    leader = leader_of(judge, asking)
    combined = leader != judge
    tasks = open_tasks(leader, study, only_rated=only_rated)
    for juror in jurors:
        check_rubrics(tasks, juror, study)
    pks = list(tasks.values_list("pk", flat=True)[:limit])
    if not pks:
        raise NothingToJudge(_why_nothing(leader, study, only_rated))
    settings = {
        "attempts": ATTEMPTS,
        "limit": limit,
        "concurrency": concurrency,
        "reuse": reuse,
        "only_rated": only_rated,
        "jurors": [juror.pk for juror in jurors],
        "both_orders": both_orders,
        "repeats": asking.repeats,
        "combine": str(asking.combine) if combined else "",
    }
    with transaction.atomic():
        run = JudgeRun.objects.create(
            judge=leader,
            study=study,
            budget_calls=budget.calls,
            budget_tokens=budget.tokens,
            budget_money=budget.money,
            seed=seed,
            created_by=user,
            manifest={"settings": settings},
        )
        planted = plant(run, pks, jurors, seed) if asking.canaries and takes_canaries(judge) else []
        _store(run, chain(planted, _items(run, pks, jurors, both_orders, asking.repeats, seed)))
    return run


def leader_of(judge: Judge, asking: Asking) -> Judge:
    """The judge itself, or the panel that its jurors, orders and repeats make. Raises PanelRefused."""
    jurors, both_orders = (judge, *asking.jurors), _both_orders(judge, asking)
    if len(jurors) == 1 and not both_orders and asking.repeats == 1:
        return judge
    return panel_of(jurors, both_orders, asking.repeats, asking.combine)


def _both_orders(judge: Judge, asking: Asking) -> bool:
    return asking.both_orders and NEEDS[judge.method].task_kind == Task.Kind.PAIR


def _store(run: JudgeRun, items: Iterator[PlannedItem]) -> None:
    """In their order, some thousand at a time: a run may have a hundred thousand and more."""
    places = count()
    while part := list(islice(items, BATCH)):
        NEW_ITEMS.insert(
            ((one.task_id, one.shown_first, one.repeat, one.juror, next(places), one.canary) for one in part),
            run=run.pk,
            attempts_before=0,
            status=PlannedItem.Status.WAITING,
            reason="",
            leased_by="",
        )


def _items(
    run: JudgeRun, pks: Sequence[int], jurors: Sequence[Judge], both_orders: bool, repeats: int, seed: int
) -> Iterator[PlannedItem]:
    """Each task's questions together. Who of a pair is shown first is drawn, or stays as it was answered before."""
    pair = NEEDS[jurors[0].method].task_kind == Task.Kind.PAIR
    draws = random.Random(f"{seed} order")
    shown = _shown_before(run.study, jurors) if both_orders else {}
    for pk in pks:
        drawn = draws.choice("ab") if pair else "a"
        for number, juror in enumerate(jurors):
            first = shown.get((juror.rater_id, pk), drawn)
            for repeat in range(repeats):
                if both_orders:
                    for turn, side in enumerate((first, "b" if first == "a" else "a")):
                        yield PlannedItem(
                            run=run, task_id=pk, shown_first=side, repeat=2 * repeat + turn, juror=number
                        )
                else:
                    yield PlannedItem(run=run, task_id=pk, shown_first=first, repeat=repeat, juror=number)


def _shown_before(study: Study, jurors: Sequence[Judge]) -> dict[tuple[int, int], str]:
    """By rater and task, what the first answer that is stored already showed first."""
    rows = Assignment.objects.filter(
        task__study=study,
        repeat=0,
        rater__in=[juror.rater_id for juror in jurors],
        status=Assignment.Status.SUBMITTED,
    ).values_list("rater_id", "task_id", "shown_first")
    return {(rater, task): side for rater, task, side in rows if side}


def open_tasks(judge: Judge, study: Study, *, only_rated: bool = False) -> QuerySet[Task]:
    """What the judge could answer and has not, with an instruction's tasks together."""
    answered = Assignment.objects.filter(
        rater=judge.rater,
        task__study=study,
        repeat=0,
        status__in=[Assignment.Status.SUBMITTED, Assignment.Status.DERIVED],
    )
    tasks = Task.objects.filter(study=study, kind=NEEDS[judge.method].task_kind, gold__isnull=True)
    if only_rated:
        rated = Assignment.objects.filter(task__study=study).answered().of_people()
        tasks = tasks.filter(pk__in=rated.values("task_id"))
    return tasks.exclude(pk__in=answered.values("task_id")).order_by(
        "response_a__instruction__external_id",
        "response_a__instruction_id",
        "response_a__model__name",
        "response_a__sample",
        "pk",
    )


def check_rubrics(tasks: QuerySet[Task], judge: Judge, study: Study) -> None:
    """Raises before anything is planned what would fail on every call: no items, mixed scales, a broken prompt."""
    questions = Questions(judge.method, study)
    for pk in tasks.order_by().values_list("answer_rubric_id", flat=True).distinct():
        items = questions.items(pk)
        if not items:
            raise NothingToJudge(
                f"Rubric {questions.rubric(pk).key} has no criterion of role {questions.needs.role} for a "
                f"{judge.method} judge to answer."
            )
        if questions.needs.transport == Transport.CHAT:
            method_named(judge.method).messages(judge.prompt, questions.placeholder(pk), with_schema=False)
        else:
            preference(only_item(items), 1, "")


def _why_nothing(judge: Judge, study: Study, only_rated: bool) -> str:
    kind = NEEDS[judge.method].task_kind
    if not study.tasks.filter(kind=kind).exists():
        return (
            f"Study {study.slug} has no tasks of kind {kind}, which is what the {judge.method} method judges."
        )
    if only_rated and not Assignment.objects.filter(task__study=study).answered().of_people().exists():
        return (
            f"People have answered no task of study {study.slug} yet; judge all of them without --only-rated."
        )
    return f"{judge} has answered every task of study {study.slug} already."

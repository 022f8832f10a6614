"""The plan of a run, fixed before the first call: tasks in an order that keeps shared prefixes together."""

import random
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from itertools import count, islice

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Assignment, Study, Task
from core.clock import Clock
from core.db.bulk_insert import Inserting
from core.db.many_ids import with_ids
from generation.execution.budget import ceiling_of
from judging.judges.questions import Questions
from judging.methods.pairs.base import preference
from judging.methods.registry import METHODS, chat_method
from judging.methods.scales import only_item
from judging.methods.spec import Transport
from judging.models import Judge, JudgeRun, PlannedItem
from judging.runs.planning.canary_placement import plant, takes_canaries
from judging.runs.planning.request import RunRequest
from judging.runs.planning.requirements import check_requirements, lacking
from judging.runs.shown_orders import numbered, shown_before
from judging.studies.benchmarks import NothingToJudge as NothingToJudge, rated_of

A_MINUTE = timedelta(minutes=1)
BATCH = 2_000
NEW_ITEMS = Inserting(PlannedItem, "task", "shown_first", "repeat", "juror", "position", "canary")


def plan_at_once(request: RunRequest) -> JudgeRun:
    """Plan a run with all its items over the tasks that its judge has not judged.

    Raises NothingToJudge, MixedScales, WrongScale, BadTemplate, PanelRefused, MethodLacks.
    """
    study, leader = request.target.to_judge(), request.leader
    pks = decide(
        leader,
        request.judges,
        study,
        limit=request.limit,
        only_rated=request.only_rated,
        only=request.only,
        seed=request.seed,
    )
    with transaction.atomic():
        run = new_run(request, study)
        plant_canaries(run, request.judges, pks)
        layout = Layout(run, request.judges, pks)
        while layout.lay_out():
            continue
    return run


def decide(
    leader: Judge,
    jurors: Sequence[Judge],
    study: Study,
    *,
    limit: int | None,
    only_rated: bool,
    only: Collection[int] | None = None,
    newest_response: int | None = None,
    seed: int = 0,
) -> list[int]:
    """Return the pks of the run's tasks in its order: `only` of these, and only about responses up to the newest one's pk.

    Tasks of one instruction are next to each other, for a server's prefix cache. Raises as plan_at_once.
    """
    tasks = open_tasks(leader, study, only_rated=only_rated, only=only)
    if newest_response is not None:
        tasks = tasks.filter(response_a__lte=newest_response)
    rubrics = tasks.order_by().values_list("answer_rubric_id", flat=True).distinct()
    check_rubrics(list(rubrics), jurors, study)
    pks = list(tasks.values_list("pk", flat=True)[:limit])
    if not pks:
        raise NothingToJudge(_why_nothing(leader, study, only_rated))
    check_requirements(jurors, study, first_of(tasks, limit), seed=seed)
    return pks


def first_of(tasks: QuerySet[Task], limit: int | None) -> QuerySet[Task]:
    """Return the first tasks up to the limit, as a query that can be narrowed further."""
    return tasks if limit is None else Task.objects.filter(pk__in=tasks.values("pk")[:limit])


def new_run(request: RunRequest, study: Study) -> JudgeRun:
    """Create the row of the run, without items."""
    return JudgeRun.objects.create(
        judge=request.leader,
        study=study,
        budget_calls=request.budget.calls,
        budget_tokens=request.budget.tokens,
        budget_money=request.budget.money,
        seed=request.seed,
        created_by=request.user,
        manifest={"settings": request.settings()},
    )


def sent_just_now(request: RunRequest, *, clock: Clock) -> JudgeRun | None:
    """Return the same run if the same person requested it within the last minute, because the form was sent twice.

    Two such runs at once would ask, and pay for, everything twice. Raises PanelRefused.
    """
    lately = JudgeRun.objects.filter(
        judge=request.leader,
        study=request.target.stored,
        created_by=request.user,
        seed=request.seed,
        created_at__gte=clock() - A_MINUTE,
    ).exclude(status__in=[JudgeRun.Status.CANCELLED, JudgeRun.Status.FAILED])
    settings = request.settings()
    same = (run for run in lately if run.manifest["settings"] == settings and ceiling_of(run) == request.budget)
    return next(same, None)


def plant_canaries(run: JudgeRun, jurors: Sequence[Judge], pks: Sequence[int]) -> None:
    """Create the run's first items if it wants canary texts: about these, next to some of the tasks."""
    if not (run.manifest["settings"]["canaries"] and any(map(takes_canaries, jurors))):
        return
    hosts = set(pks)
    for juror in jurors:
        # A canary text is placed next to a task that can be asked about; otherwise it could not be judged.
        without = lacking(juror, run.study, Task.objects.filter(study=run.study, gold__isnull=True))
        hosts -= set(without.values_list("pk", flat=True))
    planted = plant(run, [pk for pk in pks if pk in hosts], jurors, run.seed)
    _store(run, [(one.task_id, one.shown_first, one.repeat, one.juror, one.canary) for one in planted], 0)


Item = tuple[int, str, int, int, str]
"""An item's task, the response shown first, the repeat, the judge of the panel, and the canary text."""


class Layout:
    """Yield the items of a run about the tasks `pks`, for `at_once` tasks at a time, from task number `begin` on.

    Deleted tasks are left out.
    """

    def __init__(self, run: JudgeRun, jurors: Sequence[Judge], pks: Sequence[int], begin: int = 0) -> None:
        self._run, self._jurors = run, jurors
        settings = run.manifest["settings"]
        self._both_orders, self._repeats = settings["both_orders"], settings["repeats"]
        self._items = self._by_task(pks)
        for _known in islice(self._items, begin):
            continue
        each = len(jurors) * self._repeats * (2 if self._both_orders else 1)
        self.at_once = max(1, BATCH // each)
        self._place = run.items.count()

    def lay_out(self) -> int:
        """Store the items of the next tasks; return the number of tasks."""
        found = dict(islice(self._items, self.at_once))
        there = set(with_ids(Task.objects.all(), found).values_list("pk", flat=True))
        items = [item for pk, of_task in found.items() if pk in there for item in of_task]
        _store(self._run, items, self._place)
        self._place += len(items)
        return len(found)

    def _by_task(self, pks: Sequence[int]) -> Iterator[tuple[int, list[Item]]]:
        """Yield each task with its items. The response shown first is drawn, or the same as in earlier answers."""
        pair = METHODS[self._jurors[0].method].task_kind == Task.Kind.PAIR
        draws = random.Random(f"{self._run.seed} order")
        several = self._both_orders or self._repeats > 1 or len(self._jurors) > 1
        shown = shown_before(self._run.study, self._jurors) if several else {}
        for pk in pks:
            drawn = draws.choice("ab") if pair else "a"
            found: list[Item] = []
            for number, juror in enumerate(self._jurors):
                known = shown.get((juror.rater_id, pk), {})
                first = known.get(0, drawn)
                sides = (first, "b" if first == "a" else "a") if self._both_orders else (first,)
                for side, repeat in numbered(sides * self._repeats, known):
                    found.append((pk, side, repeat, number, ""))
            yield pk, found


def _store(run: JudgeRun, items: Sequence[Item], place: int) -> None:
    places = count(place)
    NEW_ITEMS.insert(
        ((task, side, repeat, juror, next(places), canary) for task, side, repeat, juror, canary in items),
        run=run.pk,
        attempts_before=0,
        status=PlannedItem.Status.WAITING,
        reason="",
        leased_by="",
    )


def open_tasks(
    judge: Judge, study: Study, *, only_rated: bool = False, only: Collection[int] | None = None
) -> QuerySet[Task]:
    """Return what the judge could judge and has not, with the tasks of an instruction together. `only_rated` as in
    rated_of; `only` are the pks of the tasks that may be asked about, None for any.
    """
    answered = Assignment.objects.filter(
        rater=judge.rater,
        task__study=study,
        repeat=0,
        status__in=[Assignment.Status.SUBMITTED, Assignment.Status.DERIVED],
    )
    tasks = Task.objects.filter(study=study, kind=METHODS[judge.method].task_kind, gold__isnull=True)
    if only_rated:
        tasks = rated_of(tasks, study)
    if only is not None:
        tasks = tasks.filter(pk__in=only)
    return tasks.exclude(pk__in=answered.values("task_id")).order_by(
        "response_a__instruction__external_id",
        "response_a__instruction_id",
        "response_a__model__name",
        "response_a__sample",
        "pk",
    )


def check_rubrics(rubrics: Collection[int], jurors: Sequence[Judge], study: Study) -> None:
    """Raise, before anything is planned, what would fail every call: no items, mixed scales, a broken prompt."""
    for judge in jurors:
        questions = Questions.of(judge, study)
        questions.learn(Task(answer_rubric_id=pk) for pk in rubrics)
        for pk in rubrics:
            items = questions.items(pk)
            if not items:
                raise NothingToJudge(
                    f"Rubric {questions.rubric(pk).key} has no criterion of role {questions.needs.role} for a "
                    f"{judge.method} judge to answer."
                )
            if questions.needs.transport == Transport.CHAT:
                chat_method(judge.method).messages(judge.prompt, questions.placeholder(pk), with_schema=False)
            else:
                preference(only_item(items), 1, "")


def _why_nothing(judge: Judge, study: Study, only_rated: bool) -> str:
    kind = METHODS[judge.method].task_kind
    if not study.tasks.filter(kind=kind).exists():
        return f"Study {study.slug} has no tasks of kind {kind}, which method {judge.method} needs."
    if only_rated and not rated_of(study.tasks.filter(kind=kind), study).exists():
        return f"People have not rated anything in study {study.slug} yet; leave out --only-rated to judge everything."
    return f"{judge} has already judged every task of study {study.slug}."

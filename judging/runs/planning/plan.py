"""The plan of a run, fixed before the first call: tasks in an order that keeps shared prefixes together."""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from annotation.models import Assignment, Study, Task
from core.clock import Clock
from core.db.bulk_insert import Inserting
from core.db.many_ids import with_ids
from generation.execution.reservations import ceiling_of
from generation.llm.protocol.prices import UNLIMITED, Ceiling
from judging.judges.questions import Questions
from judging.methods.combining import How
from judging.methods.pairs.base import preference
from judging.methods.registry import METHODS, chat_method
from judging.methods.scales import only_item
from judging.methods.spec import Transport
from judging.models import Judge, JudgeRun, PlannedItem
from judging.runs.panels import panel_of
from judging.runs.planning.canary_placement import plant, takes_canaries
from judging.runs.planning.requirements import check_requirements, lacking
from judging.runs.queue import ATTEMPTS
from judging.runs.shown_orders import numbered, shown_before
from judging.studies.benchmarks import (
    NothingToJudge as NothingToJudge,
    rated_of,
    study_of_benchmark as study_of_benchmark,
)

A_MINUTE = timedelta(minutes=1)
BATCH = 2_000
NEW_ITEMS = Inserting(PlannedItem, "task", "shown_first", "repeat", "juror", "position", "canary")


@dataclass(frozen=True)
class Asking:
    """How each task is asked: by several judges, in both orders of a pair, several times; and how verdicts are
    combined.

    `jurors` form a panel with the run's own judge. With `canaries`, canary texts are added.
    """

    jurors: tuple[Judge, ...] = ()
    both_orders: bool = False
    repeats: int = 1
    combine: How = How.MEDIAN
    canaries: bool = False


PLAINLY = Asking()


@dataclass(frozen=True)
class Wish:
    """A requested run: its tasks, at most `limit` of them, how they are asked, and its budget.

    With `reuse`, stored replies answer repeated questions. `only_rated` takes only tasks that people have rated.
    """

    limit: int | None = None
    budget: Ceiling = UNLIMITED
    seed: int = 0
    concurrency: int | None = None
    reuse: bool = True
    user: User | None = None
    asking: Asking = PLAINLY
    only_rated: bool = False


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
    """Plan a run over the study's tasks that this judge has not judged, with all its items.

    Raises NothingToJudge, MixedScales, WrongScale, BadTemplate, PanelRefused, MethodLacks.
    """
    wish = Wish(limit, budget, seed, concurrency, reuse, user, asking, only_rated)
    return plan_wish(judge, study, wish)


def plan_wish(judge: Judge, study: Study, wish: Wish) -> JudgeRun:
    """Plan the run inside a transaction; raises as plan_run."""
    jurors = (judge, *wish.asking.jurors)
    leader = leader_of(judge, wish.asking)
    pks = decide(leader, jurors, study, limit=wish.limit, only_rated=wish.only_rated, seed=wish.seed)
    with transaction.atomic():
        run = new_run(judge, leader, study, wish)
        plant_canaries(run, jurors, pks)
        layout = Layout(run, jurors, pks)
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
    newest_response: int | None = None,
    seed: int = 0,
) -> list[int]:
    """Return the pks of the run's tasks in its order; only about responses up to the newest one's pk.

    Tasks of one instruction are next to each other, for a server's prefix cache. Raises as plan_run.
    """
    tasks = open_tasks(leader, study, only_rated=only_rated)
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


def new_run(judge: Judge, leader: Judge, study: Study, wish: Wish) -> JudgeRun:
    """Create the row of the run, without items."""
    return JudgeRun.objects.create(
        judge=leader,
        study=study,
        budget_calls=wish.budget.calls,
        budget_tokens=wish.budget.tokens,
        budget_money=wish.budget.money,
        seed=wish.seed,
        created_by=wish.user,
        manifest={"settings": _settings_of(judge, leader, wish)},
    )


def _settings_of(judge: Judge, leader: Judge, wish: Wish) -> dict[str, Any]:
    return {
        "attempts": ATTEMPTS,
        "limit": wish.limit,
        "concurrency": wish.concurrency,
        "reuse": wish.reuse,
        "only_rated": wish.only_rated,
        "jurors": [juror.pk for juror in (judge, *wish.asking.jurors)],
        "both_orders": _both_orders(judge, wish.asking),
        "repeats": wish.asking.repeats,
        "combine": str(wish.asking.combine) if leader != judge else "",
        "canaries": wish.asking.canaries,
    }


def sent_just_now(judge: Judge, study: Study, wish: Wish, *, clock: Clock) -> JudgeRun | None:
    """Return the same run if the same person requested it within the last minute, because the form was sent twice.

    Two such runs at once would ask, and pay for, everything twice. Raises PanelRefused.
    """
    leader = leader_of(judge, wish.asking)
    lately = JudgeRun.objects.filter(
        judge=leader, study=study, created_by=wish.user, seed=wish.seed, created_at__gte=clock() - A_MINUTE
    ).exclude(status__in=[JudgeRun.Status.CANCELLED, JudgeRun.Status.FAILED])
    settings = _settings_of(judge, leader, wish)
    same = (one for one in lately if one.manifest["settings"] == settings and ceiling_of(one) == wish.budget)
    return next(same, None)


def plant_canaries(run: JudgeRun, jurors: Sequence[Judge], pks: Sequence[int]) -> None:
    """Create the run's first items if it wants canary texts: about these, next to some of the tasks."""
    if not (run.manifest["settings"]["canaries"] and any(map(takes_canaries, jurors))):
        return
    hosts = set(pks)
    for juror in jurors:
        # A planted text is asked about beside a task that can be asked about, else nothing could be said of it.
        without = lacking(juror, run.study, Task.objects.filter(study=run.study, gold__isnull=True))
        hosts -= set(without.values_list("pk", flat=True))
    planted = plant(run, [pk for pk in pks if pk in hosts], jurors, run.seed)
    _store(run, [(one.task_id, one.shown_first, one.repeat, one.juror, one.canary) for one in planted], 0)


def leader_of(judge: Judge, asking: Asking) -> Judge:
    """Return the judge itself, or the panel of its judges, orders and repeats. Raises PanelRefused."""
    jurors, both_orders = (judge, *asking.jurors), _both_orders(judge, asking)
    if len(jurors) == 1 and not both_orders and asking.repeats == 1:
        return judge
    return panel_of(jurors, both_orders, asking.repeats, asking.combine)


def items_each(judge: Judge, asking: Asking) -> int:
    """Return the number of items of a run per task."""
    return (1 + len(asking.jurors)) * asking.repeats * (2 if _both_orders(judge, asking) else 1)


def _both_orders(judge: Judge, asking: Asking) -> bool:
    return asking.both_orders and METHODS[judge.method].task_kind == Task.Kind.PAIR


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


def open_tasks(judge: Judge, study: Study, *, only_rated: bool = False) -> QuerySet[Task]:
    """Return what the judge could judge and has not, with the tasks of an instruction together. `only_rated` as in
    rated_of.
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
        questions = Questions(judge.method, study)
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

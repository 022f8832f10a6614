"""Preparation of a large run by its worker: responses become tasks, the plan is made once, its items are created.

A small run is planned where it is started. All work is done in short transactions that store the progress, so that
other users can write and a worker can be killed at any point.
"""

import time
from contextlib import suppress
from typing import Any

from django.db import transaction
from django.db.models import F, Max

from annotation.models import Study
from core.clock import Clock
from core.messages.message import Wording
from generation.execution.leases import LEASE, new_worker_name
from generation.execution.states import NotPossible, pause_run
from generation.execution.worker import LOOK_SECONDS, WorkerOptions
from judging.methods.prompts import BadTemplate
from judging.methods.registry import METHODS
from judging.methods.scales import WrongScale
from judging.methods.single.checklist import MixedScales
from judging.models import JudgeRun, Preparation
from judging.runs.aggregation import jurors_of
from judging.runs.life_cycle import take_preparation
from judging.runs.manifest import manifest_at_start
from judging.runs.planning.plan import Layout, decide, new_run, plan_at_once, plant_canaries
from judging.runs.planning.preview import prospect
from judging.runs.planning.request import RunRequest, Target
from judging.runs.planning.requirements import MethodLacks, note_lacks
from judging.studies.benchmarks import (
    BATCH,
    NearestRubrics,
    NothingToJudge,
    make_tasks,
    own_study,
    responses_without_task,
    rows_of,
)

AT_ONCE = 5_000
"""Up to this many new tasks and items, a run is planned where it is started: within a second on a busy machine."""
NOTHING_LEFT = Wording("judge.nothing_left", "This run has nothing left to ask. Start another run, or cancel this one.")


def create_run(request: RunRequest) -> JudgeRun:
    """Create the requested run with its items or, if it is large, with its preparation.

    Raises NothingToJudge, MixedScales, WrongScale, BadTemplate, PanelRefused, MethodLacks.
    """
    target, jurors = request.target, request.judges
    with transaction.atomic():
        found = prospect(request)
        unmade = sum(group.tasks for group in target.new_tasks(target.without_task()))
        if unmade + found.tasks * request.items_per_task <= AT_ONCE:
            run = plan_at_once(request)
            note_lacks(run, found.lacks)
            return run
        if not found.tasks:
            raise NothingToJudge(_why_nothing(request))
        run = new_run(request, target.study or _own_study(target))
        note_lacks(run, found.lacks)
        if unmade:
            newest = target.without_task().aggregate(pk=Max("pk"))["pk"]
            Preparation.objects.create(run=run, newest_response=newest, total=unmade + found.tasks)
        else:
            pks = decide(
                run.judge,
                jurors,
                run.study,
                limit=request.limit,
                only_rated=request.only_rated,
                only=request.only,
                seed=request.seed,
            )
            Preparation.objects.create(run=run, tasks=pks, total=len(pks))
            plant_canaries(run, jurors, pks)
    return run


def _own_study(target: Target) -> Study:
    assert target.benchmark is not None
    return own_study(target.benchmark, target.experiment)


def _why_nothing(request: RunRequest) -> str:
    """Say why nothing is left of a benchmark whose responses do not all have tasks yet."""
    target, leader = request.target, request.leader
    assert target.benchmark is not None
    name, kind = f"benchmark {target.benchmark.slug}", METHODS[leader.method].task_kind
    if kind not in target.kinds:
        return (
            f"The study of {name} has no tasks of kind {kind}, which method {leader.method} needs; create a "
            "study with such tasks in the browser and judge that study."
        )
    if request.only_rated and not target.rated:
        return f"People have not rated anything in {name} yet; leave out --only-rated to judge everything."
    return f"{leader} has already judged everything in {name} that people have rated."


def prepare(run: JudgeRun, *, options: WorkerOptions, clock: Clock) -> bool:
    """Create the missing items; return whether the run has all of them.

    False if the run has stopped, the work is interrupted, nothing is left to ask, or another worker prepares the run
    and the options do not say to wait for it.
    """
    if not run.preparing:
        return True
    worker = new_worker_name()
    while not take_preparation(run, worker, clock):
        if not run.preparing:
            return True
        if not options.wait or _interrupted(options) or not _runs(run):
            return False
        time.sleep(LOOK_SECONDS)
    try:
        return _Work(run, worker, options, clock).done()
    finally:
        Preparation.objects.filter(run=run, leased_by=worker).update(leased_until=None, leased_by="")


def _interrupted(options: WorkerOptions) -> bool:
    options.watch()
    return options.interrupted()


def _runs(run: JudgeRun) -> bool:
    return JudgeRun.objects.filter(pk=run.pk, status=JudgeRun.Status.RUNNING).exists()


class _Work:
    """Prepare the run while this worker holds the preparation."""

    def __init__(self, run: JudgeRun, worker: str, options: WorkerOptions, clock: Clock) -> None:
        self._run, self._worker, self._options, self._clock = run, worker, options, clock
        self._jurors = jurors_of(run)

    def done(self) -> bool:
        preparation = Preparation.objects.filter(run=self._run).first()
        if preparation is None:
            # The worker that held it before has finished it.
            return True
        if preparation.tasks is None:
            if not (self._make_tasks(preparation) and self._decide(preparation)):
                return False
            preparation.refresh_from_db()
        if not self._lay_out(preparation):
            return False
        self._complete()
        return True

    def _hold(self, **stored: Any) -> bool:
        """Open a transaction and say whether to continue; nobody else then changes the run before it is committed."""
        locked = JudgeRun.objects.select_for_update(no_key=True).get(pk=self._run.pk)
        own = Preparation.objects.filter(run=self._run, leased_by=self._worker)
        return locked.status == JudgeRun.Status.RUNNING and bool(
            own.update(leased_until=self._clock() + LEASE, **stored)
        )

    def _make_tasks(self, preparation: Preparation) -> bool:
        study, benchmark = self._run.study, self._run.study.benchmark
        assert benchmark is not None
        responses = responses_without_task(benchmark, study.experiment, study)
        rubrics = NearestRubrics(benchmark)
        rows = [
            (response, instruction, category)
            for response, instruction, category in rows_of(responses.filter(pk__lte=preparation.newest_response))
            if rubrics.of(instruction, category) is not None
        ]
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            with transaction.atomic():
                if not self._hold(done=F("done") + len(part)):
                    return False
                make_tasks(study, part, rubrics)
            if _interrupted(self._options):
                return False
        return True

    def _decide(self, preparation: Preparation) -> bool:
        """Make the plan and store it."""
        settings = self._run.manifest["settings"]
        try:
            pks = decide(
                self._run.judge,
                self._jurors,
                self._run.study,
                limit=settings["limit"],
                only_rated=settings["only_rated"],
                newest_response=preparation.newest_response,
                seed=self._run.seed,
            )
        except MethodLacks as error:
            with suppress(NotPossible):
                pause_run(self._run, str(error), clock=self._clock)
            return False
        except (NothingToJudge, MixedScales, WrongScale, BadTemplate):
            with suppress(NotPossible):
                pause_run(self._run, NOTHING_LEFT(), clock=self._clock)
            return False
        with transaction.atomic():
            if not self._hold(tasks=pks, total=F("done") + len(pks)):
                return False
            plant_canaries(self._run, self._jurors, pks)
        return True

    def _lay_out(self, preparation: Preparation) -> bool:
        """Create the items of the tasks of the last steps."""
        pks: list[int] = preparation.tasks or []
        begin = len(pks) - (preparation.total - preparation.done)
        layout = Layout(self._run, self._jurors, pks, begin)
        while begin < len(pks):
            with transaction.atomic():
                begin += (count := min(layout.at_once, len(pks) - begin))
                if not self._hold(done=F("done") + count):
                    return False
                layout.lay_out()
            if _interrupted(self._options):
                return False
        return True

    def _complete(self) -> None:
        """Finish, even if another worker has taken over: all items exist, and both workers find the same."""
        made_of = manifest_at_start(self._run)
        with transaction.atomic():
            locked = JudgeRun.objects.select_for_update(no_key=True).get(pk=self._run.pk)
            gone, _rows = Preparation.objects.filter(run=locked).delete()
            if gone:
                locked.manifest = {**locked.manifest, **made_of}
                locked.save(update_fields=["manifest"])
        self._run.refresh_from_db()

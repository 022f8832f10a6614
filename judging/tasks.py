"""What Celery carries: 'work on this run'. Safe to deliver twice; the rows say what is left to do."""

from contextlib import suppress
from typing import Any

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from annotation.models import Study
from calibration.data.frames import NothingToRead
from calibration.reports.registry import report_of
from generation.execution.recovery import each_alone, store_all_left
from judging.comparison.judge_against_people import judges_in, stored_comparison, weighting_for
from judging.leaderboards.weighting import EQUAL, MissingWeights, Weighting
from judging.models import JudgeRun, PlannedItem, Watch
from judging.monitoring.monitors import WatchRefused, due, start_due
from judging.monitoring.readings import look_at, unlooked
from judging.report_kinds import report_kind
from judging.runs.leases import live_leases, release_dead, somebody_prepares
from judging.runs.left_replies import store_replies
from judging.runs.life_cycle import finish_if_done
from judging.runs.worker import work_on
from judging.scores.points import NoVerdicts, WithoutWeight


@shared_task(name="judging.work")  # type: ignore[untyped-decorator]
def work(run_id: int) -> None:
    """One worker's shift at a run; does nothing where the run is not running or others hold what is left."""
    run = JudgeRun.objects.filter(pk=run_id).first()
    if run is not None:
        look_at(work_on(run))


@shared_task(name="judging.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Returns what died: leases that ran out are free again, and running runs that nobody works on are sent again.

    What a worker held that ended on this machine is free at once. Watches that are due begin a round, and rounds
    that are over are looked at.
    """
    clock = timezone.now
    PlannedItem.objects.filter(status=PlannedItem.Status.WAITING, leased_until__lt=clock()).update(
        leased_until=None, leased_by=""
    )
    store_all_left(JudgeRun, store_replies)

    def send_on(run: JudgeRun) -> None:
        release_dead(run, clock)
        if finish_if_done(run, clock=clock) or live_leases(run, clock).exists():
            return
        if not somebody_prepares(run, clock):
            work.delay(run.pk)

    def begin_round(watch: Watch) -> None:
        with suppress(WatchRefused):
            if (started := start_due(watch, clock=clock)) is not None:
                work.delay(started.pk)

    each_alone(JudgeRun.objects.filter(status=JudgeRun.Status.RUNNING).order_by("pk"), send_on)
    each_alone(due(clock), begin_round)
    each_alone(unlooked(), look_at)


def enqueue(run: JudgeRun) -> None:
    """Hands the run to a worker once the present transaction is committed."""
    transaction.on_commit(lambda: work.delay(run.pk))


@shared_task(name="judging.compare")  # type: ignore[untyped-decorator]
def compare(study_id: int) -> None:
    """Computes the comparisons of every judge of a study with its people into the cache, for the page to show."""
    study = Study.objects.get(pk=study_id)
    weighting = weighting_for(study)
    for judge in judges_in(study):
        try:
            stored_comparison(study, judge, weighting)
        except MissingWeights:
            stored_comparison(study, judge, Weighting(EQUAL))
        except (NothingToRead, NoVerdicts, WithoutWeight):
            continue


@shared_task(name="judging.build_report")  # type: ignore[untyped-decorator]
def build_report(study_id: int, kind: str, asked: dict[str, Any]) -> None:
    """Computes a report of any kind into the cache, this room's included, where the page that waits for it finds it."""
    found = report_kind(kind)
    if found is not None:
        report_of(Study.objects.get(pk=study_id), found, asked)

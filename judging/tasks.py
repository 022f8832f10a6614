"""Celery tasks: work on a run. Safe to deliver twice, because the rows say what is left to do."""

from contextlib import suppress

from celery import shared_task
from django.utils import timezone

from accounts.models import User, Workspace
from annotation.models import Study, excluded_shown
from annotation.uploads.study_archives import StudyArchive
from calibration.data.frames import NothingToRead
from calibration.report_store.refreshes import computing
from calibration.reports.registry import refresh_report
from core.background import send
from generation.execution.recovery import each_alone
from judging.archive.made_files import TASK as MAKE_FILE, make, remove_old
from judging.archive.uploads import carry_out as load_study_archive
from judging.cards.table import TASK as JUDGE_TABLES, compute_requested
from judging.comparison.judge_against_people import KIND, judges_in, stored_comparison, weighting_for
from judging.demonstration.background import make_demonstration
from judging.importing.uploads import carry_out
from judging.leaderboards.weighting import EQUAL, MissingWeights, Weighting
from judging.models import JudgeRun, PromptTrial, Watch
from judging.monitoring.monitors import WatchRefused, due, start_due
from judging.monitoring.readings import look_at, unlooked
from judging.published.computed_tables import TASK as PAPER_TABLE, build_table
from judging.published.registry import UnknownPaperTable, table_numbered
from judging.report_kinds import report_kind
from judging.runs.life_cycle import JUDGING
from judging.runs.worker import work_on
from judging.scores.points import NoVerdicts, WithoutWeight
from judging.trials.queue import work_on_trial
from judging.trials.records import TRIALS, remove_old as remove_old_trials


@shared_task(name="judging.work")  # type: ignore[untyped-decorator]
def work(run_id: int) -> None:
    """Work on a run; does nothing if the run is not running or other workers hold what is left."""
    run = JudgeRun.objects.filter(pk=run_id).first()
    if run is not None:
        look_at(work_on(run))


@shared_task(name="judging.try_prompt")  # type: ignore[untyped-decorator]
def try_prompt(trial_id: int) -> None:
    """Work on a trial of a prompt; does nothing if it is not running or another worker holds what is left."""
    trial = PromptTrial.objects.filter(pk=trial_id).first()
    if trial is not None:
        work_on_trial(trial)


@shared_task(name="judging.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Release what dead workers held, and send running runs on which nobody works to a worker.

    The same for trials of prompts. Drift monitors that are due begin a round, and rounds that are over are evaluated. Old
    files of data and old trials are removed.
    """
    clock = timezone.now
    JUDGING.sweep(clock)
    TRIALS.sweep(clock)

    def begin_round(watch: Watch) -> None:
        with suppress(WatchRefused):
            if (started := start_due(watch, clock=clock)) is not None:
                send("judging.work", started.pk)

    each_alone(due(clock), begin_round)
    each_alone(unlooked(), look_at)
    remove_old()
    remove_old_trials(clock)


@shared_task(name=MAKE_FILE)  # type: ignore[untyped-decorator]
def make_file(public_id: str) -> None:
    """Make a file of a study's data that a page asked for."""
    make(public_id)


@shared_task(name="judging.load_upload")  # type: ignore[untyped-decorator]
def load_upload(public_id: str) -> None:
    """Load an uploaded archive."""
    carry_out(public_id)


@shared_task(name=StudyArchive.TASK)  # type: ignore[untyped-decorator]
def load_archive(public_id: str) -> None:
    """Check or load an uploaded archive of a study."""
    load_study_archive(public_id)


@shared_task(name="judging.make_demonstration")  # type: ignore[untyped-decorator]
def demonstrate(workspace_id: int, user_id: int) -> None:
    """Make what is missing of a workspace's demonstration."""
    workspace, lead = Workspace.objects.filter(pk=workspace_id).first(), User.objects.filter(pk=user_id).first()
    if workspace is not None and lead is not None:
        make_demonstration(workspace, lead=lead)


@shared_task(name="judging.compare")  # type: ignore[untyped-decorator]
def compare(study_id: int, shown: bool = False) -> None:
    """Compare every judge of a study with its people, for the page to show; at most once at a time."""
    study = Study.objects.filter(pk=study_id).first()
    if study is None:
        return
    with excluded_shown(shown), computing(study, KIND, {}) as wanted:
        weighting = weighting_for(study)
        for judge in judges_in(study) if wanted else []:
            with suppress(NothingToRead, NoVerdicts, WithoutWeight):
                try:
                    stored_comparison(study, judge, weighting)
                except MissingWeights:
                    stored_comparison(study, judge, Weighting(EQUAL))


@shared_task(name="judging.build_report")  # type: ignore[untyped-decorator]
def build_report(study_id: int, kind: str, asked: dict[str, object]) -> None:
    """Compute a report of any kind, those of judging included, into the cache, from which its page reads it."""
    refresh_report(study_id, report_kind(kind), asked)


@shared_task(name=PAPER_TABLE)  # type: ignore[untyped-decorator]
def build_paper_table(workspace_id: int, benchmark: str, number: str) -> None:
    """Compute a paper's table again from what the workspace holds, for its page to show."""
    workspace = Workspace.objects.filter(pk=workspace_id).first()
    with suppress(UnknownPaperTable):
        if workspace is not None:
            build_table(workspace, table_numbered(benchmark, number))


@shared_task(name=JUDGE_TABLES)  # type: ignore[untyped-decorator]
def compute_judge_tables(study_id: int, missing: list[int]) -> None:
    """Compute the tables of judges that the table of a workspace lacks; at most once at a time."""
    study = Study.objects.filter(pk=study_id).first()
    if study is not None:
        compute_requested(study, missing)

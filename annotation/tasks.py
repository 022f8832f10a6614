"""Background tasks. Each takes ids and is idempotent; the rows show what is left to do."""

from celery import shared_task
from django.utils import timezone

from annotation.bonuses import sending
from annotation.masking.scan import scan_study
from annotation.models import Study
from annotation.monitoring.stored_progress import keep_spreads
from annotation.privacy import retention
from annotation.prolific import studies as prolific_studies
from annotation.recruitment import mailing
from annotation.studies.life_cycle import make_tasks, prepare_and_open
from annotation.uploads.kept_files import remove_old_tables
from annotation.uploads.loading import carry_out
from annotation.uploads.study_archives import StudyArchive
from core.uploads.kept_files import remove_old
from generation.webhooks.subscriptions import remove_old_messages


@shared_task(name="annotation.launch")  # type: ignore[untyped-decorator]
def launch(study_id: int) -> None:
    """Create the tasks and slots of a launched draft, and open it."""
    study = Study.objects.filter(pk=study_id).first()
    if study is not None:
        prepare_and_open(study)


@shared_task(name="annotation.scan_self_naming")  # type: ignore[untyped-decorator]
def scan_self_naming(study_id: int) -> None:
    """Scan a large study for self-revealing responses."""
    study = Study.objects.filter(pk=study_id).first()
    if study is None:
        return
    if study.status == Study.Status.DRAFT:
        make_tasks(study)
    scan_study(study)


@shared_task(name="annotation.retain")  # type: ignore[untyped-decorator]
def retain() -> None:
    """Remove what the settings keep for so many days only, and tables and archives that nobody loaded within a day.

    The same for messages to webhooks.
    """
    retention.retain(timezone.now)
    remove_old_tables(timezone.now)
    remove_old(StudyArchive, timezone.now)
    remove_old_messages(timezone.now)


@shared_task(name="annotation.send_mails")  # type: ignore[untyped-decorator]
def send_mails() -> None:
    """Send the invitations that wait, as many as the rate allows."""
    mailing.send_waiting(timezone.now)


@shared_task(name="annotation.sweep_prolific")  # type: ignore[untyped-decorator]
def sweep_prolific() -> None:
    """Free the slots of submissions that were returned or timed out at Prolific, and look after lists of bonuses."""
    prolific_studies.sweep(timezone.now)
    sending.sweep(timezone.now)


@shared_task(name="annotation.load_table")  # type: ignore[untyped-decorator]
def load_table(public_id: str) -> None:
    """Check or load an uploaded table."""
    carry_out(public_id)


@shared_task(name="annotation.count_desk")  # type: ignore[untyped-decorator]
def count_desk(study_id: int) -> None:
    """Measure the disagreements of a large study again for its page."""
    study = Study.objects.filter(pk=study_id).first()
    if study is not None:
        keep_spreads(study, clock=timezone.now)

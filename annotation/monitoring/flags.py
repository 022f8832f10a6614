"""What raters tell the lead of a study's tasks: notes and appeals, open until the lead has settled them."""

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from annotation.masking.scan import SELF_NAMING
from annotation.models import Flag, Study
from annotation.studies.life_cycle import log_event
from core.clock import Clock


def all_flags_of(study: Study) -> QuerySet[Flag]:
    """Return the study's notes and appeals; what a scan found is not among them."""
    flags = Flag.objects.filter(task__study=study).exclude(kind=SELF_NAMING)
    return flags.select_related("task__study", "task__response_a__instruction", "rater")


def flags_of(study: Study, *, settled: bool) -> QuerySet[Flag]:
    """Return those that are open, or those that are settled."""
    return all_flags_of(study).filter(resolved_at__isnull=not settled)


def settle_flag(flag: Flag, *, clock: Clock, by: User) -> None:
    """Mark a note as resolved; one that is so already stays as it is."""
    with transaction.atomic():
        held = Flag.objects.select_for_update().get(pk=flag.pk)
        if held.resolved_at is None:
            flag.resolved_at = held.resolved_at = clock()
            held.save(update_fields=["resolved_at"])
            log_event(flag.task.study, by, "resolve_flag", about=flag.task, after={"note": flag.text[:200]})

"""What a lead does about self-revealing responses: looks for them, masks their words, leaves them, or drops their tasks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db import transaction

from accounts.models import User
from annotation.masking.scan import SelfNaming, findings, named_in, scan_study
from annotation.models import Flag, Seat, Study, Task
from annotation.policies.policies import NO_REFUSAL, Policies, change_policies
from annotation.rules.self_naming import Mention
from annotation.studies.life_cycle import StudyRefused, drop_task, is_large, log_event, make_tasks
from core.background import send_after_commit

MOST_TASKS_HERE = 2000
"""The texts of more are scanned by a worker."""


@dataclass(frozen=True)
class Found:
    """A task that was found; `place` is None if its text no longer reveals the model."""

    task: Task
    place: SelfNaming | None
    dropped: bool


def found_in(study: Study, flags: Sequence[Flag]) -> list[Found]:
    """The tasks of these flags with the words found in them."""
    held = [flag.task_id for flag in flags]
    chosen = Task.objects.filter(pk__in=held).select_related(
        "response_a__model", "response_b__model", "response_a__instruction"
    )
    by_pk = {task.pk: task for task in chosen}
    launched = study.status != Study.Status.DRAFT and Seat.objects.filter(study=study).exists()
    seated = set(Seat.objects.filter(task__in=held).values_list("task_id", flat=True)) if launched else set(held)
    known: dict[int, tuple[Mention, ...]] = {}
    return [
        Found(by_pk[pk], next(named_in(by_pk[pk], known), None), pk not in seated and by_pk[pk].gold is None)
        for pk in dict.fromkeys(held)
    ]


def scan_or_hand_over(study: Study) -> bool:
    """Scan the study's texts, which are drawn first where it is a draft; False where a worker does so."""
    if is_large(study) or study.tasks.count() > MOST_TASKS_HERE:
        send_after_commit("annotation.scan_self_naming", study.pk)
        return False
    if study.status == Study.Status.DRAFT:
        make_tasks(study)
    scan_study(study)
    return True


def decide_self_naming(study: Study, *, mask: bool, keep: bool, by: User) -> None:
    """Mask the words on all rating screens, leave them unchanged, or take such a decision back."""
    policies = Policies.of(study)
    before = {"masked": policies.mask_self_naming, "kept": policies.keep_self_naming}
    after = {"masked": mask, "kept": keep}
    if before == after:
        return
    with transaction.atomic():
        change_policies(study, mask_self_naming=mask or None, keep_self_naming=keep or None, **NO_REFUSAL)
        log_event(study, by, "mask_response", before=before, after=after)


def drop_found(study: Study, chosen: Collection[str] | None, *, by: User) -> tuple[int, int]:
    """Drop the chosen tasks among those that were found, or all of these.

    Returns how many were dropped, and how many stay because a rater was given them.
    """
    flagged = findings(study) if chosen is None else findings(study).filter(task__public_id__in=chosen)
    dropped = refused = 0
    for task in Task.objects.filter(pk__in=flagged.order_by().values("task"), gold__isnull=True):
        task.study = study
        try:
            drop_task(task, by=by)
            dropped += 1
        except StudyRefused:
            refused += 1
    return dropped, refused

"""The name that a lead gives a run."""

from django.db import transaction

from accounts.models import Event, User
from core.text import storable
from judging.models import JudgeRun

LONGEST_LABEL = 80


def label_run(run: JudgeRun, label: str, *, by: User | None) -> None:
    """Give the run this label, or with '' none; what is too long is cut. The change is logged."""
    label = storable(" ".join(label.split()))[:LONGEST_LABEL]
    if label == run.label:
        return
    with transaction.atomic():
        JudgeRun.objects.filter(pk=run.pk).update(label=label)
        Event.objects.create(
            workspace_id=run.judge.workspace_id,
            actor=by,
            verb="run labelled",
            object_type="judging.JudgeRun",
            object_id=run.public_id,
            before={"label": run.label},
            after={"label": label},
        )
    run.label = label

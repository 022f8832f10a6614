"""Runs that failed their planted texts say which, and the verdicts that rest on them are marked."""

import re

from django.db import migrations, models
from django.db.migrations.state import StateApps
from django.db.models import Q

FELL, SILENT = "The judge fell for ", "The judge gave no verdict on any planted text"
TEXT = re.compile(
    r"(empty|refusal|null|order): (.*?)(?=; (?:empty|refusal|null|order): |\)\. Change the prompt)", re.DOTALL
)


def mark(apps: StateApps, _editor: object) -> None:
    """By what such a run says of itself."""
    runs = apps.get_model("judging", "JudgeRun")
    assignments = apps.get_model("annotation", "Assignment")
    said = Q(message__startswith=FELL) | Q(message__startswith=SILENT)
    for run in runs.objects.filter(said, status="failed").select_related("judge"):
        run.believed_canaries = [{"text": text, "what": what} for text, what in TEXT.findall(run.message)]
        run.save(update_fields=["believed_canaries"])
        items = run.items.filter(canary="")
        rest = Q(pk__in=items.filter(assignment__isnull=False).values("assignment"))
        if run.manifest.get("settings", {}).get("combine"):
            rest |= Q(rater=run.judge.rater_id, repeat=0, task__in=items.values("task"))
        assignments.objects.filter(rest).update(discredited=True)


def forget(apps: StateApps, _editor: object) -> None:
    """Nothing to undo: the columns go."""


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0012_discredited_verdicts"),
        ("judging", "0007_calls_under_way"),
    ]

    operations = [
        migrations.AddField(
            model_name="judgerun",
            name="believed_canaries",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.RunPython(mark, forget),
    ]

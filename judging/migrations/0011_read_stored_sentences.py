"""Stored sentences of the program are read once more, for the columns with their codes, which are a record, too."""

from django.db import migrations
from django.db.migrations.state import StateApps

from accounts.append_only import forbid_update_of_more
from generation.migrations._sentences_before_codes import fill, message_of, reason_of

COLUMNS = ["attempt", "request_hash", "text", "error", "input_tokens", "output_tokens", "cost"]


def read(apps: StateApps, _editor: object) -> None:
    runs = apps.get_model("judging", "JudgeRun").objects
    fill(runs, "message")
    fill(apps.get_model("judging", "PlannedItem").objects, "reason", reason_of)
    fill(apps.get_model("judging", "Reply").objects, "error")
    for run in runs.filter(believed_canaries__isnull=False).order_by("pk"):
        run.believed_canaries = [
            canary if "what_json" in canary else {**canary, "what_json": message_of(canary["what"])}
            for canary in run.believed_canaries
        ]
        run.save(update_fields=["believed_canaries"])


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_api_tokens"),
        ("generation", "0011_read_stored_sentences"),
        ("judging", "0010_messages_as_json"),
    ]

    operations = [
        migrations.RunPython(read, migrations.RunPython.noop),
        forbid_update_of_more("judging_reply", COLUMNS, ["error_json"]),
    ]

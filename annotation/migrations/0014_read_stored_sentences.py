"""Stored sentences of the program are read once more, for the columns with their codes, which are a record, too."""

from django.db import migrations
from django.db.migrations.state import StateApps

from accounts.append_only import forbid_update_of_more
from generation.migrations._sentences_before_codes import fill, message_of, reason_of

COLUMNS = ["criterion_id", "revision", "value", "level", "not_applicable", "reason", "evidence"]


def read(apps: StateApps, _editor: object) -> None:
    """Of judges alone: what people write is their own."""
    fill(apps.get_model("annotation", "Assignment").objects.filter(rater__kind="judge"), "reason", reason_of)
    fill(apps.get_model("annotation", "Score").objects.filter(assignment__rater__kind="judge"), "reason")
    for study in apps.get_model("annotation", "Study").objects.filter(policies__has_key="refused").order_by("pk"):
        refused = study.policies["refused"]
        message = message_of(refused) if isinstance(refused, str) else None
        if message is not None and "refused_json" not in study.policies:
            study.policies = {**study.policies, "refused_json": message}
            study.save(update_fields=["policies"])


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_api_tokens"),
        ("annotation", "0013_messages_as_json"),
        ("generation", "0011_read_stored_sentences"),
    ]

    operations = [
        migrations.RunPython(read, migrations.RunPython.noop),
        forbid_update_of_more("annotation_score", COLUMNS, ["reason_json"]),
    ]

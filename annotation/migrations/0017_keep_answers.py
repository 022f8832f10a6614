"""The database refuses to delete rows that are a record, but through the door of core/db/append_only.py."""

from django.db import migrations

from core.db.append_only import keep


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_keep_events"), ("annotation", "0016_study_counters")]

    operations = [
        keep(
            "annotation_score",
            ["criterion_id", "revision", "value", "level", "not_applicable", "reason", "evidence", "reason_json"],
        ),
        keep(
            "annotation_timecorrection",
            ["assignment_id", "seconds", "reason"],
        ),
        keep(
            "annotation_latechange",
            ["assignment_id", "cause", "answers"],
        ),
    ]

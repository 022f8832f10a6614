"""The database refuses to delete rows that are a record, but through the door of core/db/append_only.py."""

from django.db import migrations

from core.db.append_only import keep


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_keep_events"), ("judging", "0011_read_stored_sentences")]

    operations = [
        keep(
            "judging_reply",
            ["attempt", "request_hash", "text", "error", "input_tokens", "output_tokens", "cost", "error_json"],
        ),
    ]

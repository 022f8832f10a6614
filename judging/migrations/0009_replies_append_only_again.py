"""SQLite had dropped the trigger when later columns rebuilt the table of replies."""

from django.db import migrations

from accounts.append_only import renew_on_sqlite

COLUMNS = ["attempt", "request_hash", "text", "error", "input_tokens", "output_tokens", "cost"]


class Migration(migrations.Migration):
    dependencies = [("judging", "0008_believed_canaries")]

    operations = [renew_on_sqlite("judging_reply", COLUMNS)]

"""The database refuses to delete rows that are a record, but through the door of core/db/append_only.py."""

from django.db import migrations

from core.db.append_only import keep, make_door


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_sign_in_limits")]

    operations = [
        make_door(),
        keep(
            "accounts_event",
            ["verb", "object_type", "object_id", "before", "after", "at"],
        ),
    ]

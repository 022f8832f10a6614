"""The database refuses to delete rows that are a record, but through the door of core/db/append_only.py."""

from django.db import migrations

from core.db.append_only import keep


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_keep_events"), ("generation", "0012_endpoint_slots")]

    operations = [
        keep(
            "generation_endpointgrant",
            ["endpoint_id", "workspace_id", "address", "variable", "served_name", "made_by", "command", "made_at"],
        ),
    ]

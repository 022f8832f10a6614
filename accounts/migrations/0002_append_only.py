from django.db import migrations

from accounts.append_only import forbid_update


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [forbid_update("accounts_event", ["verb", "object_type", "object_id", "before", "after", "at"])]

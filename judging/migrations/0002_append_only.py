from django.db import migrations

from accounts.append_only import forbid_update


class Migration(migrations.Migration):
    dependencies = [("judging", "0001_initial")]
    operations = [forbid_update("judging_reply", ["attempt", "request_hash", "text", "error", "input_tokens", "output_tokens", "cost"])]

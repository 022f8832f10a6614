from django.db import migrations

from accounts.append_only import forbid_update


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [forbid_update("annotation_score", ["criterion_id", "revision", "value", "level", "not_applicable", "reason", "evidence"])]

"""A study can be archived: lists no longer show it, and its results stay readable."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0020_work_counters")]

    operations = [
        migrations.AddField(
            model_name="study", name="archived_at", field=models.DateTimeField(blank=True, null=True, editable=False)
        )
    ]

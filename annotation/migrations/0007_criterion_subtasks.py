from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0006_desk_tally")]

    operations = [
        migrations.AddField(
            model_name="criterion",
            name="subtasks",
            field=models.JSONField(blank=True, null=True),
        ),
    ]

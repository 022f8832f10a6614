import django.db.models.deletion
from django.db import migrations, models

from core.db.append_only import forbid_update, keep

TABLE = "annotation_stoppingquestion"
COLUMNS = ["question", "threshold", "error", "models_compared", "criteria", "instructions", "overlap", "study_id"]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0032_excluded_answers_index")]

    operations = [
        migrations.CreateModel(
            name="StoppingQuestion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("question", models.CharField(max_length=20)),
                ("threshold", models.FloatField(default=0.0)),
                ("error", models.FloatField()),
                ("models_compared", models.JSONField(default=list)),
                ("criteria", models.JSONField(default=list)),
                ("instructions", models.JSONField(default=list)),
                ("overlap", models.PositiveIntegerField()),
                ("frozen_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="stopping", to="annotation.study"
                    ),
                ),
            ],
        ),
        forbid_update(TABLE, COLUMNS),
        keep(TABLE, COLUMNS),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0005_desk_indexes")]

    operations = [
        migrations.CreateModel(
            name="DeskTally",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("counts", models.JSONField(default=dict)),
                ("counted_at", models.DateTimeField()),
                ("asked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="desk_tally", to="annotation.study"
                    ),
                ),
            ],
            options={"verbose_name_plural": "desk tallies"},
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models

JOINS_AN_HOUR = 30


def limit_doors(apps, schema_editor):
    """Doors without accounts get the usual limit, or the one that their study's policies named; onsite doors none."""
    Cohort = apps.get_model("annotation", "Cohort")
    for cohort in Cohort.objects.exclude(kind="onsite").select_related("study").iterator(500):
        wanted = cohort.study.policies.get("joins_per_hour", JOINS_AN_HOUR)
        cohort.joins_per_hour = wanted if isinstance(wanted, int) and wanted > 0 else JOINS_AN_HOUR
        cohort.save(update_fields=["joins_per_hour"])


class Migration(migrations.Migration):
    dependencies = [("annotation", "0008_one_open_task_and_one_held")]

    operations = [
        migrations.AddField(
            model_name="cohort",
            name="joins_per_hour",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="RefusedAddress",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("address", models.CharField(max_length=50)),
                ("refused", models.PositiveIntegerField(default=0)),
                ("last_at", models.DateTimeField()),
                (
                    "cohort",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="refused_addresses",
                        to="annotation.cohort",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "refused addresses",
                "ordering": ["-last_at"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cohort", "address"), name="one_row_per_cohort_and_refused_address"
                    )
                ],
            },
        ),
        migrations.RunPython(limit_doors, migrations.RunPython.noop, elidable=True),
    ]

"""Bonuses to crowd raters: caps, lists and payments, which are a record, and the states of submissions at Prolific."""

import core.db.public_ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from core.db.append_only import forbid_update, keep

RECORDS = {
    "annotation_bonusbatch": [
        "study_id",
        "cohort_id",
        "external_study",
        "basis",
        "key",
        "purpose",
        "currency",
        "total_minor",
        "made_at",
    ],
    "annotation_bonuspayment": ["batch_id", "rater_id", "minor", "reason", "already_minor", "shown"],
}


class Migration(migrations.Migration):
    dependencies = [("annotation", "0029_questionnaires"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.AddField(
            model_name="participant",
            name="submission_state",
            field=models.CharField(blank=True, db_default="", default="", max_length=30),
        ),
        migrations.CreateModel(
            name="BonusCap",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("minor", models.PositiveBigIntegerField()),
                ("changed_at", models.DateTimeField()),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="bonus_cap", to="annotation.study"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="BonusBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=core.db.public_ids.new_public_id, editable=False, max_length=32, unique=True
                    ),
                ),
                ("external_study", models.CharField(max_length=64)),
                (
                    "basis",
                    models.CharField(
                        choices=[
                            ("given", "Amounts that you give"),
                            ("answers", "For each counted answer above a number"),
                            ("hours", "What is owed and not paid yet"),
                            ("checks", "To raters who passed quality checks"),
                        ],
                        max_length=10,
                    ),
                ),
                ("key", models.CharField(max_length=120)),
                ("purpose", models.CharField(max_length=100)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("total_minor", models.PositiveBigIntegerField()),
                ("made_at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("preparing", "being set up"),
                            ("prepared", "waits for confirmation"),
                            ("paying", "being sent"),
                            ("sent", "sent"),
                            ("uncertain", "uncertain: it may have been sent"),
                            ("found_paid", "paid, as a lead found at Prolific"),
                            ("found_unpaid", "not paid, as a lead found at Prolific"),
                            ("refused", "refused or not reached, nothing was sent"),
                            ("dropped", "dropped, nothing was sent"),
                        ],
                        db_index=True,
                        default="preparing",
                        max_length=12,
                    ),
                ),
                ("external_id", models.CharField(blank=True, max_length=64)),
                ("charged", models.DecimalField(blank=True, decimal_places=4, max_digits=16, null=True)),
                ("confirmed_at", models.DateTimeField(blank=True, null=True)),
                ("changed_at", models.DateTimeField()),
                ("problem", models.CharField(blank=True, max_length=300)),
                (
                    "cohort",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="bonus_batches",
                        to="annotation.cohort",
                    ),
                ),
                (
                    "confirmed_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "made_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="bonus_batches", to="annotation.study"
                    ),
                ),
            ],
            options={"verbose_name_plural": "bonus batches", "ordering": ["-pk"]},
        ),
        migrations.CreateModel(
            name="BonusPayment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("submission", models.CharField(blank=True, max_length=64)),
                ("minor", models.PositiveBigIntegerField()),
                ("reason", models.JSONField(default=dict)),
                ("already_minor", models.PositiveBigIntegerField()),
                ("shown", models.JSONField(default=list)),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="payments", to="annotation.bonusbatch"
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="bonus_payments",
                        to="annotation.rater",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("batch", "rater"), name="one_bonus_per_batch_and_rater"),
                    models.CheckConstraint(condition=models.Q(("minor__gt", 0)), name="a_bonus_is_more_than_nothing"),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="bonusbatch",
            constraint=models.UniqueConstraint(
                condition=models.Q(("external_id", ""), _negated=True),
                fields=("external_id",),
                name="one_bonus_batch_per_payment",
            ),
        ),
        *[step(table, columns) for table, columns in RECORDS.items() for step in (forbid_update, keep)],
    ]

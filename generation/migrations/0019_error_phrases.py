import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0010_setup_code"), ("generation", "0018_who_asked_and_difficulty")]

    operations = [
        migrations.CreateModel(
            name="ErrorPhrases",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("refusals", models.JSONField(default=list)),
                ("meaningless", models.JSONField(default=list)),
                (
                    "workspace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="error_phrases",
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={"verbose_name_plural": "error phrases"},
        ),
    ]

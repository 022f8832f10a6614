"""An index of excluded answers, which every result page counts and of which there are few."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0031_listed_people"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(condition=models.Q(("status", "excluded")), fields=["task"], name="assignment_excluded"),
        ),
    ]

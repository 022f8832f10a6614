"""The probability with which a task was drawn, where it was not that of all others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0033_stopping_question")]

    operations = [
        migrations.AddField(
            model_name='task',
            name='drawing_probability',
            field=models.FloatField(blank=True, editable=False, null=True),
        ),
    ]

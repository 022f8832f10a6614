from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("generation", "0017_count_unspaced_words")]

    operations = [
        migrations.AddField(
            model_name="instruction",
            name="asked_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="instruction", name="difficulty", field=models.JSONField(blank=True, null=True)
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("generation", "0015_spending_limits")]

    operations = [
        migrations.AddField(
            model_name="instruction",
            name="rubric",
            field=models.CharField(blank=True, db_default="", default="", max_length=150),
        ),
    ]

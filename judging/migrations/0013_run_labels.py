from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0012_keep_replies")]

    operations = [
        migrations.AddField(
            model_name="judgerun",
            name="label",
            field=models.CharField(blank=True, db_default="", default="", max_length=80),
        )
    ]

"""People of an uploaded list: a name beside the address, and invitations that no message has been sent for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0030_bonuses")]

    operations = [
        migrations.AddField(
            model_name="mailedinvitation",
            name="name",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
        migrations.AlterField(
            model_name="mailedinvitation",
            name="state",
            field=models.CharField(
                choices=[
                    ("held", "Not sent"),
                    ("waiting", "Waiting"),
                    ("sending", "Being sent"),
                    ("sent", "Sent"),
                    ("failed", "Failed"),
                ],
                db_index=True,
                default="waiting",
                max_length=10,
            ),
        ),
    ]

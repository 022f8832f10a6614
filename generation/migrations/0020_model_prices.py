from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("generation", "0019_error_phrases")]

    operations = [
        migrations.AddField(
            model_name="languagemodel",
            name="input_price",
            field=models.DecimalField(
                blank=True, decimal_places=6, help_text="Price of a million tokens read.", max_digits=12, null=True
            ),
        ),
        migrations.AddField(
            model_name="languagemodel",
            name="output_price",
            field=models.DecimalField(
                blank=True, decimal_places=6, help_text="Price of a million tokens written.", max_digits=12, null=True
            ),
        ),
        migrations.AddField(
            model_name="languagemodel",
            name="currency",
            field=models.CharField(blank=True, db_default="", default="", max_length=3),
        ),
        migrations.AddField(
            model_name="languagemodel",
            name="priced_on",
            field=models.DateField(blank=True, null=True),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0009_events_outlive_workspaces'),
    ]

    operations = [
        migrations.CreateModel(
            name='SetupCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('expires_at', models.DateTimeField()),
            ],
        ),
    ]

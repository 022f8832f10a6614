"""The studies at Prolific to which crowd cohorts belong."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0024_mailed_invitations'),
    ]

    operations = [
        migrations.CreateModel(
            name='ProlificStudy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('external_id', models.CharField(max_length=64)),
                ('made_at', models.DateTimeField()),
                ('looked_at', models.DateTimeField(blank=True, null=True)),
                ('problem', models.CharField(blank=True, max_length=300)),
                ('cohort', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='prolific_study', to='annotation.cohort')),
            ],
            options={
                'verbose_name_plural': 'prolific studies',
            },
        ),
    ]

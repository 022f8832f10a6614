import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0009_limits_of_joining'),
    ]

    operations = [
        migrations.AddField(
            model_name='cohort',
            name='platform_workspace',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.CreateModel(
            name='Participant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mark', models.CharField(max_length=64)),
                ('submission', models.CharField(blank=True, db_index=True, max_length=64)),
                ('browser', models.CharField(blank=True, max_length=64)),
                ('began_at', models.DateTimeField(blank=True, null=True)),
                ('code', models.CharField(blank=True, max_length=64)),
                ('code_until', models.DateTimeField(blank=True, null=True)),
                ('code_tries', models.PositiveSmallIntegerField(default=0)),
                ('cohort', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='participants', to='annotation.cohort')),
                ('rater', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='participant', to='annotation.rater')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='participants', to='annotation.study')),
            ],
        ),
        migrations.CreateModel(
            name='BrowserRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('browser', models.CharField(max_length=64)),
                ('number', models.CharField(max_length=8)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('admitted', 'Admitted'), ('refused', 'Refused')], default='waiting', max_length=10)),
                ('at', models.DateTimeField()),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='requests', to='annotation.participant')),
            ],
        ),
        migrations.AddConstraint(
            model_name='participant',
            constraint=models.UniqueConstraint(fields=('study', 'mark'), name='one_participant_per_study_and_mark'),
        ),
        migrations.AddConstraint(
            model_name='browserrequest',
            constraint=models.UniqueConstraint(fields=('participant', 'browser'), name='one_request_per_participant_and_browser'),
        ),
    ]

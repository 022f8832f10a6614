import django.db.models.deletion
from django.db import migrations, models

from accounts.append_only import forbid_update

class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0002_append_only'),
        ('generation', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='CheckOutcome',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(max_length=15)),
                ('passed', models.BooleanField()),
                ('missed', models.JSONField(blank=True, default=list)),
                ('at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='DoorKnock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('visitor', models.CharField(max_length=64)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='RaterIdentity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(blank=True, max_length=200)),
                ('name', models.CharField(blank=True, max_length=100)),
                ('particulars', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name_plural': 'rater identities',
            },
        ),
        migrations.CreateModel(
            name='Standing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('joining', 'Joining'), ('rating', 'Rating'), ('paused', 'Paused'), ('failed', 'Not qualified'), ('screened_out', 'Screened out')], default='joining', max_length=12)),
                ('consented_at', models.DateTimeField(blank=True, null=True)),
                ('consent_hash', models.CharField(blank=True, max_length=64)),
                ('guideline_read_at', models.DateTimeField(blank=True, null=True)),
                ('trained_at', models.DateTimeField(blank=True, null=True)),
                ('qualified_at', models.DateTimeField(blank=True, null=True)),
                ('cause', models.CharField(blank=True, max_length=20)),
                ('message', models.TextField(blank=True)),
                ('checks_after', models.PositiveBigIntegerField(default=0)),
                ('changed_at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='TimeCorrection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seconds', models.FloatField()),
                ('reason', models.CharField(max_length=300)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['assignment', 'pk'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='draft',
            name='one_draft_per_task_and_rater',
        ),
        migrations.AddField(
            model_name='draft',
            name='repeat',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='status',
            field=models.CharField(choices=[('open', 'Open'), ('submitted', 'Submitted'), ('skipped', 'Skipped'), ('surplus', 'Surplus'), ('absent', 'Absent'), ('unscored', 'Unscored'), ('derived', 'Derived'), ('checked', 'Checked')], default='open', max_length=10),
        ),
        migrations.AddIndex(
            model_name='task',
            index=models.Index(condition=models.Q(('gold__isnull', False)), fields=['study', 'position'], name='task_that_checks_raters'),
        ),
        migrations.AddConstraint(
            model_name='draft',
            constraint=models.UniqueConstraint(fields=('task', 'rater', 'repeat'), name='one_draft_per_task_rater_and_repeat'),
        ),
        migrations.AddField(
            model_name='checkoutcome',
            name='assignment',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='check_outcome', to='annotation.assignment'),
        ),
        migrations.AddField(
            model_name='doorknock',
            name='cohort',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='knocks', to='annotation.cohort'),
        ),
        migrations.AddField(
            model_name='rateridentity',
            name='cohort',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='identities', to='annotation.cohort'),
        ),
        migrations.AddField(
            model_name='rateridentity',
            name='rater',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='identity', to='annotation.rater'),
        ),
        migrations.AddField(
            model_name='standing',
            name='rater',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='standing', to='annotation.rater'),
        ),
        migrations.AddField(
            model_name='timecorrection',
            name='assignment',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='time_corrections', to='annotation.assignment'),
        ),
        migrations.AddIndex(
            model_name='doorknock',
            index=models.Index(fields=['cohort', 'visitor', 'at'], name='knock_by_cohort_and_visitor'),
        ),
        migrations.AddConstraint(
            model_name='rateridentity',
            constraint=models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('cohort', 'key'), name='one_identity_per_cohort_and_key'),
        ),
        forbid_update("annotation_timecorrection", ["assignment_id", "seconds", "reason"]),
    ]

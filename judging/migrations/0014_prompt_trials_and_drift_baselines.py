"""Trials of a version of a prompt, and the rounds with which a drift monitor compares later ones."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import core.db.public_ids
from core.db.append_only import forbid_update, keep

BASELINE = ["watch_id", "run_id", "flagged", "created_at"]


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0028_saved_mappings'),
        ('generation', '0020_model_prices'),
        ('judging', '0013_run_labels'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PromptTrial',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=core.db.public_ids.new_public_id, editable=False, max_length=32, unique=True)),
                ('status', models.CharField(choices=[('planned', 'Planned'), ('running', 'Running'), ('paused', 'Paused'), ('finished', 'Finished'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('imported', 'Imported')], default='planned', max_length=10)),
                ('seed', models.BigIntegerField(default=0)),
                ('budget_money', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                ('budget_tokens', models.PositiveBigIntegerField(blank=True, null=True)),
                ('budget_calls', models.PositiveBigIntegerField(blank=True, null=True)),
                ('manifest', models.JSONField(blank=True, default=dict)),
                ('message', models.TextField(blank=True)),
                ('message_json', models.JSONField(blank=True, editable=False, null=True)),
                ('estimated', models.BooleanField(default=False, help_text='Some tokens of this run were not counted by its endpoint but estimated.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('method', models.CharField(max_length=50)),
                ('prompt', models.TextField()),
                ('prompt_hash', models.CharField(max_length=64)),
                ('parameters', models.JSONField(default=dict)),
                ('source', models.CharField(max_length=60)),
                ('number', models.PositiveIntegerField(default=1)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('language_model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='prompt_trials', to='generation.languagemodel')),
            ],
            options={
                'verbose_name': 'prompt trial',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='DriftBaseline',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('flagged', models.BooleanField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judging.judgerun')),
                ('watch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='baselines', to='judging.watch')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('watch', 'run'), name='one_drift_baseline_per_round')],
            },
        ),
        migrations.CreateModel(
            name='TrialItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField(default=0)),
                ('about', models.CharField(max_length=300)),
                ('status', models.CharField(choices=[('waiting', 'Waiting'), ('scored', 'Scored'), ('unscored', 'Unscored')], default='waiting', max_length=10)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('reason_json', models.JSONField(blank=True, editable=False, null=True)),
                ('answers', models.JSONField(default=list)),
                ('request_hash', models.CharField(blank=True, max_length=64)),
                ('text', models.TextField(blank=True)),
                ('finish_reason', models.CharField(blank=True, max_length=30)),
                ('input_tokens', models.PositiveIntegerField(default=0)),
                ('output_tokens', models.PositiveIntegerField(default=0)),
                ('calls', models.PositiveSmallIntegerField(default=0)),
                ('cost', models.DecimalField(decimal_places=8, default=0, max_digits=14)),
                ('seconds', models.FloatField(default=0)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('leased_by', models.CharField(blank=True, max_length=64)),
                ('response', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='generation.response')),
                ('rubric', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation.rubric')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='judging.prompttrial')),
                ('task', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation.task')),
            ],
            options={
                'ordering': ['run', 'position'],
                'constraints': [models.UniqueConstraint(fields=('run', 'position'), name='one_trial_item_per_position')],
            },
        ),
        migrations.CreateModel(
            name='TrialShare',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worker', models.CharField(max_length=64)),
                ('calls', models.PositiveBigIntegerField(default=0)),
                ('tokens', models.PositiveBigIntegerField(default=0)),
                ('money', models.DecimalField(decimal_places=8, default=0, max_digits=20)),
                ('leased_until', models.DateTimeField()),
                ('under_way', models.PositiveIntegerField(default=0)),
                ('next_call_at', models.DateTimeField(blank=True, null=True)),
                ('asked_to_wait', models.BooleanField(default=False)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='judging.prompttrial')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'worker'), name='one_budget_share_per_trial_and_worker')],
            },
        ),
        forbid_update("judging_driftbaseline", BASELINE),
        keep("judging_driftbaseline", BASELINE),
    ]

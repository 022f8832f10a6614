"""Versions of a judge on held-out parts of a study's instructions, and the looks at the test part."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import core.db.public_ids
from core.db.append_only import forbid_update, keep

LOOK = ["alignment_id", "version_id", "number", "level", "claim", "figures", "created_at"]


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0033_stopping_question'),
        ('generation', '0021_probes'),
        ('judging', '0015_probes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Alignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=core.db.public_ids.new_public_id, editable=False, max_length=32, unique=True)),
                ('criterion', models.CharField(max_length=100)),
                ('seed', models.PositiveBigIntegerField(default=0)),
                ('shares', models.JSONField()),
                ('parts', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('baseline', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='alignments', to='judging.judge')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='alignments', to='annotation.study')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='AlignmentVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('proposed_by', models.CharField(choices=[('lead', 'Lead'), ('model', 'Model')], default='lead', max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('added_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('alignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='judging.alignment')),
                ('draft', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='generation.response')),
                ('judge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.judge')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='AlignmentLook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('level', models.FloatField()),
                ('claim', models.CharField(choices=[('better', 'Better'), ('worse', 'Worse'), ('not_shown', 'Not shown')], max_length=10)),
                ('figures', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('alignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='looks', to='judging.alignment')),
                ('taken_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('version', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='look', to='judging.alignmentversion')),
            ],
            options={
                'ordering': ['number'],
            },
        ),
        migrations.AddConstraint(
            model_name='alignmentversion',
            constraint=models.UniqueConstraint(fields=('alignment', 'judge'), name='one_version_per_alignment_and_judge'),
        ),
        migrations.AddConstraint(
            model_name='alignmentlook',
            constraint=models.UniqueConstraint(fields=('alignment', 'number'), name='one_look_per_alignment_and_number'),
        ),
        forbid_update("judging_alignmentlook", LOOK),
        keep("judging_alignmentlook", LOOK),
    ]

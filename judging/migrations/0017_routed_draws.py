"""Draws of instructions for people to rate, with unequal probabilities, frozen before the draw."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import core.db.public_ids
from core.db.append_only import forbid_update, keep

TABLE = "judging_routeddraw"
FROZEN = [
    *("about_id", "judges", "language_models", "spread_kind", "strata", "budget", "overlap", "seed", "frame"),
    "created_at",
]


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0034_drawing_probability'),
        ('judging', '0016_alignments'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RoutedDraw',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=core.db.public_ids.new_public_id, editable=False, max_length=32, unique=True)),
                ('judges', models.JSONField()),
                ('language_models', models.JSONField()),
                ('spread_kind', models.CharField(choices=[('panel', 'Several judges'), ('repeats', 'Repeats of one judge'), ('soft', 'Soft verdicts of one judge'), ('none', 'No spread: a uniform draw')], max_length=10)),
                ('strata', models.CharField(choices=[('spread', 'Fifths of the spread'), ('category', 'Categories')], max_length=10)),
                ('budget', models.FloatField()),
                ('overlap', models.PositiveIntegerField()),
                ('seed', models.PositiveBigIntegerField()),
                ('frame', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('about', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='routed_draws', to='annotation.study')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('rated_in', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='routed_draw', to='annotation.study')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'constraints': [models.UniqueConstraint(fields=('about', 'seed'), name='one_routed_draw_per_study_and_seed')],
            },
        ),
        forbid_update(TABLE, FROZEN),
        keep(TABLE, FROZEN),
    ]

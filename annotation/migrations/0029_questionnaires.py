import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from core.db.append_only import forbid_update, keep

RECORDS = {
    "annotation_questionnaire": ["study_id", "moment", "version", "questions"],
    "annotation_questionnaireanswer": ["questionnaire_id", "rater_id", "moment", "answers", "language"],
}
MOMENTS = [('before', 'Before the first task'), ('after', 'After the last task')]


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0028_saved_mappings'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Questionnaire',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('moment', models.CharField(choices=MOMENTS, max_length=6)),
                ('version', models.PositiveIntegerField()),
                ('questions', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questionnaires', to='annotation.study')),
            ],
            options={
                'ordering': ['study', 'moment', 'version'],
                'constraints': [models.UniqueConstraint(fields=('study', 'moment', 'version'), name='one_questionnaire_per_version')],
            },
        ),
        migrations.CreateModel(
            name='QuestionnaireAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('moment', models.CharField(choices=MOMENTS, max_length=6)),
                ('answers', models.JSONField(default=dict)),
                ('language', models.CharField(max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('questionnaire', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='given', to='annotation.questionnaire')),
                ('rater', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questionnaire_answers', to='annotation.rater')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('rater', 'moment'), name='one_questionnaire_answer_per_rater_and_moment')],
            },
        ),
        *[step(table, columns) for table, columns in RECORDS.items() for step in (forbid_update, keep)],
    ]

"""An index of the rubrics that a study's tasks ask for, which most pages of a study want to know."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0034_drawing_probability'),
        ('generation', '0021_probes'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='task',
            index=models.Index(fields=['study', 'answer_rubric'], name='task_of_a_rubric'),
        ),
    ]

from django.db import migrations, models
from django.db.models import Q


def number_open_tasks(apps, schema_editor):
    """Give each rater's first two open tasks that have a seat, or need none, their places."""
    Assignment = apps.get_model("annotation", "Assignment")
    held = Q(seat__isnull=False) | Q(repeat__gt=0) | Q(task__gold__isnull=False)
    given = {}
    changed = []
    open_tasks = Assignment.objects.filter(held, status="open").order_by("pk").only("pk", "rater_id")
    for assignment in open_tasks.iterator(2000):
        given[assignment.rater_id] = place = given.get(assignment.rater_id, 0) + 1
        if place <= 2:
            assignment.queue_place = place
            changed.append(assignment)
    Assignment.objects.bulk_update(changed, ["queue_place"], batch_size=500)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_criterion_subtasks")]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="queue_place",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.RunPython(number_open_tasks, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                condition=Q(status="open"),
                fields=("rater", "queue_place"),
                name="one_open_task_and_one_held_a_rater",
            ),
        ),
    ]

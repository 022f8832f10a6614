from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

DROPPED = ("dropped_not_applicable", "dropped_incomplete")


def move_rows(apps: StateApps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Move the rows of each fit out of what a page reads of it; the numbers of left-out answers stay there as well."""
    categories = apps.get_model("calibration", "CategoryFit").objects.filter(rows__isnull=True)
    for pk in list(categories.values_list("pk", flat=True)):
        category = categories.get(pk=pk)
        rows = category.diagnostics.get("rows")
        if rows is None:
            continue
        kept = {name: value for name, value in category.diagnostics.items() if name != "rows"}
        category.diagnostics = {**kept, **{name: rows[name] for name in DROPPED}}
        category.rows = rows
        category.save(update_fields=["diagnostics", "rows"])


def put_rows_back(apps: StateApps, _editor: BaseDatabaseSchemaEditor) -> None:
    categories = apps.get_model("calibration", "CategoryFit").objects.filter(rows__isnull=False)
    for pk in list(categories.values_list("pk", flat=True)):
        category = categories.get(pk=pk)
        kept = {name: value for name, value in category.diagnostics.items() if name not in DROPPED}
        category.diagnostics = {**kept, "rows": category.rows}
        category.save(update_fields=["diagnostics"])


class Migration(migrations.Migration):
    dependencies = [("calibration", "0003_report_refreshes")]

    operations = [
        migrations.AddField("categoryfit", "rows", models.JSONField(blank=True, null=True)),
        migrations.RunPython(move_rows, put_rows_back),
    ]

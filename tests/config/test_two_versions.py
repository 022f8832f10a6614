"""Servers of the version before use the newer schema while they are restarted: no migration breaks their queries."""

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader

APPS = ("accounts", "annotation", "calibration", "generation", "judging")
BASE = {
    "accounts": "0005_origins_of_known_accounts",
    "annotation": "0014_read_stored_sentences",
    "calibration": "0001_initial",
    "generation": "0011_read_stored_sentences",
    "judging": "0011_read_stored_sentences",
}
"""The newest migrations of the version that is assumed to be at work; raise them with each release."""

EXPLAINED: dict[str, str] = {}
"""Why a step that looks as if it broke the version before does not: "app.migration: what" -> reason."""

HARMLESS = (
    migrations.AddIndex,
    migrations.RemoveIndex,
    migrations.RenameIndex,
    migrations.CreateModel,
    migrations.RemoveConstraint,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.RunPython,
)


def breaks(operation, before):
    """What the operation does to the queries of the version before, whose models `before` holds; '' if nothing."""
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        return "; ".join(filter(None, (breaks(one, before) for one in operation.database_operations)))
    if isinstance(operation, HARMLESS) or getattr(operation, "model_name_lower", next(iter(before))) not in before:
        return ""  # also where the version before does not know the model
    if isinstance(operation, migrations.AddField):
        return added(operation.field, operation.name)
    if isinstance(operation, migrations.AlterField):
        old = before[operation.model_name_lower].fields.get(operation.name)
        return altered(old, operation.field, operation.name) if old is not None else ""
    if isinstance(operation, migrations.AddConstraint):
        return f"adds the constraint {operation.constraint.name}, which the version before may violate"
    return f"{type(operation).__name__}: {operation.describe()}"


def added(field, name):
    if field.many_to_many or field.null or field.has_db_default():
        return ""
    return f"adds {name}, NOT NULL and without db_default, so that an INSERT that does not name it fails"


def altered(old, new, name):
    if old.null and not new.null:
        return f"{name} no longer accepts NULL"
    if (old.max_length or 0) > (new.max_length or 10**9):
        return f"{name} becomes shorter"
    if new.unique and not old.unique:
        return f"{name} becomes unique"
    if type(old) is not type(new) or old.db_column != new.db_column:
        return f"{name} becomes another column or type"
    return ""


def later_migrations():
    """Yield every migration after the base, in the order of its app, with the models of the base."""
    loader = MigrationLoader(None)
    base = loader.project_state(list(BASE.items())).models
    for app in APPS:
        before = {name: state for (label, name), state in base.items() if label == app}
        assert (app, BASE[app]) in loader.disk_migrations
        behind = set(loader.graph.forwards_plan((app, BASE[app])))
        for (label, name), migration in sorted(loader.disk_migrations.items()):
            if label == app and (label, name) not in behind:
                yield label, name, migration, before


def test_servers_of_the_version_before_can_use_the_newest_schema():
    found = {
        f"{app}.{name}: {broken}"
        for app, name, migration, before in later_migrations()
        for operation in migration.operations
        if (broken := breaks(operation, before))
    }
    assert found == set(EXPLAINED), (
        "Add a column first (null, or with db_default) and remove it one release later; or say in EXPLAINED why the "
        "version before is not broken."
    )
    assert all(len(reason) > 20 for reason in EXPLAINED.values())


OLD = models.CharField(max_length=20, null=True)
NEW_MODEL = migrations.CreateModel("fresh", [("id", models.BigAutoField(primary_key=True))])


@pytest.mark.parametrize(
    ("operation", "broken"),
    [
        (migrations.RemoveField("study", "slug"), True),
        (migrations.RenameField("study", "slug", "name"), True),
        (migrations.DeleteModel("study"), True),
        (migrations.RenameModel("study", "survey"), True),
        (migrations.AlterModelTable("study", "other"), True),
        (migrations.RunSQL("DROP TABLE study"), True),
        (migrations.AddField("study", "more", models.IntegerField(default=0)), True),
        (migrations.AddField("study", "more", models.IntegerField(default=0, db_default=0)), False),
        (migrations.AddField("study", "more", models.IntegerField(null=True)), False),
        (migrations.AlterField("study", "note", models.CharField(max_length=20, default="")), True),
        (migrations.AlterField("study", "note", models.CharField(max_length=10, null=True)), True),
        (migrations.AlterField("study", "note", models.CharField(max_length=20, null=True, unique=True)), True),
        (migrations.AlterField("study", "note", models.IntegerField(null=True)), True),
        (migrations.AlterField("study", "note", models.CharField(max_length=40, null=True)), False),
        (migrations.AddConstraint("study", models.UniqueConstraint(fields=["note"], name="one")), True),
        (migrations.AddConstraint("fresh", models.UniqueConstraint(fields=["id"], name="one")), False),
        (migrations.SeparateDatabaseAndState(database_operations=[migrations.RemoveField("study", "slug")]), True),
        (NEW_MODEL, False),
    ],
)
def test_a_step_that_breaks_the_version_before_is_recognised(operation, broken):
    before = {"study": migrations.state.ModelState("annotation", "Study", [("note", OLD)])}
    assert bool(breaks(operation, before)) is broken

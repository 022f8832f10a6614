"""A database in memory that holds an export's rows and nothing else, while a block of code runs on it."""

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.db import connections, router
from django.db.models import ForeignKey, Model
from django.db.utils import load_backend

from annotation.models import Assignment, Rubric, Study, Task
from calibration.models import Fit
from core.db.append_only import removing

SCRATCH = "scratch"
AT_ONCE = 2000
_migrated: list[bytes] = []
"""An empty database with all tables, once this process has made one: migrating takes seconds."""
LATER = ((Task, "reviews_id", Assignment), (Rubric, "study_id", Study))
"""Links to rows that are written after those that have them."""


class _ToScratch:
    """Sends every query to the scratch database."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        return SCRATCH

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        return SCRATCH

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool:
        return True


@contextmanager
def scratch_database() -> Iterator[None]:
    """Inside the block every query of this process goes to an empty SQLite database in memory, with all tables."""
    settings = dict(connections.settings["default"])
    settings |= {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": ":memory:",
        "OPTIONS": {},
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": False,
        "ATOMIC_REQUESTS": False,
        "USER": "",
        "PASSWORD": "",  # nosec B105 # SQLite has none
        "HOST": "",
        "PORT": "",
    }
    connections[SCRATCH] = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, SCRATCH)
    rule = _ToScratch()
    router.routers.insert(0, rule)
    try:
        _make_tables()
        yield
    finally:
        router.routers.remove(rule)
        connections[SCRATCH].close()
        del connections[SCRATCH]


def _make_tables() -> None:
    """Migrate the empty database, or copy what an earlier migration of this process made."""
    scratch = connections[SCRATCH]
    scratch.ensure_connection()
    if not _migrated:
        call_command("migrate", database=SCRATCH, verbosity=0, interactive=False)
        _migrated.append(scratch.connection.serialize())
    else:
        scratch.connection.deserialize(_migrated[0])


def load_rows(archive: zipfile.ZipFile, names: list[str]) -> None:
    """The export's rows of these tables, by model label in order, with their own keys, into the scratch database."""
    known: dict[type[Model], set[Any]] = {}
    with removing(None, using=SCRATCH):
        for name in names:
            _load_table(archive, name, known)
        for model, link, target in LATER:
            _restore_link(archive, known, model, link, target)


def _load_table(archive: zipfile.ZipFile, name: str, known: dict[type[Model], set[Any]]) -> None:
    model = apps.get_model(name)
    manager = model._default_manager.using(SCRATCH)
    # Migrations may have put rows of their own there.
    manager.all().delete()
    names = {one.attname for one in model._meta.concrete_fields}
    links = [one for one in model._meta.concrete_fields if isinstance(one, ForeignKey)]
    own = known.setdefault(model, set())
    batch: list[Model] = []
    with archive.open(f"rows/{name}.jsonl") as lines:
        for line in lines:
            row = json.loads(line)
            own.add(row[model._meta.pk.attname])
            batch.append(_object(model, row, names, links, known))
            if len(batch) >= AT_ONCE:
                manager.bulk_create(batch)
                batch = []
    manager.bulk_create(batch)
    _restore_times(model, archive, name)


def _object(
    model: type[Model], row: dict[str, Any], names: set[str], links: list[Any], known: dict[type[Model], set[Any]]
) -> Model:
    """The row as an object; a link to something that stayed behind is cut, a text is as long as it was."""
    values = {name: value for name, value in row.items() if name in names}
    for link in links:
        target = link.related_model
        there = known.get(target)
        if (
            values.get(link.attname) is not None
            and link.null
            and target is not model
            and (there is None or values[link.attname] not in there)
        ):
            values[link.attname] = None
    if "characters" in row:
        values["text"] = None if row["characters"] is None else " " * row["characters"]
    for one in model._meta.concrete_fields:
        if one.attname in values and isinstance(values[one.attname], str):
            values[one.attname] = one.to_python(values[one.attname])
    return model(**values)


def _restore_link(
    archive: zipfile.ZipFile, known: dict[type[Model], set[Any]], model: type[Model], link: str, target: type[Model]
) -> None:
    """A link to a table that is written after the model's is made once both are there."""
    if model not in known:
        return
    there, links = known.get(target, set()), {}
    with archive.open(f"rows/{model._meta.label_lower}.jsonl") as lines:
        for line in lines:
            row = json.loads(line)
            if row.get(link) in there:
                links[row["id"]] = row[link]
    rows = [model(pk=pk, **{link: value}) for pk, value in links.items()]
    model._default_manager.using(SCRATCH).bulk_update(rows, [link], batch_size=AT_ONCE)


def _restore_times(model: type[Model], archive: zipfile.ZipFile, name: str) -> None:
    """Fits are told apart by when they were made, which creating them anew has overwritten."""
    if model is not Fit:
        return
    with archive.open(f"rows/{name}.jsonl") as lines:
        for line in lines:
            row = json.loads(line)
            made = datetime.fromisoformat(row["created_at"])
            Fit.objects.using(SCRATCH).filter(pk=row["id"]).update(created_at=made)

"""Every row of a table as a line of JSON that both databases write and read alike, and a hash that does not name either.

A hash is the sum of the hashes of the rows, so it does not depend on their order: databases sort texts differently.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

from django.apps import apps
from django.db.models import Field, JSONField, Model
from django.utils.duration import duration_iso_string

from core.db.bulk_insert import Inserting

AT_ONCE = 2000
WHOLE = 1 << 256

AnyField: TypeAlias = "Field[Any, Any]"


def tables() -> dict[str, type[Model]]:
    """Return the model of every table by the table's name."""
    models = apps.get_models(include_auto_created=True)
    return {one._meta.db_table: one for one in models if one._meta.managed and not one._meta.proxy}


def columns_of(model: type[Model]) -> list[AnyField]:
    """Return the fields that the table stores and that the database does not compute."""
    return [one for one in model._meta.local_concrete_fields if not getattr(one, "generated", False)]


class RowsHash:
    """Counts and hashes rows in any order."""

    def __init__(self, model: type[Model]) -> None:
        self.count = 0
        self._sum = 0
        self._json = [place for place, one in enumerate(columns_of(model)) if isinstance(one, JSONField)]

    def add(self, row: list[Any], line: str) -> None:
        """Add a row and its line. PostgreSQL stores JSON without the order of keys and the form of numbers."""
        if any(row[place] is not None for place in self._json):
            row = list(row)
            for place in self._json:
                row[place] = _normal(row[place])
            line = json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        self.count += 1
        self._sum += int.from_bytes(hashlib.sha256(line.encode()).digest(), "big")

    @property
    def hash(self) -> str:
        return f"{self._sum % WHOLE:064x}"


def lines_of(model: type[Model], *, using: str, into: RowsHash) -> Iterator[str]:
    """Yield the table's rows as lines, which are added to the hash."""
    rows = model._base_manager.using(using).order_by("pk")
    for values in rows.values_list(*(one.attname for one in columns_of(model))).iterator(chunk_size=AT_ONCE):
        row = [value if value is None or isinstance(value, PLAIN) else _plain(value) for value in values]
        line = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
        into.add(row, line)
        yield line


def insert_lines(model: type[Model], lines: Iterable[bytes], *, using: str) -> Iterator[int]:
    """Insert the rows of the lines as they stand, and yield after some how many they were. Raises ValueError."""
    fields = columns_of(model)
    inserting = Inserting(model, *(one.attname for one in fields), using=using)
    batch: list[list[Any]] = []
    for line in lines:
        row = json.loads(line)
        if not isinstance(row, list) or len(row) != len(fields):
            raise ValueError(f"a row of {model._meta.db_table} has not {len(fields)} values")
        pairs = zip(fields, row, strict=True)
        batch.append([value if isinstance(field, JSONField) else _value(field, value) for field, value in pairs])
        if len(batch) >= AT_ONCE:
            inserting.insert(batch)
            yield len(batch)
            batch = []
    inserting.insert(batch)
    yield len(batch)


PLAIN = (str, int, float, dict, list)


def _plain(value: Any) -> Any:
    """Return a value that JSON has, from which the field's `to_python` makes the value again."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, timedelta):
        return duration_iso_string(value)
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(value)).decode()
    raise TypeError(f"a backup cannot hold values of type {type(value).__name__}")


def _value(field: AnyField, value: Any) -> Any:
    try:
        return value if value is None else field.to_python(value)
    except Exception as error:  # each kind of field raises errors of its own
        raise ValueError(f"{field.model._meta.db_table}.{field.column} does not hold {str(value)[:40]!r}") from error


def _normal(value: Any) -> Any:
    """Return JSON with whole numbers as integers, as PostgreSQL may return them."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _normal(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_normal(one) for one in value]
    return value

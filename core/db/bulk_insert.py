"""Bulk inserts by a prepared statement, for code in which one model instance per row costs too much."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import connections, models, router

PLAIN = (models.ForeignKey, models.CharField, models.TextField, models.IntegerField, models.FloatField)
"""Fields whose values every database accepts unchanged."""


class Inserting:
    """An insert of many rows with the named fields; every other field must be in `constant` or accept null.

    `constant` holds values that are the same for every row. Inside a transaction, IntegrityError is raised for all rows
    of a call or for none; with `skip_known`, rows that a constraint refuses are left out instead.
    """

    def __init__(self, model: type[models.Model], *names: str, skip_known: bool = False) -> None:
        self._model = model
        self._ending = " ON CONFLICT DO NOTHING" if skip_known else ""
        self._fields = [_field(model, name) for name in names]

    def insert(self, rows: Iterable[Sequence[object]], **constant: object) -> None:
        alias = router.db_for_write(self._model)
        connection = connections[alias]
        fixed = [_field(self._model, name) for name in constant]
        tail = [
            field.get_db_prep_save(value, connection) for field, value in zip(fixed, constant.values(), strict=True)
        ]
        turned = [
            (place, turn) for place, field in enumerate(self._fields) if (turn := _turn(field, connection)) is not None
        ]
        prepared = []
        for row in rows:
            values = list(row)
            for place, turn in turned:
                values[place] = turn(values[place])
            prepared.append([*values, *tail])
        if not prepared:
            return
        quote = connection.ops.quote_name
        columns = ", ".join(quote(field.column or "") for field in (*self._fields, *fixed))
        places = ", ".join(["%s"] * (len(self._fields) + len(fixed)))
        with connection.cursor() as cursor:
            table = quote(self._model._meta.db_table)
            cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places}){self._ending}", prepared)


def _field(model: type[models.Model], name: str) -> "models.Field[Any, Any]":
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field


def _turn(field: "models.Field[Any, Any]", connection: Any) -> Callable[[object], object] | None:
    """Return the function that converts a value of the field for the database, or None if no conversion is needed."""
    if isinstance(field, PLAIN):
        return None
    return lambda value: field.get_db_prep_save(value, connection)

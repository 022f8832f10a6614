"""Insert many rows of one table without model instances: by COPY on PostgreSQL, else by one prepared statement."""

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

    def __init__(self, model: type[models.Model], *names: str, skip_known: bool = False, using: str = "") -> None:
        self._model = model
        self._using = using
        self._ending = " ON CONFLICT DO NOTHING" if skip_known else ""
        self._fields = [_field(model, name) for name in names]

    def insert(self, rows: Iterable[Sequence[object]], **constant: object) -> None:
        alias = self._using or router.db_for_write(self._model)
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
        table = quote(self._model._meta.db_table)
        columns = ", ".join(quote(field.column or "") for field in (*self._fields, *fixed))
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql" and not self._ending:
                _copy(connection, cursor, f"COPY {table} ({columns}) FROM STDIN", prepared)
            else:
                places = ", ".join(["%s"] * len(prepared[0]))
                statement = f"INSERT INTO {table} ({columns}) VALUES ({places}){self._ending}"  # nosec B608 # quoted names
                cursor.executemany(statement, prepared)


def _copy(connection: Any, cursor: Any, statement: str, rows: Iterable[Sequence[object]]) -> None:
    """Send the rows in one stream, for which PostgreSQL takes a fraction of the time of a statement a row."""
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _field(model: type[models.Model], name: str) -> "models.Field[Any, Any]":
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field


def _turn(field: "models.Field[Any, Any]", connection: Any) -> Callable[[object], object] | None:
    """Return the function that converts a value of the field for the database, or None if no conversion is needed."""
    if isinstance(field, PLAIN):
        return None
    return lambda value: field.get_db_prep_save(value, connection)

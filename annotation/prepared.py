"""Queries on a rater's way from one task to the next, compiled once and run with other values.

Putting a query together takes Django several times as long as the database takes to answer it. What is kept here is
the statement and how its rows become objects; never a row.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

M = TypeVar("M", bound=Model)
EXAMPLE_ID = 2**40 + 61
EXAMPLE_NAME = "example-of-a-public-id"
EXAMPLE_TIME = datetime(1901, 2, 3, 4, 5, 6, 789, tzinfo=UTC)


def _adapted(value: Any) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value


class _Statement:
    """A compiled query of one database, and where in its parameters the values go."""

    def __init__(self, queryset: QuerySet[Any], examples: tuple[Any, ...]) -> None:
        self.compiler = queryset.query.get_compiler(connection=connections[DEFAULT_DB_ALIAS])
        self.sql, parameters = self.compiler.as_sql()
        columns = [column[0] for column in self.compiler.select[: self.compiler.col_count]]
        self.converters = self.compiler.get_converters(columns)
        self.parameters = list(parameters)
        self.shape: tuple[int, int, list[str], list[Any]] | None = None
        known = [_adapted(example) for example in examples]
        self.places = [
            (place, known.index(parameter))
            for place, parameter in enumerate(self.parameters)
            if parameter in known
        ]
        if {which for _place, which in self.places} != set(range(len(examples))):
            raise ValueError(f"a value of a prepared query is not among its parameters: {self.sql}")

    def rows(self, values: tuple[Any, ...]) -> list[Any]:
        parameters = list(self.parameters)
        for place, which in self.places:
            parameters[place] = _adapted(values[which])
        with connection.cursor() as cursor:
            cursor.execute(self.sql, parameters)
            found = cursor.fetchall()
        return list(self.compiler.apply_converters(found, self.converters)) if self.converters else found


class Prepared(Generic[M]):
    """A query for rows of a model, with related ones; `examples` stand for its values and occur nowhere else in it."""

    def __init__(self, build: Callable[..., QuerySet[M]], *examples: Any) -> None:
        self.build, self.examples = build, examples
        self._statements: dict[str, _Statement] = {}

    def _statement(self) -> _Statement:
        statement = self._statements.get(connection.vendor)
        if statement is None:
            statement = self._statements[connection.vendor] = _Statement(
                self.build(*self.examples), self.examples
            )
        return statement

    def all(self, *values: Any) -> list[M]:
        """The rows for these values; one query."""
        statement = self._statement()
        start, end, names, populators = self._shape(statement)
        made = []
        for row in statement.rows(values):
            instance: M = statement.compiler.klass_info["model"].from_db(
                DEFAULT_DB_ALIAS, names, row[start:end]
            )
            for populator in populators:
                populator.populate(row, instance)
            made.append(instance)
        return made

    def _shape(self, statement: _Statement) -> tuple[int, int, list[str], list[Any]]:
        """Which columns are the model's own, their names, and what makes the related objects of the rest."""
        if statement.shape is None:
            compiler = statement.compiler
            fields = compiler.klass_info["select_fields"]
            start, end = fields[0], fields[-1] + 1
            names = [column[0].target.attname for column in compiler.select[start:end]]
            populators = get_related_populators(compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
            statement.shape = start, end, names, populators
        return statement.shape

    def first(self, *values: Any) -> M | None:
        return next(iter(self.all(*values)), None)


class PreparedValues:
    """A query for plain rows: tuples, in the order of its columns."""

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], *examples: Any) -> None:
        self.build, self.examples = build, examples
        self._statements: dict[str, _Statement] = {}

    def all(self, *values: Any) -> list[tuple[Any, ...]]:
        """The rows for these values; one query."""
        statement = self._statements.get(connection.vendor)
        if statement is None:
            statement = self._statements[connection.vendor] = _Statement(
                self.build(*self.examples), self.examples
            )
        return [tuple(row) for row in statement.rows(values)]

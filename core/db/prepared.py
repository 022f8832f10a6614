"""Queries and writes that are compiled once and run with other values, for a rater's way from task to task.

Django takes several times as long to build a query as the database takes to answer it, and PostgreSQL takes longer to
plan it than to run it. This module keeps the statement and the conversion of its rows to objects. It keeps rows only if
the caller asks for it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Field, Model, QuerySet
from django.db.models.query import get_related_populators
from django.db.models.sql import DeleteQuery, UpdateQuery

M = TypeVar("M", bound=Model)
K = TypeVar("K")
EXAMPLE_ID = 2**40 + 61
OTHER_ID = 2**40 + 63
EXAMPLE_NUMBER = 2**30 + 3
EXAMPLE_SHARE = 2.0**-20
OTHER_SHARE = 2.0**-21
EXAMPLE_NAME = "example-of-a-public-id"
OTHER_NAME = "another-public-id"
EXAMPLE_TIME = datetime(1901, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
KEPT = 512
EXAMPLE_JSON = {"example": "of a value in JSON"}
OTHER_TIME = datetime(1902, 2, 3, 4, 5, 6, 789, tzinfo=UTC)


def _adapted(value: Any) -> Any:
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return connection.ops.adapt_json_value(value, None) if isinstance(value, dict) else value


def _comparable(parameter: Any) -> Any:
    """Return a parameter in a form that can be compared: PostgreSQL's JSON wrapper equals only itself."""
    return getattr(parameter, "obj", parameter)


@cache
def _planned_once() -> Any:
    """Return psycopg's cursor class, extended so that logged queries show what was executed."""
    from psycopg import Cursor

    class PlannedOnce(Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            done = super().execute(query, params, **options)
            if connection.queries_logged:
                self._query = SimpleNamespace(query=str(query).encode())  # type: ignore[assignment]
            return done

    return PlannedOnce


def prepared_cursor() -> CursorWrapper:
    """Return a cursor whose statements PostgreSQL parses and plans once per connection (prepare_threshold 0).

    Behind a pooler of transactions there is no such connection, and each statement is planned when it is run.
    """
    cursor: CursorWrapper = connection.cursor()
    if connection.vendor == "postgresql" and settings.DATABASE_POOLER != "transaction":
        cursor.cursor = _planned_once()(connection.connection)
    return cursor


class _Filled:
    """A statement with its parameters, and the positions in them at which values are filled in."""

    def __init__(self, sql: str, parameters: Sequence[Any], examples: tuple[Any, ...]) -> None:
        self.sql, self.parameters = sql, list(parameters)
        known = [_comparable(_adapted(example)) for example in examples]
        self.places = [
            (place, known.index(_comparable(parameter)))
            for place, parameter in enumerate(self.parameters)
            if _comparable(parameter) in known
        ]
        if {which for _place, which in self.places} != set(range(len(examples))):
            raise ValueError(f"a value of a prepared query is not among its parameters: {sql}")

    def with_values(self, values: tuple[Any, ...]) -> list[Any]:
        parameters = list(self.parameters)
        for place, which in self.places:
            parameters[place] = _adapted(values[which])
        return parameters


class _Statement:
    """A compiled query of one database, with the conversion of its rows to values."""

    def __init__(self, queryset: QuerySet[Any], examples: tuple[Any, ...]) -> None:
        self.compiler = queryset.query.get_compiler(connection=connections[DEFAULT_DB_ALIAS])
        sql, parameters = self.compiler.as_sql()
        self.filled = _Filled(sql, parameters, examples)
        columns = [column[0] for column in self.compiler.select[: self.compiler.col_count]]
        self.converters = self.compiler.get_converters(columns)
        self.shape: tuple[int, int, list[str], list[Any]] | None = None

    def fetched(self, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return the rows as the database driver returns them."""
        with prepared_cursor() as cursor:
            cursor.execute(self.filled.sql, self.filled.with_values(values))
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return found

    def converted(self, fetched: list[tuple[Any, ...]]) -> list[Any]:
        return list(self.compiler.apply_converters(fetched, self.converters)) if self.converters else fetched

    def rows(self, values: tuple[Any, ...]) -> list[Any]:
        return self.converted(self.fetched(values))


class Prepared(Generic[M]):
    """A query for rows of a model with related rows; `examples` stand for its values and must occur nowhere else in it."""

    def __init__(self, build: Callable[..., QuerySet[M]], *examples: Any) -> None:
        self.build, self.examples = build, examples
        self._statements: dict[str, _Statement] = {}

    def _statement(self) -> _Statement:
        statement = self._statements.get(connection.vendor)
        if statement is None:
            statement = self._statements[connection.vendor] = _Statement(self.build(*self.examples), self.examples)
        return statement

    def all(self, *values: Any) -> list[M]:
        """Return the rows for these values; runs one query."""
        statement = self._statement()
        return self._made(statement, statement.fetched(values))

    def kept(self, make: Callable[[list[M]], K], known: dict[Any, K], *values: Any) -> K:
        """Return what `make` returns for the rows of these values, or its earlier result for the same rows; one query.

        This is for rows that seldom change and that nobody changes in memory. `known` keeps at most KEPT results.
        """
        statement = self._statement()
        fetched = statement.fetched(values)
        key = tuple(fetched)
        found = known.get(key)
        if found is None:
            if len(known) >= KEPT:
                known.clear()
            found = known[key] = make(self._made(statement, fetched))
        return found

    def _made(self, statement: _Statement, fetched: list[tuple[Any, ...]]) -> list[M]:
        start, end, names, populators = self._shape(statement)
        made = []
        for row in statement.converted(fetched):
            instance: M = statement.compiler.klass_info["model"].from_db(DEFAULT_DB_ALIAS, names, row[start:end])
            for populator in populators:
                populator.populate(row, instance)
            made.append(instance)
        return made

    def _shape(self, statement: _Statement) -> tuple[int, int, list[str], list[Any]]:
        """Return the range and names of the model's own columns, and the functions that make the related objects."""
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
    """A query for plain rows: tuples in the order of its columns."""

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], *examples: Any) -> None:
        self.build, self.examples = build, examples
        self._statements: dict[str, _Statement] = {}

    def all(self, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows for these values; runs one query."""
        statement = self._statements.get(connection.vendor)
        if statement is None:
            statement = self._statements[connection.vendor] = _Statement(self.build(*self.examples), self.examples)
        return [tuple(row) for row in statement.rows(values)]


class PreparedChange:
    """An update, or a deletion if there are no values to set; `build` returns the rows and the values."""

    def __init__(self, build: Callable[..., tuple[QuerySet[Any], Mapping[str, Any] | None]], *examples: Any) -> None:
        self.build, self.examples = build, examples
        self._statements: dict[str, _Filled] = {}

    def run(self, *values: Any) -> int:
        """Run one statement and return the number of changed rows. None sets a column to null."""
        statement = self._statements.get(connection.vendor)
        if statement is None:
            statement = self._statements[connection.vendor] = self._compiled()
        with prepared_cursor() as cursor:
            cursor.execute(statement.sql, statement.with_values(values))
            return int(cursor.rowcount)

    def _compiled(self) -> _Filled:
        rows, changes = self.build(*self.examples)
        query: Any
        if changes is None:
            query = rows.query.clone()
            query.__class__ = DeleteQuery
        else:
            query = rows.query.chain(UpdateQuery)
            query.add_update_values(changes)
        sql, parameters = query.get_compiler(connection=connections[DEFAULT_DB_ALIAS]).as_sql()
        return _Filled(sql, parameters, self.examples)


class PreparedInsert(Generic[M]):
    """An insert of whole instances of a model; a single inserted instance receives its id."""

    def __init__(self, model: type[M]) -> None:
        self.model = model
        self._statements: dict[tuple[str, int], str] = {}

    @property
    def _fields(self) -> list["Field[Any, Any]"]:
        return [field for field in self.model._meta.concrete_fields if not field.primary_key]

    def run(self, *instances: M) -> None:
        """Run one statement. Raises IntegrityError for all instances or for none."""
        if not instances:
            return
        fields, own = self._fields, connections[DEFAULT_DB_ALIAS]
        values = [
            field.get_db_prep_save(field.pre_save(instance, add=True), own)
            for instance in instances
            for field in fields
        ]
        sql = self._statements.get((connection.vendor, len(instances)))
        if sql is None:
            sql = self._statements[connection.vendor, len(instances)] = self._compiled(fields, len(instances))
        with prepared_cursor() as cursor:
            cursor.execute(sql, values)
            if len(instances) == 1:
                instances[0].pk = cursor.fetchall()[0][0]
                instances[0]._state.adding, instances[0]._state.db = False, DEFAULT_DB_ALIAS

    def _compiled(self, fields: Sequence["Field[Any, Any]"], rows: int) -> str:
        quote, meta = connection.ops.quote_name, self.model._meta
        assert meta.pk is not None
        columns = ", ".join(quote(field.column or "") for field in fields)
        places = ", ".join(["(" + ", ".join(["%s"] * len(fields)) + ")"] * rows)
        returning = f" RETURNING {quote(meta.pk.column or '')}" if rows == 1 else ""
        return f"INSERT INTO {quote(meta.db_table)} ({columns}) VALUES {places}{returning}"  # nosec B608 # quoted names

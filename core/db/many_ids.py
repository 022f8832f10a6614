"""Find rows by thousands of ids, which PostgreSQL takes as one parameter instead of one each."""

from collections.abc import Collection
from typing import TypeVar

from django.db import connections
from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


def with_ids(rows: QuerySet[M], ids: Collection[int]) -> QuerySet[M]:
    """Return the rows with these primary keys, as `filter(pk__in=ids)` does."""
    connection = connections[rows.db]
    if connection.vendor != "postgresql":
        return rows.filter(pk__in=ids)
    meta, quote = rows.model._meta, connection.ops.quote_name
    assert meta.pk is not None
    column = f"{quote(meta.db_table)}.{quote(meta.pk.column or '')}"
    return rows.extra(where=[f"{column} = ANY(%s)"], params=[list(ids)])  # nosec B610 # a quoted column of a model

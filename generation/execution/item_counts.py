"""How many items runs have and how many of them are done, counted beside each run."""

from typing import TypeVar, cast

from django.db.models import Count, IntegerField, Model, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

R = TypeVar("R", bound=Model)


def with_counts(runs: "QuerySet[R]", items: "QuerySet[Model]", waiting: str) -> "QuerySet[R]":
    """The runs with `total` and `done` of `items`, those whose status is not `waiting`.

    By subqueries: joined and grouped, every item would carry its run's manifest and prompt along.
    """
    counted = runs.annotate(total=_count(items), done=_count(items.exclude(status=waiting)))
    return cast("QuerySet[R]", counted)


def _count(items: "QuerySet[Model]") -> Coalesce:
    counted = items.filter(run=OuterRef("pk")).order_by().values("run").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))

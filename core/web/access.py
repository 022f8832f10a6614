"""A row for somebody who may see it; for everybody else there is none, and nobody learns whether there is one."""

from typing import TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404

Row = TypeVar("Row", bound=Model)


def visible_or_404(queryset: QuerySet[Row], *, message: str = "") -> Row:
    """The first of the rows that the asker may see. Raises Http404, with the message, where there is none."""
    found = queryset.first()
    if found is None:
        raise Http404(message)
    return found

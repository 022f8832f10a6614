"""Looking up a row for a user: a row that the user may not see looks like a row that does not exist."""

from typing import TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404

Row = TypeVar("Row", bound=Model)


def visible_or_404(queryset: QuerySet[Row], *, message: str = "") -> Row:
    """Return the first row of `queryset`, which holds only rows that the user may see.

    Raises Http404 with the message if there is none.
    """
    found = queryset.first()
    if found is None:
        raise Http404(message)
    return found

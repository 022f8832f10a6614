"""What every page knows about the person looking at it."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.permissions import LEADING, READING, roles_of


def membership(request: HttpRequest) -> dict[str, Any]:
    """`is_lead`: whether the navigation offers the pages of results; `leads_people`: whether it offers that of people.

    Asked of the database only where they are used, and then once.
    """
    user = getattr(request, "user", None)
    roles = SimpleLazyObject(lambda: roles_of(user) if user and user.is_authenticated else frozenset())
    return {
        "is_lead": SimpleLazyObject(lambda: not roles.isdisjoint(READING)),
        "leads_people": SimpleLazyObject(lambda: not roles.isdisjoint(LEADING)),
    }

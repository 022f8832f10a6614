"""Template variables about the visitor that every page receives."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.permissions import LEADING, READING, roles_of


def membership(request: HttpRequest) -> dict[str, Any]:
    """Return `is_lead` (whether the navigation offers result pages) and `leads_people` (whether it offers the members).

    Each value queries the database only if a template uses it, and then once.
    """
    user = getattr(request, "user", None)
    roles = SimpleLazyObject(lambda: roles_of(user) if user and user.is_authenticated else frozenset())
    return {
        "is_lead": SimpleLazyObject(lambda: not roles.isdisjoint(READING)),
        "leads_people": SimpleLazyObject(lambda: not roles.isdisjoint(LEADING)),
    }

"""What every page knows about the person looking at it."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.permissions import leads_somewhere


def membership(request: HttpRequest) -> dict[str, Any]:
    """`is_lead` says whether the navigation offers a lead's pages; asked of the database only where it is used."""
    user = getattr(request, "user", None)
    return {
        "is_lead": SimpleLazyObject(lambda: bool(user and user.is_authenticated and leads_somewhere(user)))
    }

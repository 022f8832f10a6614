"""What every page knows about the person looking at it."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.permissions import leads_somewhere, workspaces_led_by


def membership(request: HttpRequest) -> dict[str, Any]:
    """`is_lead`: whether the navigation offers the pages of results; `leads_people`: whether it offers that of people.

    Asked of the database only where they are used.
    """
    user = getattr(request, "user", None)
    signed_in = user if user and user.is_authenticated else None
    return {
        "is_lead": SimpleLazyObject(lambda: bool(signed_in and leads_somewhere(signed_in))),
        "leads_people": SimpleLazyObject(lambda: bool(signed_in and workspaces_led_by(signed_in).exists())),
    }

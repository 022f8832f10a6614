"""Addresses that nothing here can have: PostgreSQL refuses to look for a text with a NUL character in it."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse


class NoNulMiddleware:
    """404 where an address holds one, whatever the database; what follows its question mark is read without them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "%00" in request.META.get("QUERY_STRING", ""):
            request.META["QUERY_STRING"] = _without_nul(request.META["QUERY_STRING"])
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> None:
        if "\x00" in request.path:
            raise Http404


def _without_nul(query: str) -> str:
    """What stood on both sides of one may make another."""
    while "%00" in query:
        query = query.replace("%00", "")
    return query

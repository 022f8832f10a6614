"""Refusing NUL characters in URLs, because PostgreSQL refuses to search for a text that contains one."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse


class NoNulMiddleware:
    """Answer 404 for a path with a NUL character, on every database, and remove NUL characters from the query string."""

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
    """Return the query without %00; removing one can join its neighbours to another, so this repeats."""
    while "%00" in query:
        query = query.replace("%00", "")
    return query

"""What a page says while another program, a large load above all, keeps the database from being written to."""

from collections.abc import Callable

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from accounts.api_errors import for_program, told

SECONDS = 30


class BusyDatabaseMiddleware:
    """503 with Retry-After instead of an error of the server: what was sent can be sent again."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, OperationalError) or "locked" not in str(exception):
            return None
        headers = {"Retry-After": str(SECONDS), "Cache-Control": "no-store"}
        if for_program(request):
            return told(
                _("The database is busy with a large load; send this again in a while."), 503, headers
            )
        return HttpResponse(render_to_string("503.html"), status=503, headers=headers)

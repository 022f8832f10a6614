"""Around each request: its id, which the answer gives back, one line in the access log, and its metrics."""

import logging
import re
import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts.sign_in.client_address import from_listed_proxy
from config.observability.logs import request_id
from config.observability.secrets_in_paths import masked

access_log = logging.getLogger("plumbline.access")
USABLE = re.compile(r"[A-Za-z0-9._-]{1,64}")
QUIET = ("/health/", "/metrics")
"""Asked every few seconds by machines; they are logged only if they fail."""


class RequestMiddleware:
    """The outermost middleware, so that its time is that of the whole answer."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._count: Callable[[str, str, int, float], None] | None = None
        if settings.METRICS:
            from config.observability.metrics import count_request

            self._count = count_request

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begun = time.perf_counter()
        token = request_id.set(id_of(request))
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id.get()
            self._note(request, response.status_code, time.perf_counter() - begun)
        finally:
            request_id.reset(token)
        return response

    def _note(self, request: HttpRequest, status: int, seconds: float) -> None:
        match = request.resolver_match
        if self._count is not None:
            # The name and never the address: a label for each token or id would have no end.
            self._count(match.view_name or "unnamed" if match else "none", request.method or "", status, seconds)
        if status < 500 and request.path.startswith(QUIET):
            return
        path = masked(request.path, match)
        extra = {"method": request.method, "path": path, "status": status, "milliseconds": round(1000 * seconds)}
        access_log.info("%s %s %d %d ms", request.method, path, status, round(1000 * seconds), extra=extra)


def id_of(request: HttpRequest) -> str:
    """Return the id that a listed proxy gave the request, or a new one: anybody else could write anything into a log."""
    given = str(request.META.get("HTTP_X_REQUEST_ID", ""))
    if given and USABLE.fullmatch(given) and from_listed_proxy(request):
        return given
    return secrets.token_hex(8)

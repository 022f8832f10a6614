"""Responses while the database cannot be used, because another program blocks writing or the server is down."""

import sys
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.log import log_response
from django.utils.translation import gettext as _

from core.db.full_disk import is_full, sqlstate
from core.web import api_errors
from core.web.api_errors import for_program, told
from core.web.notices import asks_for_part, notice

SECONDS = 30


class BusyDatabaseMiddleware:
    """Answer status 503 with Retry-After instead of a server error, so that the request can be sent again."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return without_database(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer errors outside of views too: the session, or a page about an error, may also need the database."""
    answer = without_database(request, sys.exc_info()[1])
    return answer or api_errors.server_error(request)


def without_database(request: HttpRequest, exception: BaseException | None) -> HttpResponse | None:
    """Return the response and log one line without a traceback; return None if the error is a different one."""
    full = is_full(exception)
    if not full and not isinstance(exception, OperationalError | InterfaceError):
        return None
    away = not full and (is_away() or _was_cut(exception))
    if not full and not away and "locked" not in str(exception):
        return None
    response = _answer(request, away=away, full=full)
    reason = str(exception).strip().partition("\n")[0]
    log_response("No database (%s): %s", reason, request.path, response=response, request=request)
    return response


def is_away() -> bool:
    """Return whether this thread has no database connection after an error, because it was cut or could not be made."""
    held = connection.connection
    return held is None or bool(getattr(held, "closed", False))


def _was_cut(exception: BaseException | None) -> bool:
    """Return whether PostgreSQL ended the connection or had no resources, though there may be a new one since.

    The classes are 08 (connection), 53 (memory, connections, space) and 57P (the server ends it); an error of PostgreSQL
    without a code is one of the connection itself.
    """
    cause = getattr(exception, "__cause__", None)
    return hasattr(cause, "sqlstate") and (sqlstate(exception) + "--").startswith(("--", "08", "53", "57P"))


def _answer(request: HttpRequest, *, away: bool, full: bool) -> HttpResponse:
    headers = {"Retry-After": str(SECONDS), "Cache-Control": "no-store"}
    if not for_program(request) and not asks_for_part(request):
        return HttpResponse(render_to_string("503.html", {"away": away, "full": full}), status=503, headers=headers)
    sentence = (
        _("The database is not responding at the moment. Send this again in a minute.")
        if away
        else _(
            "The server has no space left, so nothing was saved. Send this again when its administrator has made room."
        )
        if full
        else _("The database is busy loading a large table. Send this again in a minute.")
    )
    if for_program(request):
        return told(sentence, 503, headers)
    return notice(request, sentence, 503, headers)

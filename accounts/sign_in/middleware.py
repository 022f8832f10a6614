"""What signing in needs around a request: the device cookie, and an answer while passwords cannot be hashed."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from accounts.sign_in.devices import remember_browser
from accounts.sign_in.hashing import RETRY_SECONDS, HashingBusy, serving
from accounts.sign_in.record import SIGNED_IN
from core.web.api_errors import for_program, told
from core.web.notices import asks_for_part, notice


class SignInMiddleware:
    """Give the browser of a person who has just signed in its device cookie; answer 503 to surplus hashings."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = serving.set(True)
        try:
            response = self.get_response(request)
        finally:
            serving.reset(token)
        user = getattr(request, SIGNED_IN, None)
        if user is not None:
            remember_browser(request, response, user)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return _busy(request) if isinstance(exception, HashingBusy) else None


def _busy(request: HttpRequest) -> HttpResponse:
    headers = {"Retry-After": str(RETRY_SECONDS), "Cache-Control": "no-store"}
    sentence = _(
        "Many people are signing in at this moment, so nothing was checked or changed. Try again in a few seconds."
    )
    if for_program(request):
        return told(sentence, 503, headers)
    if asks_for_part(request):
        return notice(request, sentence, 503, headers)
    response = render(request, "accounts/busy.html", {"sentence": sentence}, status=503)
    for name, value in headers.items():
        response[name] = value
    return response

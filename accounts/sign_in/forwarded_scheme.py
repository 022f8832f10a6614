"""Whether a visitor came by HTTPS, as the proxies that the operator lists say."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts.sign_in.client_address import from_listed_proxy

logger = logging.getLogger(__name__)
HEADER = "HTTP_X_FORWARDED_PROTO"
OTHER_HEADERS = ("HTTP_X_FORWARDED_PROTOCOL", "HTTP_X_FORWARDED_SSL")
"""Headers that web servers such as gunicorn take for the same, from whoever connects to them from this machine."""


class ForwardedSchemeMiddleware:
    """Keep the scheme that a listed proxy says. Whoever else says one counts as a visitor by HTTP.

    The web server may have believed the header already, so a request that carries it keeps nothing of the connection's
    own scheme. Of several values, the last one counts, which the nearest proxy wrote.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.told = False

    def __call__(self, request: HttpRequest) -> HttpResponse:
        said = [request.META.pop(name) for name in (HEADER, *OTHER_HEADERS) if name in request.META]
        if said:
            scheme = "http"
            if from_listed_proxy(request):
                scheme = str(said[0]).rpartition(",")[2].strip().lower()
            elif not self.told:
                self.told = True
                logger.warning(
                    "X-Forwarded-Proto from %s is not believed, because PLUMBLINE_TRUSTED_PROXIES does not list this proxy.",
                    request.META.get("REMOTE_ADDR") or "a socket file",
                )
            request.META[settings.SECURE_PROXY_SSL_HEADER[0]] = scheme
        return self.get_response(request)

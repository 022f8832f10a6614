"""What every response to HTMX needs: Vary, and full-page redirects instead of a page inside a part."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect


class HtmxResponseMiddleware:
    """Set Vary: HX-Request, and turn a redirect that answers an HTMX request into a client-side redirect."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        patch_vary_headers(response, ["HX-Request"])
        if getattr(request, "htmx", False) and response.status_code in (301, 302, 303):
            return HttpResponseClientRedirect(response["Location"])
        return response

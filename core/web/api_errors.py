"""JSON answers for errors under /api/ that no view raised: an unknown address, an unreadable request, a fault."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views import defaults

API = "/api/"


def for_program(request: HttpRequest) -> bool:
    return request.path_info.startswith(API)


def told(detail: str, status: int, headers: Mapping[str, str] | None = None) -> JsonResponse:
    """Return {"detail": one sentence}, as rest_framework answers from within a view."""
    return JsonResponse({"detail": detail}, status=status, headers=headers)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not for_program(request):
        return defaults.page_not_found(request, exception)
    return told(_("There is no address %(path)s. /api/v1/schema/ lists all addresses.") % {"path": request.path}, 404)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not for_program(request):
        return defaults.bad_request(request, exception)
    return told(_("This request cannot be read. Check its address, headers and size."), 400)


def server_error(request: HttpRequest) -> HttpResponse:
    if not for_program(request):
        return defaults.server_error(request)
    return told(
        _("The server had an internal error, which is in its log. Try again later, or ask the server administrator."),
        500,
    )

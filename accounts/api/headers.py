"""Headers of every answer of the API: the rate limit, and an ETag by which a client asks again only for what changed."""

import hashlib
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import parse_etags
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from accounts.api.lists import Unusable
from core.web.api_errors import for_program

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The ETag of the answer to GET on this address. If it has changed since, nothing is done (412).",
)


class ApiHeadersMiddleware:
    """Adds the headers, and answers 304 where the client has the same already."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not for_program(request):
            return response
        if request.method in ("GET", "HEAD") and response.status_code == 200 and not response.streaming:
            response["ETag"] = etag_of(response.content)
            patch_cache_control(response, private=True, no_cache=True)
            response = get_conditional_response(request, etag=response["ETag"], response=response) or response
        if (rate := vars(request).get("api_rate")) is not None:
            for name, value in rate.headers().items():
                response[name] = value
        return response


def etag_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def check_unchanged(request: Request, data: Any) -> None:
    """Raise Unusable (412) if the request has If-Match and `data`, the answer to GET now, is not what it names."""
    wanted = parse_etags(request.headers.get("If-Match", ""))
    if wanted and wanted != ["*"] and etag_of(JSONRenderer().render(data)) not in wanted:
        raise Unusable(
            _("Somebody has changed this since you read it. Read it again, then repeat your change."), status=412
        )

"""The one way in which a page takes files: a view marked `takes_files`, up to a size that the settings state."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from core.web.refused_requests import FilesTooBig

View = Callable[..., HttpResponse]


class LimitedFiles(TemporaryFileUploadHandler):
    """Writes files to disk as they arrive, and refuses a request that is longer than the settings allow."""

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, boundary: Any, encoding: Any = None
    ) -> None:
        if content_length > settings.UPLOAD_MOST:
            raise FilesTooBig("The files are larger than the limit of this installation.")


def takes_files(allowed: Callable[[HttpRequest], bool]) -> Callable[[View], View]:
    """Let a view receive files from those who may send them; from others none is read.

    The token against forged forms is in the form, so it is checked after the handler of files is set.
    """

    def decorate(view: View) -> View:
        checked = csrf_protect(view)

        @csrf_exempt
        @wraps(view)
        def taking(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method == "POST" and allowed(request):
                request.upload_handlers = [LimitedFiles(request)]
            return checked(request, *args, **kwargs)

        return taking

    return decorate

"""Responses to requests that cannot be read: a form that is too long, has too many fields, or is malformed."""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent, TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import requires_csrf_token

from core.web import api_errors
from core.web.api_errors import for_program
from core.web.notices import asks_for_part, notice

MEGABYTE = 1024 * 1024


class FileSent(SuspiciousOperation):
    """A form contained a file, which no page accepts."""


class FilesTooBig(RequestDataTooBig):
    """Uploaded files are larger than the installation allows."""


class NoFiles(FileUploadHandler):
    """An upload handler that writes nothing to disk and applies the size limit of forms to files too."""

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, boundary: Any, encoding: Any = None
    ) -> None:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if most is not None and content_length > most:
            raise RequestDataTooBig("The body with its files is longer than a form may be.")

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise FileSent("No page takes a file.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        raise FileSent("No page takes a file.")

    def file_complete(self, file_size: int) -> None:
        raise FileSent("No page takes a file.")


@requires_csrf_token
def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer with status 413 if the request is too long, and with 400 otherwise."""
    if for_program(request):
        return api_errors.bad_request(request, exception)
    status = 413 if isinstance(exception, RequestDataTooBig) else 400
    sentence = refusal(exception)
    if asks_for_part(request):
        return notice(request, sentence)
    context = {"sentence": sentence, "typed": request.method == "POST"}
    return render(request, "400.html", context, status=status)


def refusal(exception: Exception) -> str:
    """Return a sentence that says what was wrong and what to do."""
    match exception:
        case FilesTooBig():
            return _(
                "The files are larger than the limit of %(n)s MB, so nothing was changed. Leave out what is not needed, or "
                "load the folder from the command line."
            ) % {"n": f"{settings.UPLOAD_MOST / MEGABYTE:g}"}
        case RequestDataTooBig():
            size = (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) / MEGABYTE
            return _(
                "The form is longer than the limit of %(n)s MB, so nothing was changed. Shorten it, or load large "
                "tables from the command line."
            ) % {"n": f"{size:g}"}
        case TooManyFieldsSent() | TooManyFilesSent():
            return _(
                "The form has more fields than the limit of %(n)s, so nothing was changed. Send it in several parts."
            ) % {"n": settings.DATA_UPLOAD_MAX_NUMBER_FIELDS}
        case FileSent():
            return _(
                "This site does not accept files, so nothing was changed. The server administrator can load tables "
                "from the command line."
            )
    return _("This request cannot be read. Check its address, headers and size.")

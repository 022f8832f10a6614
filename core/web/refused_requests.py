"""What is said of a request that is not read: a form too long or with too many fields, or no sense in it."""

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
    """A form came with a file, which no page here takes."""


class NoFiles(FileUploadHandler):
    """Nothing that is sent is written to a disk, and the bound on a form holds for files, too."""

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
    """413 for what is too long, else 400."""
    if for_program(request):
        return api_errors.bad_request(request, exception)
    status = 413 if isinstance(exception, RequestDataTooBig) else 400
    sentence = refusal(exception)
    if asks_for_part(request):
        return notice(request, sentence)
    context = {"sentence": sentence, "typed": request.method == "POST"}
    return render(request, "400.html", context, status=status)


def refusal(exception: Exception) -> str:
    """What was wrong, and what to do."""
    match exception:
        case RequestDataTooBig():
            size = (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) / MEGABYTE
            return _(
                "What was sent is longer than the %(n)s MB that one form may have, so nothing was changed; "
                "shorten it, or load large tables with a command."
            ) % {"n": f"{size:g}"}
        case TooManyFieldsSent() | TooManyFilesSent():
            return _(
                "What was sent has more than the %(n)s fields that one form may have, so nothing was changed; "
                "send it in several parts."
            ) % {"n": settings.DATA_UPLOAD_MAX_NUMBER_FIELDS}
        case FileSent():
            return _(
                "No page of this site takes a file, so nothing was changed; whoever runs the server loads tables with a "
                "command."
            )
    return _("This request cannot be read; check its address, its headers and its size.")

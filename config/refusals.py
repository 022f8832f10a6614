"""What is said of a request that is not read: a form too long or with too many fields, or no sense in it."""

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import requires_csrf_token

from accounts import api_errors
from accounts.api_errors import for_program
from accounts.notices import asks_for_part, notice

MEGABYTE = 1024 * 1024


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
    return _("This request cannot be read; check its address, its headers and its size.")

"""Messages that answer a request for a part of a page and appear above the page instead of replacing the part."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html


def asks_for_part(request: HttpRequest) -> bool:
    """Return whether HTMX sent the request and would put a whole page into the part.

    The rating page's own script names no current page and reads only the status.
    """
    htmx = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and htmx.current_url is not None


def notice(
    request: HttpRequest, sentence: str, status: int = 422, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return a response that shows the sentence among the page's messages.

    A part that is polled stays unchanged. HTMX shows the body of a 422 response and of no other error.
    """
    body = format_html('<ul class="messages" role="alert"><li class="error">{}</li></ul>', sentence)
    where = {"HX-Retarget": "#messages", "HX-Reswap": "none" if request.method == "GET" else "innerHTML"}
    return HttpResponse(body, status=status, headers={**where, **(headers or {})})

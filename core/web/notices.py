"""A sentence for a request of a part of a page, shown above the page in place of that part."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html


def asks_for_part(request: HttpRequest) -> bool:
    """Whether HTMX asks, which would put a whole page into the part.

    The rating page's own script, which names no page that it stands on, goes by the status alone.
    """
    htmx = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and htmx.current_url is not None


def notice(
    request: HttpRequest, sentence: str, status: int = 422, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """The sentence among the page's messages; a part that is only looked at, again and again, stays as it is.

    HTMX shows what comes with 422 and, of other errors, nothing.
    """
    body = format_html('<ul class="messages" role="alert"><li class="error">{}</li></ul>', sentence)
    where = {"HX-Retarget": "#messages", "HX-Reswap": "none" if request.method == "GET" else "innerHTML"}
    return HttpResponse(body, status=status, headers={**where, **(headers or {})})

"""What a page that polls for a report, or a reader of its file, gets while there is nothing new to show."""

from django.http import HttpRequest, HttpResponse

from calibration.reports.freshness import Freshness

RETRY_SECONDS = 5


def unchanged(request: HttpRequest, freshness: Freshness) -> HttpResponse | None:
    """Answer a page that polls with nothing as long as it shows what there is, so that nothing moves under its reader."""
    if not getattr(request, "htmx", False) or "waiting" not in request.GET:
        return None
    asked = request.GET["waiting"]
    seen = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 19 else 0
    if freshness.under_way and not freshness.current and freshness.newest <= seen:
        return HttpResponse(status=204)
    return None


def not_yet() -> HttpResponse:
    """Answer a request for a file of a report that is being computed for the first time."""
    response = HttpResponse("", status=202, content_type="text/plain; charset=utf-8")
    response["Retry-After"] = str(RETRY_SECONDS)
    return response

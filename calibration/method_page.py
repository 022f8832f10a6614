"""The page behind 'computed by': the code of a method, as it runs here."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.permissions import results_page
from calibration.method_source import method_source


@require_safe
@results_page
def method(request: HttpRequest, module: str) -> HttpResponse:
    """One file of those that are shown; 404 for any other name."""
    found = method_source(module)
    if found is None:
        raise Http404(gettext("There is no such method."))
    return render(request, "calibration/method.html", {"found": found})

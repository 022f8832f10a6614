"""The page behind "Computed by": the source code of a method as it runs here."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.permissions import results_page
from calibration.web.former_methods import FORMER
from calibration.web.method_source import method_source


@require_safe
@results_page
def method(request: HttpRequest, module: str) -> HttpResponse:
    """Show a file that may be shown; a former name redirects to the present one, any other name is a 404."""
    if module in FORMER:
        return redirect("calibration:method", FORMER[module], permanent=True)
    found = method_source(module)
    if found is None:
        raise Http404(gettext("There is no such method."))
    return render(request, "calibration/method.html", {"found": found})

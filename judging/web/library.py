"""The page on which a lead loads the rubrics, guidelines and categories that come with the program into a workspace."""

from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by
from calibration.management.commands.load_library import load_library_once
from core.web.access import visible_or_404


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def load_library(request: HttpRequest) -> HttpResponse:
    """Offer each workspace that the user leads, and load the library into the one that is chosen."""
    user = cast(User, request.user)
    led = workspaces_led_by(user)
    if not led.exists():
        raise Http404
    if request.method == "POST":
        slug = str(request.POST.get("workspace", ""))
        workspace = visible_or_404(led.filter(slug=slug), message=_("There is no such workspace."))
        counts = load_library_once(workspace, by=user)
        if counts.created or counts.completed:
            messages.success(request, _("The library has been loaded into %(name)s.") % {"name": workspace.name})
        else:
            messages.info(request, _("Everything of the library is there already."))
        return redirect("library:rubrics")
    return render(request, "judging/load_library.html", {"workspaces": led.order_by("name")})

"""The page on which a lead asks for the demonstration and sees it being made."""

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User, Workspace
from accounts.permissions import results_page, workspaces_led_by
from core.errors import UserError
from core.web.access import visible_or_404
from judging.demonstration.background import ask_for_demonstration, state_of


def _workspace(request: HttpRequest, slug: str) -> Workspace:
    led = workspaces_led_by(cast(User, request.user))
    return visible_or_404(led.filter(slug=slug), message=_("There is no such workspace."))


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def demonstration(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how far the demonstration of a workspace is, and ask for it when the form is posted."""
    workspace, refusal = _workspace(request, slug), ""
    if request.method == "POST":
        try:
            ask_for_demonstration(workspace, by=cast(User, request.user))
        except UserError as problem:
            refusal = str(problem)
        else:
            return redirect("judging:demonstration", workspace.slug)
    context = {"workspace": workspace, "state": state_of(workspace), "refusal": refusal}
    return render(request, "judging/demonstration.html", context, status=409 if refusal else 200)


@results_page
@never_cache
@require_safe
def demonstration_state(request: HttpRequest, slug: str) -> HttpResponse:
    """The part of the page that changes."""
    workspace = _workspace(request, slug)
    context = {"workspace": workspace, "state": state_of(workspace), "refusal": ""}
    return render(request, "judging/demonstration.html#state", context)

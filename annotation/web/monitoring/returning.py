"""Where a lead goes after an action: back to the dashboard if it was begun there, otherwise to the action's own page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotation.models import Study

NEXT, DASHBOARD = "next", "desk"
"""The form field that says where an action was begun; any other value than DASHBOARD counts as none."""


def back_to_dashboard_or(request: HttpRequest, study: Study, name: str, *args: object) -> HttpResponse:
    """Redirect to the flags on the dashboard if the form says so, otherwise to the page `name` of the study."""
    if request.POST.get(NEXT) == DASHBOARD:
        return redirect(reverse("annotation:desk", args=[study]) + "#attention")
    return redirect(name, study, *args)

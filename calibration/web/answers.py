"""Result pages that each answer one question from a stored report."""

from typing import cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.web.agreement.detail import DETAIL_PAGE
from calibration.web.blocks import ResultPage
from calibration.web.pages import file_of, serve
from calibration.web.planner import PlannerForm, plan_page, starting_values
from calibration.web.rankings.page import RANKINGS_PAGE
from calibration.web.raters.page import RATERS_PAGE
from calibration.web.weights.detail import DEPTH_PAGE


@require_safe
@results_page
def raters(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how reliable the raters are; ?criterion= for severity, variance and consensus, ?file= for a download."""
    return serve(request, study_read_by(cast(User, request.user), slug), RATERS_PAGE)


@require_safe
@results_page
def rankings(request: HttpRequest, slug: str) -> HttpResponse:
    """Show which model is better; ?criterion= and ?by= (people or a judge's public id) select the ratings."""
    return serve(request, study_read_by(cast(User, request.user), slug), RANKINGS_PAGE)


@require_safe
@results_page
def weights_depth(request: HttpRequest, slug: str) -> HttpResponse:
    """Show whether the weights hold up; ?fit= selects the fit, ?with= another one to compare it with."""
    return serve(request, study_read_by(cast(User, request.user), slug), DEPTH_PAGE)


@require_safe
@results_page
def agreement_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show agreement by criterion, category and cohort, and whether a judge may replace people."""
    return serve(request, study_read_by(cast(User, request.user), slug), DETAIL_PAGE)


@require_safe
@results_page
def planner(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the precision, hours and cost of a study like this one; every number of the plan can be changed."""
    study = study_read_by(cast(User, request.user), slug)
    start = starting_values(study)
    given = {name: request.GET.get(name, value) for name, value in start.items()}
    form = PlannerForm(given)
    made = plan_page(form) if form.is_valid() else None
    page = made if isinstance(made, ResultPage) else None
    if page is not None and "file" in request.GET:
        return file_of(page, request.GET["file"], study)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "form": form,
        "page": page,
        "failure": made if isinstance(made, str) else "",
        "path": request.path,
        "query": urlencode(given),
    }
    return render(request, "calibration/planner.html", context)

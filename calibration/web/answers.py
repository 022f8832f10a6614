"""Result pages that answer one question each from a stored report."""

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page, workspaces_read_by
from annotation.models import Study
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
    """Can I trust these raters? ?criterion= for severity, variance and consensus; ?file= for a figure or table."""
    return serve(request, readable_study(request, slug), RATERS_PAGE)


@require_safe
@results_page
def rankings(request: HttpRequest, slug: str) -> HttpResponse:
    """Which model is better? ?criterion= and ?by= (people or a judge's public id) choose what it rests on."""
    return serve(request, readable_study(request, slug), RANKINGS_PAGE)


@require_safe
@results_page
def weights_depth(request: HttpRequest, slug: str) -> HttpResponse:
    """Do the weights hold? ?fit= chooses the fit, ?with= another to compare it with."""
    return serve(request, readable_study(request, slug), DEPTH_PAGE)


@require_safe
@results_page
def agreement_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Agreement by criterion, category and cohort, and whether a judge may replace people."""
    return serve(request, readable_study(request, slug), DETAIL_PAGE)


@require_safe
@results_page
def planner(request: HttpRequest, slug: str) -> HttpResponse:
    """What a study like this one would show, take and cost; every number of the plan can be changed."""
    study = readable_study(request, slug)
    start = starting_values(study)
    given = {name: request.GET.get(name, value) for name, value in start.items()}
    form = PlannerForm(given)
    made = plan_page(form) if form.is_valid() else None
    page = made if isinstance(made, ResultPage) else None
    if page is not None and "file" in request.GET:
        return file_of(page, request.GET["file"], study)
    context = {
        "study": study, "provenance": provenance_of(study), "form": form, "page": page,
        "failure": made if isinstance(made, str) else "", "path": request.path, "query": urlencode(given),
    }  # fmt: skip
    return render(request, "calibration/planner.html", context)


def readable_study(request: HttpRequest, slug: str) -> Study:
    """The study of this slug in a workspace whose results the user may see; 404 where there is none."""
    assert isinstance(request.user, User)
    study = (
        Study.objects.filter(slug=slug, workspace__in=workspaces_read_by(request.user)).order_by("pk").first()
    )
    if study is None:
        raise Http404(gettext("There is no such study in your workspaces."))
    return study

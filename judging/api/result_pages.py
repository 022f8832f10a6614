"""REST API of a study's result pages: what each page says, with the exact values of its tables, and the planner's plan."""

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable
from annotation.api.studies import study_to_read
from annotation.models import Study, excluded_shown
from annotation.monitoring.exclusion import excluded_in
from calibration.reports.cache import EXCLUDED, SHOWN
from calibration.reports.freshness import Freshness
from calibration.web.agreement.detail import DETAIL_PAGE
from calibration.web.agreement.page import AGREEMENT_PAGE
from calibration.web.blocks import ResultPage
from calibration.web.dashboard import dashboard_page
from calibration.web.freshness import RETRY_SECONDS
from calibration.web.planner import PlannerForm, plan_page, planner_form
from calibration.web.rankings.page import RANKINGS_PAGE
from calibration.web.raters.page import RATERS_PAGE
from calibration.web.serving import PageKind, result_of
from calibration.web.table_files import page_values
from calibration.web.weights.detail import DEPTH_PAGE
from judging.web.comparison.depth_pages import (
    AGAINST_PEOPLE_PAGE,
    CAUSES_PAGE,
    JUDGES_DEPTH_PAGE,
    METHODS_PAGE,
    PANEL_PAGE,
)
from judging.web.comparison.pages import judges_page
from judging.web.judges.table import JUDGE_TABLE_PAGE

Made = tuple[ResultPage | None, Freshness]
OF_ONE_REPORT: Mapping[str, PageKind[Any]] = {
    "agreement": AGREEMENT_PAGE,
    "agreement-detail": DETAIL_PAGE,
    "rankings": RANKINGS_PAGE,
    "raters": RATERS_PAGE,
    "weights-depth": DEPTH_PAGE,
    "judges-depth": JUDGES_DEPTH_PAGE,
    "judges-metrics": AGAINST_PEOPLE_PAGE,
    "judges-methods": METHODS_PAGE,
    "causes": CAUSES_PAGE,
    "panel": PANEL_PAGE,
    "judge-table": JUDGE_TABLE_PAGE,
}
OF_SEVERAL: Mapping[str, Callable[[Study], Made]] = {"dashboard": dashboard_page, "judges": judges_page}
PAGES = (*OF_ONE_REPORT, *OF_SEVERAL)
"""The result pages by their names in addresses."""
CHOICES = {
    "criterion": "Key of the criterion; default: that of the page.",
    "by": "Of rankings: what is ranked, as in the address of the page.",
    "against": "Of judges-methods: what is compared with, as in the address of the page.",
    "one": "Of judges-depth: the id of a judge.",
    "other": "Of judges-depth: the id of another judge.",
    "judge": "Of causes and panel: the id of a judge.",
    "fit": "Of weights-depth: the id of a fit.",
    "with_fit": "Of weights-depth: the id of the fit that it is compared with.",
}
ON_PAGES = {"with_fit": "with"}
"""Choices that the addresses of pages call otherwise."""


ASKED = [
    *(OpenApiParameter(name, str, description=said) for name, said in CHOICES.items()),
    OpenApiParameter("excluded", str, enum=[SHOWN], description="Count the answers that a lead excluded too."),
]


@extend_schema(
    operation_id="result_page",
    parameters=[OpenApiParameter("page", str, "path", enum=PAGES), *ASKED],
    responses={200: OpenApiTypes.OBJECT, 202: OpenApiTypes.OBJECT},
)
@api_view(["GET"])
@needs(Scope.READ)
def result_page(request: Request, workspace: str, slug: str, page: str) -> ApiResponse:
    """Return what a result page of a study says: its answer, and each block with the exact values of its table.

    It is computed now where that is quick; else a worker computes it, and the answer is the one before with the number
    of answers since, or 202 where there is none yet. `dashboard` has the pace of a study and when it may stop.
    """
    found, freshness = page_made(request, study_to_read(request, workspace, slug), page)
    if found is None:
        detail = _("This is being computed; ask again in a moment.")
        return ApiResponse({"detail": detail}, status=202, headers={"Retry-After": str(RETRY_SECONDS)})
    return ApiResponse(page_values(found, freshness.values()))


def page_made(request: Request, study: Study, page: str) -> Made:
    """Return the page with the choices of the address, and how old it is; None while it is computed for the first time.

    Raises NotFound where no page has the name.
    """
    given = request.query_params
    excluded = given.get(EXCLUDED) == SHOWN and excluded_in(task__study=study).answers > 0
    if page in OF_SEVERAL:
        with excluded_shown(excluded):
            return OF_SEVERAL[page](study)
    if page not in OF_ONE_REPORT:
        raise NotFound(
            _("There is no result page %(name)s; there are: %(known)s.")
            % {"name": repr(page[:50]), "known": ", ".join(PAGES)}
        )
    asked = {ON_PAGES.get(name, name): given[name] for name in CHOICES if name in given}
    return result_of(study, OF_ONE_REPORT[page], asked, excluded=excluded)


PLANNED = [
    *(OpenApiParameter(name, str, description=str(one.label)) for name, one in PlannerForm.base_fields.items()),
    OpenApiParameter("excluded", str, enum=[SHOWN], description="Count the answers that a lead excluded too."),
]


@extend_schema(operation_id="plan", parameters=PLANNED, responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def plan(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Return the precision, hours and cost to expect of a study of some size; what is left out is as the study is now."""
    given, made = planned(request, study_to_read(request, workspace, slug))
    return ApiResponse({"planned": {name: str(value) for name, value in given.items()}, **page_values(made, {})})


def planned(request: Request, study: Study) -> tuple[Mapping[str, str | float], ResultPage]:
    """Return what is planned, and the page that says what to expect of it. Raises Unusable."""
    with excluded_shown(request.query_params.get(EXCLUDED) == SHOWN):
        form, given = planner_form(study, request.query_params)
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise Unusable(str(errors[0]) if name == "__all__" else f"{name}: {errors[0]}")
    made = plan_page(form)
    if isinstance(made, str):
        raise Unusable(made)
    return given, made

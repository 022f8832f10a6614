"""The list of studies and the study dashboard, whose parts reload while the page is open."""

from typing import Any, cast

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page, workspaces_led_by
from annotation.models import Rater, Study
from annotation.monitoring.progress import (
    PEOPLE,
    CategoryRow,
    CohortRow,
    RaterRow,
    Tally,
    category_rows,
    cohort_rows,
    rater_rows,
    study_rows,
    tally_of,
    totals,
)
from annotation.monitoring.waiting import attention_of
from annotation.studies.access import studies_listed, studies_read_by, study_read_by
from annotation.studies.provenance import provenance_of

RATERS_A_PAGE = 50
__all__ = ["category_rows", "rater_rows", "study_rows"]


def _progress(study: Study, found: Tally, raters: list[RaterRow]) -> dict[str, Any]:
    people = [row for row in raters if row.kind in PEOPLE]
    judges = [row for row in raters if row.kind == Rater.Kind.JUDGE]
    categories: list[CategoryRow] = category_rows(study, found)
    cohorts: list[CohortRow] = cohort_rows(study, raters)
    return {
        "study": study,
        "categories": categories,
        "cohorts": cohorts,
        "total": totals(categories),
        "people_count": sum(row.answered > 0 for row in people),
        "are_slots": bool(people) and all(row.kind == Rater.Kind.SLOT for row in people),
        "judges": judges,
        "judging": sum(row.answered > 0 for row in judges),
        "unusable": sum(row.unscored for row in judges),
    }


def _raters(study: Study, raters: list[RaterRow], number: str | None) -> dict[str, Any]:
    people = [row for row in raters if row.kind in PEOPLE]
    page: Page[RaterRow] = Paginator(people, RATERS_A_PAGE).get_page(number)
    return {
        "study": study,
        "people": page,
        "are_slots": bool(people) and all(row.kind == Rater.Kind.SLOT for row in people),
        "judges": [row for row in raters if row.kind == Rater.Kind.JUDGE],
        "has_cohorts": any(row.cohort for row in people),
    }


@results_page
@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    """List the studies whose results the user may see; with ?archived=1 those that were archived."""
    user = cast(User, request.user)
    archived = bool(request.GET.get("archived"))
    in_archive = studies_read_by(user).filter(archived_at__isnull=False)
    context = {
        "rows": study_rows(in_archive if archived else studies_listed(user)),
        "can_lead": workspaces_led_by(user).exists(),
        "archived": archived,
        "has_archive": archived or in_archive.exists(),
    }
    return render(request, "annotation/studies.html", context)


@results_page
@never_cache
@require_safe
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a study's dashboard: progress by category, cohort and rater, results, and what needs attention."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    can_lead = leads_workspace_of(user, study)
    found = tally_of(study)
    raters = rater_rows(study, found)
    context = {
        **_raters(study, raters, request.GET.get("page")),
        **_progress(study, found, raters),
        "provenance": provenance_of(study),
        "can_lead": can_lead,
        "attention": attention_of(study, can_lead=can_lead),
    }
    return render(request, "annotation/desk.html", context)


@results_page
@never_cache
@require_safe
def live_progress(request: HttpRequest, slug: str) -> HttpResponse:
    """Render the dashboard's summary and its progress by category and cohort."""
    study = study_read_by(cast(User, request.user), slug)
    found = tally_of(study)
    context = _progress(study, found, rater_rows(study, found))
    return render(request, "annotation/desk.html#progress", context)


@results_page
@never_cache
@require_safe
def live_raters(request: HttpRequest, slug: str) -> HttpResponse:
    """Render one page of the dashboard's raters."""
    study = study_read_by(cast(User, request.user), slug)
    context = _raters(study, rater_rows(study), request.GET.get("page"))
    return render(request, "annotation/desk.html#raters", context)


@results_page
@never_cache
@require_safe
def live_attention(request: HttpRequest, slug: str) -> HttpResponse:
    """Render the part of the dashboard that needs attention."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    can_lead = leads_workspace_of(user, study)
    context = {"study": study, "attention": attention_of(study, can_lead=can_lead), "can_lead": can_lead}
    return render(request, "annotation/desk.html#attention", context)

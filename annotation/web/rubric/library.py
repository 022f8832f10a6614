"""Pages of the library's rubrics and guidelines in all versions, for users who may read results."""

from dataclasses import dataclass
from typing import cast

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page, workspaces_read_by
from annotation.models import Checklist, Criterion, Guideline, Rubric
from annotation.texts.rendering import render_text
from core.messages.localized import localized
from core.web.access import visible_or_404

ON_A_PAGE = 50


@dataclass(frozen=True)
class CriterionRow:
    """A question with its scale in the reader's language: levels as (value, label, description), or a range.

    `votes` are those that its criterion got where the rubric was written as a checklist.
    """

    question: str
    key: str
    role: str
    levels: list[tuple[float, str, str]]
    low: float | None
    high: float | None
    votes: int | None = None


@require_safe
@results_page
def rubrics(request: HttpRequest) -> HttpResponse:
    """List all rubrics and what they apply to; ?q= searches their keys."""
    words = request.GET.get("q", "").strip()
    found = Rubric.objects.filter(workspace__in=workspaces_read_by(_user(request)))
    if words:
        found = found.filter(key__icontains=words)
    rows = found.select_related("benchmark", "category__parent", "instruction", "study").annotate(
        criterion_count=Count("criteria")
    )
    page = Paginator(rows.order_by("key", "-version", "pk"), ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "annotation/rubrics.html", {"page": page, "words": words})


@require_safe
@results_page
def rubric(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one version of a rubric: its questions and scales."""
    found = visible_or_404(
        Rubric.objects.filter(workspace__in=workspaces_read_by(_user(request)), pk=pk)
        .select_related("benchmark", "category__parent", "instruction", "study")
        .prefetch_related("criteria"),
        message=gettext("This rubric does not exist."),
    )
    versions = Rubric.objects.filter(workspace=found.workspace_id, key=found.key).order_by("-version")
    authored = found.authored or {}
    votes = authored.get("votes", {})
    rows = [_criterion(criterion, votes.get(criterion.key)) for criterion in found.criteria.all()]
    checklist = (
        Checklist.objects.filter(workspace=found.workspace_id, public_id=authored["checklist"]).first()
        if authored
        else None
    )
    context = {"rubric": found, "versions": versions, "rows": rows, "checklist": checklist}
    return render(request, "annotation/rubric.html", context)


@require_safe
@results_page
def guidelines(request: HttpRequest) -> HttpResponse:
    """List all guidelines, newest version first."""
    found = Guideline.objects.filter(workspace__in=workspaces_read_by(_user(request)))
    page = Paginator(found.order_by("key", "-version", "pk"), ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "annotation/guidelines.html", {"page": page})


@require_safe
@results_page
def guideline(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one version of a guideline as raters read it."""
    found = visible_or_404(
        Guideline.objects.filter(workspace__in=workspaces_read_by(_user(request)), pk=pk),
        message=gettext("This guideline does not exist."),
    )
    context = {"guideline": found, "text": render_text(found.text)}
    return render(request, "annotation/library_guideline.html", context)


def _criterion(criterion: Criterion, votes: int | None) -> CriterionRow:
    levels = [
        (float(level["value"]), localized(level.get("label") or {}), localized(level.get("description") or {}))
        for level in criterion.levels
    ]
    role = criterion.get_role_display()
    return CriterionRow(criterion.question, criterion.key, role, levels, criterion.minimum, criterion.maximum, votes)


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)

"""The imports of the workspaces that a lead leads, and the page that undoes one of them."""

from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by
from annotation.importing.undo import dependents_in_words, plan_undo, undo_import
from annotation.studies.access import study_led_by
from annotation.studies.nouns import in_words
from annotation.studies.provenance import provenance_of
from core.errors import UserError
from core.web.access import visible_or_404
from generation.models import Import

ON_A_PAGE = 50


def _led(request: HttpRequest) -> QuerySet[Import]:
    led = workspaces_led_by(cast(User, request.user))
    return Import.objects.filter(workspace__in=led).select_related("workspace", "actor", "undone_by")


@results_page
@never_cache
@require_safe
def imports(request: HttpRequest) -> HttpResponse:
    """List what was imported, latest first."""
    page = Paginator(_led(request).defer("created", "former"), ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "annotation/imports.html", {"page": page})


@results_page
@never_cache
@require_safe
def study_imports(request: HttpRequest, slug: str) -> HttpResponse:
    """List what was imported into a study and its benchmark, latest first, for those who lead its workspace."""
    study = study_led_by(cast(User, request.user), slug)
    about = [study.slug, *([study.benchmark.slug] if study.benchmark else [])]
    rows = _led(request).filter(workspace=study.workspace, about__in=about).defer("created", "former")
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": True,
        "page": Paginator(rows, ON_A_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "annotation/study_imports.html", context)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what the undo of an import would remove, and do it."""
    found = visible_or_404(_led(request).filter(pk=pk), message=_("There is no such import."))
    refusal, status = "", 200
    if request.method == "POST":
        try:
            undo_import(found, by=cast(User, request.user), clock=timezone.now)
        except UserError as error:
            refusal, status = str(error), 409
        else:
            messages.success(request, _("The import of %(file)s has been undone.") % {"file": found.file})
            return redirect("annotation:imports")
    plan = plan_undo(found)
    if plan.dependents and not refusal:
        refusal = dependents_in_words(plan)
    lists = {name: in_words(getattr(plan, name)) for name in ("removed", "kept", "restored")}
    context = {"row": found, "refusal": refusal, **lists}
    return render(request, "annotation/undo_import.html", context, status=status)

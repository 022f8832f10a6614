"""The pages on which an owner deletes a study or a workspace, after typing its slug."""

from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User, Workspace
from accounts.permissions import results_page, workspaces_led_by
from annotation.models import Study
from annotation.studies.access import study_led_by
from annotation.studies.deletion import delete, owned_or_404, what_goes, why_it_stays, why_not_now
from annotation.studies.nouns import in_words
from core.errors import UserError
from core.web.access import visible_or_404


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def delete_study(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a study's deletion removes, and delete it."""
    study = study_led_by(cast(User, request.user), slug)
    owned_or_404(cast(User, request.user), study.workspace_id)
    return _page(request, study)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def delete_workspace(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a workspace's deletion removes, and delete it."""
    user = cast(User, request.user)
    workspace = visible_or_404(workspaces_led_by(user).filter(slug=slug), message=_("There is no such workspace."))
    owned_or_404(user, workspace.pk)
    return _page(request, workspace)


def _page(request: HttpRequest, row: Study | Workspace) -> HttpResponse:
    error, status = "", 200
    if request.method == "POST":
        error, status = _("This is not the slug. Type it as it is shown."), 422
        if request.POST.get("slug") == row.slug:
            try:
                delete(row, by=cast(User, request.user))
            except UserError as problem:
                error, status = str(problem), 409
            else:
                messages.success(request, _("%(name)s has been deleted.") % {"name": row.slug})
                return redirect("annotation:studies" if isinstance(row, Study) else "home")
    if stays := why_not_now(row):
        counts = []  # of what cannot be deleted now, nothing is counted
        stays = "" if error else stays
    else:
        removal = what_goes(row)
        counts = in_words(removal.counts())
        stays = "" if error else why_it_stays(row, removal)
    context = {"row": row, "counts": counts, "error": error or stays, "possible": not stays}
    return render(request, "annotation/delete.html", {**context, "is_study": isinstance(row, Study)}, status=status)

"""Studies by who asks for them: their results may be read, or they may be changed; else there is no such study.

A slug is one study's in a workspace. Where a user reads two studies of one slug, every page is about the older.
"""

from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext

from accounts.models import User
from accounts.permissions import leads_workspace_of, workspaces_read_by
from annotation.models import Study
from core.web.access import visible_or_404


def studies_read_by(user: User) -> QuerySet[Study]:
    return Study.objects.filter(workspace__in=workspaces_read_by(user)).select_related("benchmark", "workspace")


def study_read_by(user: User, slug: str, *, message: str = "") -> Study:
    """The study of this slug whose results the user may see; 404 for anybody else."""
    found = studies_read_by(user).filter(slug=slug).select_related("guideline", "rubric").order_by("pk")
    return visible_or_404(found, message=message or gettext("Your workspaces have no such study."))


def study_led_by(user: User, slug: str) -> Study:
    """The study of this slug that the user may change; 404 for anybody else."""
    study = study_read_by(user, slug)
    if not leads_workspace_of(user, study):
        raise Http404(gettext("The workspaces that you lead have no such study."))
    return study

"""Look up studies that a user may read or change; other studies do not exist for them.

A slug is unique only in a workspace, so a study is looked up by its full slug, "workspace/slug".
"""

from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext

from accounts.models import User
from accounts.permissions import leads_workspace_of, workspaces_read_by
from annotation.models import Study
from core.web.access import visible_or_404
from core.web.addresses import of_full_slug


def studies_read_by(user: User) -> QuerySet[Study]:
    return Study.objects.filter(workspace__in=workspaces_read_by(user)).select_related("benchmark", "workspace")


def studies_listed(user: User) -> QuerySet[Study]:
    """The studies that lists and the home page show to a user: those that are not archived."""
    return studies_read_by(user).filter(archived_at=None)


def study_read_by(user: User, slug: str, *, message: str = "") -> Study:
    """The study with this full slug whose results the user may see; otherwise 404."""
    found = of_full_slug(studies_read_by(user), slug).select_related("guideline", "rubric")
    return visible_or_404(found, message=message or gettext("Your workspaces have no such study."))


def study_led_by(user: User, slug: str) -> Study:
    """The study with this full slug that the user may change; otherwise 404."""
    study = study_read_by(user, slug)
    if not leads_workspace_of(user, study):
        raise Http404(gettext("The workspaces that you lead have no such study."))
    return study

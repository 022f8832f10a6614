"""The drift monitors that a user may see, and the studies and judges of which a new one can be made."""

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from accounts.models import User, Workspace
from accounts.permissions import workspaces_read_by
from annotation.models import Study
from core.web.access import visible_or_404
from judging.models import Judge, Watch


def monitors_read_by(user: User) -> QuerySet[Watch]:
    """Return the monitors of the workspaces whose results the user may read."""
    found = Watch.objects.filter(study__workspace__in=workspaces_read_by(user))
    return found.select_related("judge__rater", "study__workspace")


def monitor_read_by(user: User, public_id: str) -> Watch:
    """Return the monitor; 404 for anybody who may not see it."""
    found = monitors_read_by(user).filter(public_id=public_id)
    return visible_or_404(found, message=gettext("There is no such drift monitor."))


def studies_to_monitor(workspaces: QuerySet[Workspace]) -> QuerySet[Study]:
    """Return the studies of the workspaces that have tasks."""
    return Study.objects.filter(workspace__in=workspaces, tasks__isnull=False).distinct().order_by("slug")


def judges_to_monitor(workspaces: QuerySet[Workspace]) -> QuerySet[Judge]:
    """Return the judges of the workspaces that can be asked: those with an endpoint, and panels."""
    can_be_asked = Q(language_model__endpoint__isnull=False) | Q(jurors__isnull=False)
    return Judge.objects.filter(can_be_asked, workspace__in=workspaces).select_related("rater").distinct()

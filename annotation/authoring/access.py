"""Who sees a checklist, who takes part in it, and who leads it; for everybody else it does not exist."""

from django.db.models import QuerySet
from django.utils.translation import gettext

from accounts.models import User
from accounts.permissions import member_workspaces, workspaces_taken_part_in
from annotation.models import Checklist
from core.web.access import visible_or_404

MOST_ON_HOME = 5


def checklists_seen_by(user: User) -> QuerySet[Checklist]:
    """The checklists of all workspaces of which the user is a member, in whatever role; the newest first."""
    return Checklist.objects.filter(workspace__in=member_workspaces(user)).select_related("workspace", "benchmark")


def checklist_seen_by(user: User, public_id: str) -> Checklist:
    """The checklist, or 404 for whoever is not a member of its workspace."""
    found = checklists_seen_by(user).filter(public_id=public_id).select_related("drafting_run")
    return visible_or_404(found, message=gettext("Your workspaces have no such checklist."))


def checklists_to_work_on(user: User) -> list[Checklist]:
    """The newest checklists for which the user can propose, vote or review now; one query."""
    stage = Checklist.Stage
    found = Checklist.objects.filter(
        workspace__in=workspaces_taken_part_in(user), stage__in=[stage.PROPOSE, stage.VOTE, stage.REVIEW]
    )
    return list(found[:MOST_ON_HOME])

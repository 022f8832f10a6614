"""The judge runs that a user may see: those of the workspaces whose results the user may read."""

from django.db.models import QuerySet
from django.utils.translation import gettext

from accounts.models import User
from accounts.permissions import workspaces_read_by
from core.web.access import visible_or_404
from judging.models import JudgeRun

SHOWN_WITH_A_RUN = ("study__workspace", "judge__rater", "judge__language_model__endpoint", "created_by", "watch")


def runs_read_by(user: User) -> QuerySet[JudgeRun]:
    return JudgeRun.objects.filter(study__workspace__in=workspaces_read_by(user))


def run_read_by(user: User, public_id: str, *, message: str = "") -> JudgeRun:
    """Return the run with what its page shows; 404 for anybody who may not see it."""
    found = runs_read_by(user).filter(public_id=public_id).select_related(*SHOWN_WITH_A_RUN)
    return visible_or_404(found, message=message or gettext("There is no such run."))

"""The trials of prompts that a user may see: those of the workspaces whose results the user may read."""

from django.utils.translation import gettext

from accounts.models import User
from accounts.permissions import workspaces_read_by
from core.web.access import visible_or_404
from judging.models import PromptTrial
from judging.trials.records import KEPT


def trial_read_by(user: User, public_id: str) -> PromptTrial:
    """Return the trial; 404 for anybody who may not see it, and once it has been deleted."""
    found = PromptTrial.objects.filter(language_model__workspace__in=workspaces_read_by(user), public_id=public_id)
    return visible_or_404(
        found.select_related("language_model__workspace", "language_model__endpoint", "created_by"),
        message=gettext("There is no such trial. Trials are deleted after %(n)d days.") % {"n": KEPT.days},
    )

"""The page of what needs a lead's attention: raters' notes, appeals, and tasks that nobody could rate."""

from typing import cast

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.assignment.rater_status import APPEAL
from annotation.masking.scan import undecided
from annotation.monitoring import skipped_tasks
from annotation.monitoring.flags import all_flags_of, flags_of, settle_flag as resolve
from annotation.studies.access import study_led_by, study_read_by
from annotation.studies.provenance import provenance_of
from annotation.web.monitoring.returning import back_to_dashboard_or
from annotation.web.rating.forms import SKIP_REASONS

FLAGS_A_PAGE = 50


@results_page
@never_cache
@require_safe
def attention(request: HttpRequest, slug: str) -> HttpResponse:
    """List open notes, appeals and tasks that nobody could rate; ?settled=1 lists resolved notes."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    settled = request.GET.get("settled") == "1"
    reasons = dict(SKIP_REASONS)
    nobody = [
        (item, [(reasons.get(reason, reason), n) for reason, n in item.reasons])
        for item in skipped_tasks.skipped_by_all(study)
    ]
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": leads_workspace_of(user, study),
        "page": Paginator(flags_of(study, settled=settled), FLAGS_A_PAGE).get_page(request.GET.get("page")),
        "settled": settled,
        "nobody": nobody,
        "appeal": APPEAL,
        "naming": undecided(study),
    }
    return render(request, "annotation/attention.html", context)


@results_page
@require_POST
def settle_flag(request: HttpRequest, slug: str, flag_id: int) -> HttpResponse:
    """Mark a rater's note as resolved."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    flag = get_object_or_404(all_flags_of(study), pk=flag_id)
    resolve(flag, clock=timezone.now, by=user)
    return back_to_dashboard_or(request, study, "annotation:attention")

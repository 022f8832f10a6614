"""The page of self-revealing responses, which a lead masks, drops or leaves unchanged."""

from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.masking.scan import findings, undecided
from annotation.models import Study
from annotation.policies.policies import Policies
from annotation.studies.access import study_led_by, study_read_by
from annotation.studies.provenance import provenance_of
from annotation.studies.self_naming import decide_self_naming, drop_found, found_in, scan_or_hand_over

FOUND_A_PAGE = 50


@results_page
@never_cache
@require_safe
def self_naming(request: HttpRequest, slug: str) -> HttpResponse:
    """List the responses that say which model wrote them."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    page = Paginator(findings(study), FOUND_A_PAGE).get_page(request.GET.get("page"))
    policies = Policies.of(study)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": leads_workspace_of(user, study),
        "page": page,
        "found": found_in(study, list(page)),
        "scanned": policies.scanned_at,
        "masked": policies.mask_self_naming,
        "kept": policies.keep_self_naming,
        "undecided": undecided(study),
        "is_draft": study.status == Study.Status.DRAFT,
    }
    return render(request, "annotation/self_naming.html", context)


@results_page
@require_POST
def change_self_naming(request: HttpRequest, slug: str) -> HttpResponse:
    """Scan again, mask or unmask the words on all rating screens, leave them unchanged, or drop tasks."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    match request.POST.get("do"):
        case "scan":
            _scan(request, study)
        case "mask":
            decide_self_naming(study, mask=True, keep=False, by=user)
        case "unmask":
            decide_self_naming(study, mask=False, keep=False, by=user)
        case "keep":
            decide_self_naming(study, mask=False, keep=True, by=user)
        case "drop":
            _drop(request, study, request.POST.getlist("task"))
        case "drop-all":
            _drop(request, study, None)
        case _:
            raise Http404
    return redirect("annotation:self_naming", study)


def _scan(request: HttpRequest, study: Study) -> None:
    if not scan_or_hand_over(study):
        messages.info(request, _("A worker is scanning the texts. Reload this page in a minute."))


def _drop(request: HttpRequest, study: Study, chosen: list[str] | None) -> None:
    dropped, refused = drop_found(study, chosen, by=cast(User, request.user))
    if dropped:
        told = ngettext(
            "%(n)s task has been removed from the study.", "%(n)s tasks have been removed from the study.", dropped
        )
        messages.success(request, told % {"n": dropped})
    if refused:
        told = ngettext(
            "%(n)s task has already been given to a rater and cannot be removed. Mask the words instead.",
            "%(n)s tasks have already been given to raters and cannot be removed. Mask the words instead.",
            refused,
        )
        messages.warning(request, told % {"n": refused})

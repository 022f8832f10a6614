"""The page of self-revealing responses, which a lead masks, drops or leaves unchanged."""

from dataclasses import dataclass
from typing import cast

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.masking.scan import SelfNaming, findings, named_in, scan_study, undecided
from annotation.models import Flag, Seat, Study, Task
from annotation.policies.policies import NO_REFUSAL, Policies, change_policies
from annotation.rules.self_naming import Mention
from annotation.studies.access import study_led_by, study_read_by
from annotation.studies.life_cycle import StudyRefused, drop_task, is_large, log_event, make_tasks
from annotation.studies.provenance import provenance_of
from core.background import send_after_commit

FOUND_A_PAGE = 50


@dataclass(frozen=True)
class Found:
    """One task of the page; `place` is None if its text no longer reveals the model."""

    task: Task
    place: SelfNaming | None
    dropped: bool


def _found(study: Study, page: Page[Flag]) -> list[Found]:
    """The tasks of the page with the words found in them."""
    held = [flag.task_id for flag in page.object_list]
    chosen = Task.objects.filter(pk__in=held).select_related(
        "response_a__model", "response_b__model", "response_a__instruction"
    )
    by_pk = {task.pk: task for task in chosen}
    launched = study.status != Study.Status.DRAFT and Seat.objects.filter(study=study).exists()
    seated = set(Seat.objects.filter(task__in=held).values_list("task_id", flat=True)) if launched else set(held)
    known: dict[int, tuple[Mention, ...]] = {}
    return [
        Found(by_pk[pk], next(named_in(by_pk[pk], known), None), pk not in seated and by_pk[pk].gold is None)
        for pk in dict.fromkeys(held)
    ]


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
        "found": _found(study, page),
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
            _decide(study, user, mask=True, keep=False)
        case "unmask":
            _decide(study, user, mask=False, keep=False)
        case "keep":
            _decide(study, user, mask=False, keep=True)
        case "drop":
            _drop(request, study, request.POST.getlist("task"))
        case "drop-all":
            _drop(request, study, list(findings(study).values_list("task__public_id", flat=True)))
        case _:
            raise Http404
    return redirect("annotation:self_naming", study)


def _scan(request: HttpRequest, study: Study) -> None:
    if is_large(study) or study.tasks.count() > FOUND_A_PAGE * 40:
        send_after_commit("annotation.scan_self_naming", study.pk)
        messages.info(request, _("A worker is scanning the texts. Reload this page in a minute."))
        return
    if study.status == Study.Status.DRAFT:
        make_tasks(study)
    scan_study(study)


def _decide(study: Study, user: User, *, mask: bool, keep: bool) -> None:
    policies = Policies.of(study)
    before = {"masked": policies.mask_self_naming, "kept": policies.keep_self_naming}
    after = {"masked": mask, "kept": keep}
    if before == after:
        return
    with transaction.atomic():
        change_policies(study, mask_self_naming=mask or None, keep_self_naming=keep or None, **NO_REFUSAL)
        log_event(study, user, "mask_response", before=before, after=after)


def _drop(request: HttpRequest, study: Study, chosen: list[str]) -> None:
    flagged = findings(study).filter(task__public_id__in=chosen).values("task")
    dropped = refused = 0
    for task in Task.objects.filter(pk__in=flagged, gold__isnull=True):
        task.study = study
        try:
            drop_task(task, by=cast(User, request.user))
            dropped += 1
        except StudyRefused:
            refused += 1
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

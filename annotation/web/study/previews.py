"""Preview of what a rater sees: the real rating page on a task of the study or of its plan. Nothing is stored.

A preview's assignment exists only for the page. Its public id is "preview-", the task number and the study's id, so
that the page's own addresses lead here.
"""

from typing import Any, cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from accounts.models import User
from accounts.permissions import results_page
from annotation.assignment.rater_progress import Progress
from annotation.models import Assignment, Rater, Study, Task
from annotation.policies.hints import CONDITION as HINT
from annotation.policies.policies import Policies
from annotation.rules.alignment import word_diff
from annotation.studies.access import studies_read_by, study_led_by
from annotation.studies.selection import PlannedTask, planned_tasks, task_row
from annotation.studies.study_size import size_of
from annotation.texts.rendering import render_text
from annotation.web.rating.forms import AnswerForm
from annotation.web.rating.screens import screen_of
from annotation.web.rating.task_page import screen_context
from annotation.web.recruitment.joining import consent_text
from core.db.stores_nothing import stores_nothing
from core.web.access import visible_or_404


def preview_tasks(study: Study) -> list[PlannedTask]:
    return planned_tasks(study).tasks


def _study(request: HttpRequest, study_id: str) -> Study:
    """The study of a preview, if the user may read its workspace's results; otherwise 404."""
    found = studies_read_by(cast(User, request.user)).select_related("guideline", "rubric")
    return visible_or_404(found.filter(public_id=study_id))


def preview_id(study: Study, number: int) -> str:
    return f"preview-{number}-{study.public_id}"


def preview_assignment(study: Study, number: int, side: str) -> tuple[Assignment, int]:
    """An unsaved assignment of the study's task `number` (from 0, modulo the count), and the number of tasks.

    Raises Http404 if the study's settings give no tasks.
    """
    planned = preview_tasks(study)
    if not planned:
        raise Http404(_("The study's choices do not give any tasks yet."))
    row = task_row(study, planned[number % len(planned)], 0)
    task = Task.objects.filter(study=study, key=row.key).first() or row
    task.study = study
    return Assignment(
        public_id=preview_id(study, number % len(planned) + 1),
        task=task,
        rater=Rater(study=study, workspace_id=study.workspace_id, label="preview"),
        shown_first=side if study.kind == Study.Kind.PAIR else "",
        conditions={HINT: Policies.of(study).hints in ("shown", "split")},
    ), len(planned)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@stores_nothing
def preview_rate(request: HttpRequest, number: int, study_id: str) -> HttpResponse:
    """Show the rating page of the study's task `number`, from 1. Answering opens the next task and stores nothing."""
    study = _study(request, study_id)
    side = Assignment.Side.A if number % 2 else Assignment.Side.B
    assignment, count = preview_assignment(study, max(0, number - 1), side)
    screen = screen_of(assignment)
    context: dict[str, Any] = {"preview": True, "task_number": (max(1, number) - 1) % count + 1, "task_count": count}
    if request.method == "POST":
        form = AnswerForm(screen.criteria, request.POST, shown=screen.shown)
        if form.is_valid():
            return _go_on(request, study, context["task_number"] % count + 1, assignment)
        context |= screen_context(assignment, screen, form, progress=_so_far(context["task_number"]))
        part = getattr(request, "htmx", False)
        return render(request, "annotation/rate.html#task" if part else "annotation/rate.html", context, status=422)
    form = AnswerForm(screen.criteria, shown=screen.shown)
    context |= screen_context(assignment, screen, form, progress=_so_far(context["task_number"]))
    context["late"] = False
    return render(request, "annotation/rate.html", context)


def _so_far(number: int) -> Progress:
    """The progress of somebody who has answered all tasks of the preview before this one."""
    return Progress(submitted=number - 1, skipped=0, open=1, active_seconds=0.0)


def _go_on(request: HttpRequest, study: Study, number: int, assignment: Assignment | None = None) -> HttpResponse:
    """Redirect to the preview of another task and tell the page to discard what was entered."""
    messages.info(request, _("This is a preview. Nothing was saved."))
    address = reverse("annotation:preview_rate", args=[number, study.public_id])
    response = HttpResponseClientRedirect(address) if getattr(request, "htmx", False) else redirect(address)
    if assignment is None:
        return response
    return trigger_client_event(response, "plumbline:stored", {"assignment": assignment.public_id})


@results_page
@require_POST
def preview_draft(request: HttpRequest, number: int, study_id: str) -> JsonResponse:
    """Accept the page's drafts without storing them."""
    _study(request, study_id)
    return JsonResponse({"kept": True})


@results_page
@require_POST
def preview_skip(request: HttpRequest, number: int, study_id: str) -> HttpResponse:
    """Skip to the next task."""
    return _go_on(request, _study(request, study_id), number + 1)


@results_page
@require_POST
def preview_hold(request: HttpRequest, number: int, study_id: str) -> HttpResponse:
    """Answer the page's request to reserve the next task; a preview reserves none."""
    _study(request, study_id)
    return HttpResponse(status=204)


@results_page
@never_cache
@require_safe
@stores_nothing
def preview_differences(request: HttpRequest, number: int, study_id: str) -> HttpResponse:
    """Show the differences between the two near-identical responses of a previewed task."""
    study = _study(request, study_id)
    side = Assignment.Side.A if number % 2 else Assignment.Side.B
    assignment, count = preview_assignment(study, max(0, number - 1), side)
    screen = screen_of(assignment)
    if not screen.near_duplicates:
        raise Http404
    changes = word_diff(*screen.shown.texts)
    context = {
        "assignment": assignment,
        "changes": changes,
        "coarse": any(change.coarse for change in changes),
        "preview": True,
        "task_number": (max(1, number) - 1) % count + 1,
    }
    part = getattr(request, "htmx", False)
    return render(request, "annotation/differences.html#text" if part else "annotation/differences.html", context)


@results_page
@never_cache
@require_safe
def preview_guideline(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the guideline as a rater of the study reads it."""
    study = study_led_by(cast(User, request.user), slug)
    if study.guideline is None:
        raise Http404
    text = render_text(study.guideline.text)
    context = {"study": study, "guideline": study.guideline, "text": text, "preview": True}
    part = getattr(request, "htmx", False)
    return render(request, "annotation/guideline.html#text" if part else "annotation/guideline.html", context)


@results_page
@never_cache
@require_safe
def preview(request: HttpRequest, slug: str) -> HttpResponse:
    """List all screens that a rater of the study sees, with links to open them."""
    study = study_led_by(cast(User, request.user), slug)
    size = size_of(study)
    context = {
        "study": study,
        "can_lead": True,
        "tasks": size.tasks,
        "absent": size.absent,
        "without_rubric": size.without_rubric,
        "first_of_rubrics": size.first_of_rubrics[:12],
        "consent": render_text(consent_text(study)),
        "guideline": render_text(study.guideline.text) if study.guideline else None,
    }
    return render(request, "annotation/preview.html", context)

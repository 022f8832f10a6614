"""Pages of tasks that need a lead: disagreements, a lead's own answer, more ratings, and releasing a task."""

from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.answers.recording import AnswerRefused, TaskRemoved
from annotation.models import Assignment, Study, Task, latest_scores
from annotation.monitoring.adjudication import adjudicate, comparison_of, own_answer
from annotation.monitoring.more_ratings import MOST_MORE, may_request, request_more, request_more_above
from annotation.monitoring.stored_progress import disagreement_queue
from annotation.studies.access import study_led_by, study_read_by
from annotation.studies.life_cycle import StudyRefused, release_task
from annotation.studies.provenance import provenance_of
from annotation.texts.rendering import render_text
from annotation.web.rating.forms import PREFIX, AnswerForm, entered
from annotation.web.rating.screens import screen_of
from core.messages.rendering import for_reader

MOST_SHOWN = 50
ROWS_A_PAGE = 10


def _least(values: dict[str, str]) -> float:
    """The minimum spread as a share of the scale; `least` is in percent, 0 to 50."""
    try:
        return min(50.0, max(0.0, float(values.get("least", "") or 0))) / 100
    except ValueError:
        return 0.0


@results_page
@never_cache
@require_safe
def queue(request: HttpRequest, slug: str) -> HttpResponse:
    """List the tasks on which raters disagree most, above ?least= percent of the scale."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    least = _least(request.GET.dict())
    found = disagreement_queue(study, least=least, most=MOST_SHOWN, clock=timezone.now)
    rows = found.rows
    page = Paginator(rows, ROWS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": leads_workspace_of(user, study),
        "page": page,
        "rows": [(row, round(100 * row.spread)) for row in page],
        "is_cut": len(rows) >= MOST_SHOWN,
        "least": round(100 * least),
        "counted_at": found.at,
        "counting": found.counting,
        "undecided": sum(not row.decided for row in rows),
        "most": MOST_SHOWN,
        "may_add": may_request(study),
    }
    part = getattr(request, "htmx", False)
    return render(request, "annotation/disagreements.html#rows" if part else "annotation/disagreements.html", context)


def _task(study: Study, task_id: str) -> Task:
    tasks = Task.objects.filter(study=study).select_related(
        "study",
        "answer_rubric",
        "response_a__instruction__category",
        "response_b",
        "response_a__model",
        "response_b__model",
        "reviews",
    )
    return get_object_or_404(tasks, public_id=task_id)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def task_page(request: HttpRequest, slug: str, task_id: str) -> HttpResponse:
    """Show one task with its text and all answers. A lead's POST stores their own answer, which decides the task."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    task = _task(study, task_id)
    can_lead = leads_workspace_of(user, study)
    screen = screen_of(Assignment(task=task, shown_first=Assignment.Side.A))
    own = own_answer(task, user)
    initial = entered(screen.criteria, latest_scores(own.scores.all()), screen.shown) if own else {}
    sent = request.POST if request.method == "POST" else None
    form = AnswerForm(screen.criteria, sent, initial=initial, shown=screen.shown)
    if request.method == "POST":
        if not can_lead:
            raise Http404
        if form.is_valid():
            try:
                adjudicate(task, form.answers(), criteria=screen.criteria, by=user, clock=timezone.now)
            except TaskRemoved as removed:
                messages.warning(request, str(removed))
                return redirect("annotation:studies")
            except AnswerRefused as refusal:
                for key, problem in refusal.problems.items():
                    form.add_error(PREFIX + key, problem)
            else:
                messages.success(
                    request, _("Your answer has been saved beside the others. It is left out of all results.")
                )
                return redirect("annotation:task", study, task.public_id)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": can_lead,
        "task": task,
        "screen": screen,
        "instruction": render_text(task.response_a.instruction.text),
        "comparison": comparison_of(task, list(screen.criteria)),
        "form": form,
        "questions": form.questions(),
        "own": own,
        "held": task.seats.filter(state="held").count(),
    }
    return render(request, "annotation/task.html", context, status=422 if form.errors else 200)


@results_page
@require_POST
def more_answers(request: HttpRequest, slug: str) -> HttpResponse:
    """Add slots to one task (`task`), or to all tasks whose spread is above `least` percent of the scale."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    more = request.POST.get("more", "1")
    if not more.isdecimal() or not 1 <= int(more) <= MOST_MORE:
        messages.error(
            request, _("Enter a number of additional ratings per task from 1 to %(most)s.") % {"most": MOST_MORE}
        )
        return redirect("annotation:disagreements", study)
    try:
        if request.POST.get("task"):
            asked = request_more(study, [_task(study, request.POST["task"])], int(more), by=user)
        else:
            asked = request_more_above(study, _least(request.POST.dict()), int(more), by=user)
    except StudyRefused as problem:
        messages.error(request, for_reader(problem))
        return redirect("annotation:disagreements", study)
    made = asked.ratings
    if made:
        told = ngettext(
            "%(n)s more rating has been requested. It is assigned next.",
            "%(n)s more ratings have been requested. They are assigned next.",
            made,
        )
        messages.success(request, told % {"n": made})
    else:
        messages.info(
            request,
            _("No task needs more ratings. Every task above the threshold is decided or still waiting for ratings."),
        )
    return redirect("annotation:disagreements", study)


@results_page
@require_POST
def release(request: HttpRequest, slug: str, task_id: str) -> HttpResponse:
    """Release the task from raters who have it open."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    task = _task(study, task_id)
    freed = release_task(task, by=user)
    told = ngettext(
        "The task has been released from %(n)s rater.", "The task has been released from %(n)s raters.", freed
    )
    messages.success(request, told % {"n": freed})
    return redirect("annotation:task", study, task.public_id)

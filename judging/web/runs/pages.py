"""Pages of judge runs: the list, one run, and its controls."""

import json
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.models import Rater, Study
from annotation.studies.life_cycle import StudyRefused
from core.background import send_after_commit
from core.messages.reader_language import for_reader
from generation.endpoints.clients import uncounted_of
from generation.execution.item_counts import with_counts
from generation.execution.reservations import ceiling_of
from generation.web.responses.forms import BudgetForm
from judging.comparison.review_studies import NothingToReview, make_review_study, review_studies_of
from judging.models import JudgeRun, PlannedItem
from judging.runs.access import SHOWN_WITH_A_RUN, run_read_by, runs_read_by
from judging.runs.aggregation import jurors_of
from judging.runs.life_cycle import (
    NotPossible,
    cancel_run,
    keep_left,
    pause_run,
    raise_budget,
    retry_unscored,
    start_run as start,
)
from judging.web.judges.method_messages import method_words
from judging.web.monitoring.pages import failing_watches, flagged_watches
from judging.web.runs.files import items_csv, manifest_file, run_report
from judging.web.runs.forms import ReviewForm
from judging.web.runs.run_page import run_panel

RUNS_SHOWN = 100


@require_safe
@results_page
def runs(request: HttpRequest) -> HttpResponse:
    """The newest runs of the reader's workspaces, with their progress."""
    user = cast(User, request.user)
    found = runs_read_by(user).select_related(*SHOWN_WITH_A_RUN).order_by("-created_at")
    counted = with_counts(found, PlannedItem.objects.filter(canary=""), PlannedItem.Status.WAITING)
    context = {
        "runs": counted[:RUNS_SHOWN],
        "more": found.count() > RUNS_SHOWN,
        "changed": flagged_watches(user),
        "failing": failing_watches(user),
    }
    return render(request, "judging/runs.html", context)


@require_safe
@results_page
def run(request: HttpRequest, public_id: str) -> HttpResponse:
    """One run; while it is running, the page reloads its progress regularly."""
    found = run_read_by(cast(User, request.user), public_id)
    context = _run_context(request, found)
    if not _is_htmx(request):
        return render(request, "judging/run.html", context)
    return render(request, "judging/run.html#progress", {**context, "part": True, "seen": request.GET.get("seen")})


@require_POST
@results_page
def control_run(request: HttpRequest, public_id: str) -> HttpResponse:
    """Pause, resume (with a new budget, if sent), change the budget, retry unscored items, or cancel."""
    user = cast(User, request.user)
    found = run_read_by(user, public_id)
    if not leads_workspace_of(user, found.study):
        raise PermissionDenied
    action = request.POST.get("action", "")
    keep_left(found)
    try:
        with transaction.atomic():
            if action == "pause":
                pause_run(found, clock=timezone.now, user=user)
            elif action == "cancel":
                cancel_run(found, clock=timezone.now, user=user)
            elif action == "resume":
                _resume(request, found, user)
            elif action == "budget":
                _budget(request, found, user)
            elif action == "retry":
                _retry(request, found, user)
            else:
                raise Http404
    except NotPossible:
        messages.warning(
            request,
            gettext("The state of the run has changed in the meantime. It is now “%(status)s”.")
            % {"status": found.get_status_display()},
        )
    return redirect("judging:run", public_id)


@require_POST
@results_page
def review_run(request: HttpRequest, public_id: str) -> HttpResponse:
    """Create and open a study that reviews some of the run's verdicts."""
    user = cast(User, request.user)
    found = run_read_by(user, public_id)
    if not leads_workspace_of(user, found.study):
        raise PermissionDenied
    form = ReviewForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("Enter the number of verdicts and the number of reviewers, at least 1 each."))
        return redirect("judging:run", public_id)
    try:
        study = make_review_study(
            found, sample=form.cleaned_data["sample"], reviewers=form.cleaned_data["reviewers"], by=user
        )
    except NothingToReview:
        messages.error(request, gettext("This run has no verdicts yet."))
        return redirect("judging:run", public_id)
    except StudyRefused as error:
        messages.error(request, for_reader(error))
        return redirect("judging:run", public_id)
    if study.status == Study.Status.OPEN:
        messages.success(request, gettext("The review has started. Invite reviewers to it."))
    return redirect("annotation:desk", study.slug)


@require_safe
@results_page
def run_file(request: HttpRequest, public_id: str, name: str) -> HttpResponse:
    """The run's manifest.json, report.json or items.csv as a download."""
    found = run_read_by(cast(User, request.user), public_id)
    match name:
        case "manifest.json":
            response = _json(manifest_file(found))
        case "report.json":
            response = _json(run_report(found, clock=timezone.now))
        case "items.csv":
            response = HttpResponse("".join(items_csv(found)), content_type="text/csv; charset=utf-8")
        case _:
            raise Http404(gettext("A run has no file of this name."))
    response["Content-Disposition"] = f'attachment; filename="{found.public_id}-{name}"'
    return response


def _json(content: dict[str, Any]) -> HttpResponse:
    return HttpResponse(json.dumps(content, ensure_ascii=False, indent=1), content_type="application/json")


def _resume(request: HttpRequest, run: JudgeRun, user: User) -> None:
    if "budget_calls" in request.POST and not _budget(request, run, user):
        return
    start(run, clock=timezone.now, user=user)
    send_after_commit("judging.work", run.pk)


def _budget(request: HttpRequest, run: JudgeRun, user: User) -> bool:
    """Whether the submitted budget is valid; if so, it becomes the run's budget."""
    form = BudgetForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("Enter a number greater than zero, or leave the field empty for no limit."))
        return False
    if form.ceiling != ceiling_of(run):
        raise_budget(run, form.ceiling, user=user)
    return True


def _retry(request: HttpRequest, run: JudgeRun, user: User) -> None:
    """Queue the unscored items again and resume the run."""
    freed = retry_unscored(run, clock=timezone.now, user=user)
    if freed:
        start(run, clock=timezone.now, user=user)
        send_after_commit("judging.work", run.pk)
        said = ngettext("%(n)d item will be asked again.", "%(n)d items will be asked again.", freed)
        messages.success(request, said % {"n": freed})


def _run_context(request: HttpRequest, run: JudgeRun) -> dict[str, Any]:
    leads = leads_workspace_of(cast(User, request.user), run.study)
    scripted = run.judge.rater.provenance == Rater.Provenance.SCRIPTED
    panel = run_panel(run, clock=timezone.now)
    jurors = jurors_of(run)
    return {
        "run": run,
        "panel": panel,
        "uncounted": uncounted_of(one.language_model for one in jurors if one.language_model is not None)
        if run.estimated
        else "",
        "leads": leads,
        "offers": panel.offers,
        "jurors": jurors,
        "method": method_words(run.judge.method),
        "review_form": ReviewForm(),
        "reviews": review_studies_of(run),
        "provenance": ["scripted"] if scripted else [],
        "budget_form": BudgetForm(
            initial={
                "budget_calls": run.budget_calls,
                "budget_tokens": run.budget_tokens,
                "budget_money": run.budget_money,
            }
        ),
    }


def _is_htmx(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))

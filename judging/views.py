"""Runs of judges: the list, one run while it goes on, and starting one."""

from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by, workspaces_read_by
from annotation.models import Rater, Study
from annotation.provenance import provenance_of
from generation.models import LanguageModel
from judging.forms import BudgetForm, RunForm
from judging.judges import JudgeRefused, create_judge
from judging.methods.checklist import MixedScales
from judging.models import JudgeRun, PlannedItem
from judging.plans import NothingToJudge, plan_run
from judging.prompts import BadTemplate
from judging.run_page import run_panel
from judging.runs import NotPossible, cancel_run, pause_run
from judging.runs import start_run as start
from judging.tasks import enqueue

RUNS_SHOWN = 100
NOTHING_LEFT = gettext_lazy(
    "There is nothing left here for this judge: it answers single responses by a checklist, each of them once."
)
MIXED_SCALES = gettext_lazy(
    "A rubric of this study has items on different scales; a checklist judge needs one scale for all its items."
)


@require_safe
@results_page
def runs(request: HttpRequest) -> HttpResponse:
    """The newest runs of the reader's workspaces, with how far each is."""
    found = (
        _readable_runs(request)
        .annotate(
            total=Count("items"), done=Count("items", filter=~Q(items__status=PlannedItem.Status.WAITING))
        )
        .order_by("-created_at")
    )
    context = {"runs": found[:RUNS_SHOWN], "more": found.count() > RUNS_SHOWN}
    return render(request, "judging/runs.html", context)


@require_safe
@results_page
def run(request: HttpRequest, public_id: str) -> HttpResponse:
    """One run; while it goes on, the page asks for its middle again every other second."""
    found = _run_of(request, public_id)
    template = "judging/run.html#progress" if _is_htmx(request) else "judging/run.html"
    return render(request, template, _run_context(request, found))


@require_POST
@results_page
def control_run(request: HttpRequest, public_id: str) -> HttpResponse:
    """Pause, resume (with another budget, if one is sent) or cancel."""
    found = _run_of(request, public_id)
    user = cast(User, request.user)
    if not workspaces_led_by(user).filter(pk=found.study.workspace_id).exists():
        raise PermissionDenied
    action = request.POST.get("action", "")
    try:
        with transaction.atomic():
            if action == "pause":
                pause_run(found, clock=timezone.now, user=user)
            elif action == "cancel":
                cancel_run(found, clock=timezone.now, user=user)
            elif action == "resume":
                _resume(request, found, user)
            else:
                raise Http404
    except NotPossible:
        messages.warning(
            request,
            gettext("The run has moved on meanwhile: it is now %(status)s.")
            % {"status": found.get_status_display()},
        )
    return redirect("judging:run", public_id)


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def start_run(request: HttpRequest, slug: str) -> HttpResponse:
    """Choose a model and a budget, and leave the run to a worker."""
    user = cast(User, request.user)
    study = Study.objects.filter(slug=slug, workspace__in=workspaces_read_by(user)).first()
    if study is None:
        raise Http404(gettext("There is no such study."))
    if not workspaces_led_by(user).filter(pk=study.workspace_id).exists():
        raise PermissionDenied
    models = LanguageModel.objects.filter(workspace=study.workspace, endpoint__isnull=False).select_related(
        "endpoint"
    )
    form = RunForm(request.POST or None, models=models)
    if request.method == "POST" and form.is_valid():
        made = _planned(form, study, user)
        if made is not None:
            return redirect("judging:run", made.public_id)
    status = 422 if form.is_bound and form.errors else 200
    context = {"study": study, "form": form, "models": models, "provenance": provenance_of(study)}
    return render(request, "judging/start_run.html", context, status=status)


def _planned(form: RunForm, study: Study, user: User) -> JudgeRun | None:
    """The run that the form asks for, on its way; None with the form's error where it cannot be planned."""
    try:
        with transaction.atomic():
            judge = create_judge(model=form.cleaned_data["model"])
            made = plan_run(
                judge=judge, study=study, limit=form.cleaned_data["limit"], budget=form.ceiling, user=user
            )
            start(made, clock=timezone.now, user=user)
            enqueue(made)
            return made
    except NothingToJudge:
        form.add_error(None, NOTHING_LEFT)
    except MixedScales:
        form.add_error(None, MIXED_SCALES)
    except (JudgeRefused, BadTemplate) as error:
        form.add_error(None, str(error))
    return None


def _resume(request: HttpRequest, run: JudgeRun, user: User) -> None:
    form = BudgetForm(request.POST)
    if "budget_calls" in request.POST:
        if not form.is_valid():
            messages.error(request, gettext("A budget is a number above zero, or empty for no limit."))
            return
        run.budget_calls, run.budget_tokens, run.budget_money = (
            form.ceiling.calls,
            form.ceiling.tokens,
            form.ceiling.money,
        )
        run.save(update_fields=["budget_calls", "budget_tokens", "budget_money"])
    start(run, clock=timezone.now, user=user)
    enqueue(run)


def _run_context(request: HttpRequest, run: JudgeRun) -> dict[str, Any]:
    leads = workspaces_led_by(cast(User, request.user)).filter(pk=run.study.workspace_id).exists()
    scripted = run.judge.rater.provenance == Rater.Provenance.SCRIPTED
    return {
        "run": run,
        "panel": run_panel(run, clock=timezone.now),
        "leads": leads,
        "provenance": ["scripted"] if scripted else [],
        "budget_form": BudgetForm(
            initial={
                "budget_calls": run.budget_calls,
                "budget_tokens": run.budget_tokens,
                "budget_money": run.budget_money,
            }
        ),
    }


def _readable_runs(request: HttpRequest) -> "QuerySet[JudgeRun]":
    workspaces = workspaces_read_by(cast(User, request.user))
    return JudgeRun.objects.filter(study__workspace__in=workspaces).select_related(
        "study", "judge__rater", "judge__language_model__endpoint", "created_by"
    )


def _run_of(request: HttpRequest, public_id: str) -> JudgeRun:
    found = _readable_runs(request).filter(public_id=public_id).first()
    if found is None:
        raise Http404(gettext("There is no such run."))
    return found


def _is_htmx(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))

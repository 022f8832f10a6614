"""Generation runs: the list, starting one, and one run while it goes on."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User, Workspace
from accounts.permissions import leads_workspace_of, results_page, workspaces_led_by
from core.messages.rendering import for_reader
from generation.endpoints.clients import NoEndpoint
from generation.execution.monthly_limit import month_of
from generation.execution.progress import with_counts
from generation.library.access import benchmark_read_by, run_read_by, runs_read_by
from generation.models import Benchmark, GenerationItem, GenerationRun, LanguageModel
from generation.responses.estimates import GenerationEstimate, estimate_generation
from generation.responses.manifest import measures_of
from generation.responses.plan import (
    GenerationRequest,
    NothingToGenerate,
    Prefill,
    default_parameters,
    gives_first_lines,
    instructions_of,
    plan_generation,
    sent_just_now,
    tags_of,
)
from generation.responses.runs import GENERATION, progress_of, retry_failed
from generation.web.responses.forms import GenerationForm
from generation.web.responses.run_page import generation_panel, scripted_models
from generation.web.run_controls import RUNS_SHOWN, budget_form, control, download, json_response, resume

PREVIEW = "preview"


@require_safe
@results_page
def runs(request: HttpRequest) -> HttpResponse:
    """The newest runs of the reader's workspaces, with their progress."""
    found = runs_read_by(_user(request))
    counted = with_counts(found, GenerationItem.objects.all(), GenerationItem.Status.WAITING)
    benchmarks = Benchmark.objects.filter(workspace__in=workspaces_led_by(_user(request))).select_related("workspace")
    context = {"runs": counted[:RUNS_SHOWN], "more": found.count() > RUNS_SHOWN, "benchmarks": benchmarks}
    return render(request, "generation/runs.html", context)


@require_safe
@results_page
def run(request: HttpRequest, public_id: str) -> HttpResponse:
    """One run; while it is running, the page reloads its progress regularly."""
    found = run_read_by(_user(request), public_id)
    part = bool(getattr(request, "htmx", False))
    context = {
        "run": found,
        "panel": generation_panel(found, clock=timezone.now),
        "leads": _leads(request, found),
        "provenance": ["scripted"] if scripted_models(found) else [],
        "budget_form": budget_form(found),
        "month": month_of(found.workspace_id, timezone.now),
        "part": part,
        "seen": request.GET.get("seen"),
    }
    return render(request, "generation/run.html#progress" if part else "generation/run.html", context)


@require_POST
@results_page
def control_run(request: HttpRequest, public_id: str) -> HttpResponse:
    """Pause, resume, cancel or retry a run, or change its budget."""
    found = run_read_by(_user(request), public_id)
    if not _leads(request, found):
        raise PermissionDenied

    def retry(run: Any, user: User) -> None:
        retry_failed(run, clock=timezone.now, user=user)
        resume(request, run, GENERATION)

    control(request, found, GENERATION, retry=retry)
    return redirect("generation:run", public_id)


@require_safe
@results_page
def run_file(request: HttpRequest, public_id: str, name: str) -> HttpResponse:
    """The run's manifest.json or report.json as a download."""
    found = run_read_by(_user(request), public_id)
    return download(found, name, files_of(found))


def files_of(run: GenerationRun) -> dict[str, Callable[[], HttpResponse]]:
    """Return the files of a run by their names."""
    identity = {"run": run.public_id, "name": run.name, "status": run.status}
    return {
        "manifest.json": lambda: json_response({**identity, **run.manifest}),
        "report.json": lambda: json_response(_report(run)),
    }


def _report(run: GenerationRun) -> dict[str, Any]:
    """Return counts that add up (done, failed and waiting make each model's total) and the metrics of its texts."""
    progress = progress_of(run, clock=timezone.now)
    return {
        "run": run.public_id,
        "name": run.name,
        "benchmark": run.benchmark.slug,
        "experiment": run.experiment,
        "status": run.status,
        "message": run.message,
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "models": [{**asdict(model), "waiting": model.waiting} for model in progress.models],
        "measures": measures_of(run),
        "errors": dict(progress.errors),
        "broken_off": progress.broken_off,
        "calls": progress.calls,
        "tokens": {"read": progress.input_tokens, "written": progress.output_tokens},
        "money": f"{progress.money:f}",
    }


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def start_run(request: HttpRequest, slug: str) -> HttpResponse:
    """Choose models, samples, length and budget, and hand the run to a worker."""
    user = _user(request)
    benchmark = benchmark_read_by(user, slug)
    if not leads_workspace_of(user, benchmark):
        raise PermissionDenied
    models = served_models(benchmark)
    form = generation_form(benchmark, request.POST or None)
    preview = request.method == "POST" and request.POST.get("action") == PREVIEW
    estimate = None
    if request.method == "POST" and form.is_valid():
        wanted = wanted_by(form, benchmark, user)
        if preview:
            estimate = estimated(form, wanted)
        elif (made := planned(form, wanted)) is not None:
            return redirect("generation:run", made.public_id)
    context = {
        "benchmark": benchmark,
        "form": form,
        "models": models,
        "instructions": instructions_of(benchmark).count(),
        "estimate": estimate,
    }
    status = 422 if form.is_bound and form.errors else 200
    part = "#estimate" if preview and getattr(request, "htmx", False) else ""
    return render(request, "generation/start_run.html" + part, context, status=status)


def served_models(benchmark: Benchmark) -> QuerySet[LanguageModel]:
    """Return the models of the benchmark's workspace that an endpoint serves."""
    served = LanguageModel.objects.filter(workspace=benchmark.workspace, endpoint__isnull=False)
    return served.select_related("endpoint")


def generation_form(benchmark: Benchmark, sent: Mapping[str, Any] | None) -> GenerationForm:
    return GenerationForm(
        sent,
        models=served_models(benchmark),
        categories=benchmark.categories.filter(parent=None).order_by("position", "pk"),
        tags=tags_of(benchmark),
        with_prefill=gives_first_lines(benchmark),
        initial=default_parameters(benchmark),
    )


def wanted_by(form: GenerationForm, benchmark: Benchmark, user: User) -> GenerationRequest:
    given = form.cleaned_data
    return GenerationRequest(
        benchmark,
        list(given["models"]),
        samples=given["samples"],
        limit=given["limit"],
        experiment=given["experiment"],
        categories=given.get("categories", ()),
        tags=given.get("tags", ()),
        parameters={"temperature": given["temperature"], "max_tokens": given["max_tokens"]},
        prefill=given.get("prefill", Prefill.CONTINUE),
        batch=given["batch"],
        budget=form.ceiling,
        user=user,
    )


def estimated(form: GenerationForm, wanted: GenerationRequest) -> GenerationEstimate | None:
    """Return the estimate; None, with an error in the form, if there is nothing to generate."""
    try:
        return estimate_generation(wanted)
    except (NothingToGenerate, NoEndpoint) as error:
        _refuse(form, wanted, error)
    return None


def planned(form: GenerationForm, wanted: GenerationRequest) -> GenerationRun | None:
    """Start the run of the form; None, with an error in the form, if it cannot be planned."""
    try:
        with transaction.atomic():
            # One after the other, so that a form that was sent twice is recognised.
            Workspace.objects.select_for_update(no_key=True).get(pk=wanted.benchmark.workspace_id)
            if known := sent_just_now(wanted, clock=timezone.now):
                return known
            made = plan_generation(wanted)
            GENERATION.start(made, clock=timezone.now, user=wanted.user)
            GENERATION.hand_over(made)
            return made
    except (NothingToGenerate, NoEndpoint) as error:
        _refuse(form, wanted, error)
    return None


def _refuse(form: GenerationForm, wanted: GenerationRequest, error: NothingToGenerate | NoEndpoint) -> None:
    if isinstance(error, NoEndpoint):
        form.add_error(None, for_reader(error))
        return
    form.add_error(
        None,
        gettext("None of these categories has an instruction with a text. Choose other categories.")
        if wanted.categories
        else gettext("This benchmark has no instruction with a text. Load its instructions first."),
    )


def _leads(request: HttpRequest, run: GenerationRun) -> bool:
    return leads_workspace_of(_user(request), run)


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)

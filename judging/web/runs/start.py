"""Pages for starting a run: judges, responses, repeats and budget, with an estimate before it starts."""

from typing import cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.models import User, Workspace
from accounts.permissions import results_page, workspaces_led_by
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from core.messages.rendering import for_reader
from generation.endpoints.clients import NoEndpoint
from generation.endpoints.registration import untested
from generation.library.access import benchmark_read_by
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun, LanguageModel
from judging.judges.making import JudgeRefused
from judging.methods.prompts import BadTemplate
from judging.methods.scales import WrongScale
from judging.methods.single.checklist import MixedScales
from judging.models import Judge, JudgeRun
from judging.runs.life_cycle import JUDGING
from judging.runs.panels import PanelRefused, judges_to_ask
from judging.runs.planning.estimates import Estimate, estimate_run
from judging.runs.planning.plan import sent_just_now
from judging.runs.planning.preparation import create_run
from judging.runs.planning.request import Target
from judging.runs.planning.requirements import MethodLacks, noted_lacks
from judging.studies.benchmarks import NothingToJudge, choice_in_words
from judging.web.judges.forms import fault_in_words
from judging.web.runs.forms import RunForm

NOTHING_LEFT = gettext_lazy(
    "There is nothing left for this judge here: it has judged every task that its method can judge, or the rubric "
    "has no criterion that it answers."
)
NOTHING_RATED = gettext_lazy("People have not rated anything here yet. Judge all responses instead.")
NO_RUBRIC = gettext_lazy(
    "This benchmark has no response with both a text and a rubric. Load its responses first. If the benchmark has "
    "no rubric, create a study of it with your own questions and judge that study."
)
MIXED_SCALES = gettext_lazy(
    "A rubric of this study has items on different scales. A checklist judge needs the same scale for all items."
)
WRONG_SCALE = gettext_lazy(
    "A rubric here has a scale that this method does not support. Choose another method or another rubric."
)
NO_JURY = gettext_lazy(
    "These judges cannot form a panel: the judges of a panel must answer the same criteria with methods of the "
    "same kind."
)
NOT_SERVED = gettext_lazy("This judge's model has no endpoint. Add one to the model in the library first.")
NAME_TAKEN = gettext_lazy(
    "Another judge already has the name that this judge would get. Create it in the library with a different name."
)
PREVIEW = "preview"


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def start_run(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask judges about a study's tasks."""
    study = study_read_by(cast(User, request.user), slug)
    context = {"study": study, "provenance": provenance_of(study)}
    return _start(request, Target(study=study), context)


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def judge_benchmark(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask judges about all responses of a benchmark; ?experiment= selects an experiment other than the main one."""
    benchmark = benchmark_read_by(cast(User, request.user), slug)
    experiments = _experiments(benchmark)
    experiment = request.GET.get("experiment", MAIN_EXPERIMENT)
    if experiment not in experiments:
        raise Http404(gettext("This benchmark has no such experiment."))
    context = {"benchmark": benchmark, "experiment": experiment, "experiments": experiments}
    target = Target(benchmark=benchmark, experiment=experiment)
    return _start(request, target, context)


def _start(request: HttpRequest, target: Target, context: dict[str, object]) -> HttpResponse:
    user = cast(User, request.user)
    if not workspaces_led_by(user).filter(pk=target.workspace.pk).exists():
        raise PermissionDenied
    models, judges = may_be_asked(target.workspace)
    form = RunForm(
        request.POST if request.method == "POST" else None,
        judges=judges.order_by("rater__label", "pk"),
        models=models.select_related("endpoint"),
        kinds=target.kinds,
        initial=_asked_for(request, judges),
    )
    estimate = None
    if request.method == "POST" and form.is_valid():
        if request.POST.get("action") == PREVIEW:
            estimate = estimated(form, target, user)
        elif run := started_run(form, target, user):
            if target.benchmark is not None and (choice := choice_in_words(target.benchmark)):
                messages.warning(request, choice)
            for lack in noted_lacks(run):
                messages.warning(request, for_reader(lack.warning))
            return redirect("judging:run", run.public_id)
    context["untested"] = untested(models.select_related("endpoint"))
    context |= {"form": form, "models": models, "judges": judges, "estimate": estimate}
    status = 422 if form.is_bound and form.errors else 200
    htmx = getattr(request, "htmx", False) and request.POST.get("action") == PREVIEW
    return render(request, "judging/start_run.html" + ("#estimate" if htmx else ""), context, status=status)


def may_be_asked(workspace: Workspace) -> "tuple[QuerySet[LanguageModel], QuerySet[Judge]]":
    """Return the models and the judges of a workspace that a run can ask."""
    models = LanguageModel.objects.filter(workspace=workspace, endpoint__isnull=False)
    return models, judges_to_ask(workspace)


def _asked_for(request: HttpRequest, judges: "QuerySet[Judge]") -> dict[str, object]:
    """Return the judge that ?judge= names as the form's first choice."""
    named = judges.filter(rater__public_id=request.GET.get("judge", ""))
    return {"judges": list(named.values_list("pk", flat=True))}


def estimated(form: RunForm, target: Target, user: User) -> Estimate | None:
    """Return the estimate; None, with an error in the form, if there is nothing to count."""
    try:
        with transaction.atomic():
            wanted = form.request(target, user)
            # The panel is looked up here, so that a new one, like new judges, is rolled back.
            wanted.leader  # noqa: B018
            transaction.set_rollback(True)
        estimate = estimate_run(wanted)
    except REFUSALS as error:
        form.add_error(None, _in_words(error, form, target))
        return None
    if not estimate.tasks:
        form.add_error(None, _why_nothing(form, target))
        return None
    return estimate


def started_run(form: RunForm, target: Target, user: User) -> JudgeRun | None:
    """Start the run of the form; None, with an error in the form, if it cannot be planned."""
    try:
        with transaction.atomic():
            # One after the other, so that what was sent twice is seen to be the same.
            Workspace.objects.select_for_update(no_key=True).get(pk=target.workspace.pk)
            wanted = form.request(target, user)
            if target.stored and (known := sent_just_now(wanted, clock=timezone.now)):
                return known
            run = create_run(wanted)
            JUDGING.start(run, clock=timezone.now, user=user)
            JUDGING.hand_over(run)
            return run
    except REFUSALS as error:
        form.add_error(None, _in_words(error, form, target))
    return None


REFUSALS = (NothingToJudge, MixedScales, WrongScale, PanelRefused, JudgeRefused, NoEndpoint, BadTemplate, MethodLacks)


def _in_words(error: Exception, form: RunForm, target: Target) -> str:
    return _why_nothing(form, target) if isinstance(error, NothingToJudge) else refusal_words(error)


def refusal_words(error: Exception) -> str:
    """Say in the reader's language why a run was refused."""
    match error:
        case NothingToJudge():
            return str(NOTHING_LEFT)
        case MethodLacks():
            return for_reader(error)
        case MixedScales():
            return str(MIXED_SCALES)
        case WrongScale():
            return str(WRONG_SCALE)
        case PanelRefused():
            return str(NO_JURY)
        case NoEndpoint():
            return str(NOT_SERVED)
        case JudgeRefused():
            return str(NAME_TAKEN)
        case BadTemplate():
            return fault_in_words(error)
        case _:
            return for_reader(error)


def _why_nothing(form: RunForm, target: Target) -> str:
    if form.only_rated and not target.rated:
        return str(NOTHING_RATED)
    return str(NO_RUBRIC if target.empty else NOTHING_LEFT)


def _experiments(benchmark: Benchmark) -> list[str]:
    """The main experiment first, then the others with responses."""
    runs = GenerationRun.objects.filter(benchmark=benchmark, responses__isnull=False)
    others = set(runs.order_by().values_list("experiment", flat=True).distinct()) - {MAIN_EXPERIMENT}
    return [MAIN_EXPERIMENT, *sorted(others)]

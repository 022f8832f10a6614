"""Starting a run: which judges are asked, about what, how often, within which budget; counted before it is begun."""

from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.models import User, Workspace
from accounts.permissions import results_page, workspaces_led_by, workspaces_read_by
from annotation.models import Assignment, Study, Task
from annotation.provenance import provenance_of
from generation.endpoints import NoEndpoint
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun, LanguageModel
from judging.estimates import Estimate, estimate_run
from judging.forms import RunForm
from judging.judges import JudgeRefused
from judging.methods.checklist import MixedScales
from judging.methods.scales import WrongScale
from judging.models import Judge, JudgeRun
from judging.panels import PanelRefused
from judging.plans import NothingToJudge, plan_run, study_of_benchmark
from judging.prompts import BadTemplate
from judging.runs import start_run as start
from judging.tasks import enqueue

NOTHING_LEFT = gettext_lazy(
    "There is nothing left here for this judge: it has answered every task that its method can judge, or a rubric "
    "here has nothing that it answers."
)
NOTHING_RATED = gettext_lazy("People have rated nothing here yet; judge everything instead.")
NO_RUBRIC = gettext_lazy(
    "This benchmark has no response with a text and a rubric; load its responses and its rubrics first."
)
MIXED_SCALES = gettext_lazy(
    "A rubric of this study has items on different scales; a checklist judge needs one scale for all its items."
)
WRONG_SCALE = gettext_lazy(
    "A rubric here has a scale that this method does not answer on; choose another method or another rubric."
)
NO_JURY = gettext_lazy(
    "These judges cannot decide together: the judges of one jury answer the same criteria, by methods of one kind."
)
PREVIEW = "preview"


@dataclass(frozen=True)
class Target:
    """What is to be judged: a study's tasks, or all responses of a benchmark in one of its experiments."""

    workspace: Workspace
    study: Study | None = None
    benchmark: Benchmark | None = None
    experiment: str = MAIN_EXPERIMENT

    def to_judge(self) -> Study:
        """The study; of a benchmark its own one, made where there is none. Raises NothingToJudge."""
        if self.study is not None:
            return self.study
        assert self.benchmark is not None
        return study_of_benchmark(self.benchmark, self.experiment)

    @property
    def kinds(self) -> set[str]:
        if self.study is None:
            return {Task.Kind.SINGLE}
        return set(self.study.tasks.order_by().values_list("kind", flat=True).distinct())


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def start_run(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask judges about a study's tasks."""
    user = cast(User, request.user)
    study = Study.objects.filter(slug=slug, workspace__in=workspaces_read_by(user)).first()
    if study is None:
        raise Http404(gettext("There is no such study."))
    context = {"study": study, "provenance": provenance_of(study)}
    return _start(request, Target(study.workspace, study=study), context)


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def judge_benchmark(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask judges about all responses of a benchmark; ?experiment= names another than the main one."""
    user = cast(User, request.user)
    benchmark = Benchmark.objects.filter(slug=slug, workspace__in=workspaces_read_by(user)).first()
    if benchmark is None:
        raise Http404(gettext("There is no such benchmark."))
    experiments = _experiments(benchmark)
    experiment = request.GET.get("experiment", MAIN_EXPERIMENT)
    if experiment not in experiments:
        raise Http404(gettext("This benchmark has no such experiment."))
    context = {"benchmark": benchmark, "experiment": experiment, "experiments": experiments}
    target = Target(benchmark.workspace, benchmark=benchmark, experiment=experiment)
    return _start(request, target, context)


def _start(request: HttpRequest, target: Target, context: dict[str, Any]) -> HttpResponse:
    user = cast(User, request.user)
    if not workspaces_led_by(user).filter(pk=target.workspace.pk).exists():
        raise PermissionDenied
    models = LanguageModel.objects.filter(workspace=target.workspace, endpoint__isnull=False)
    judges = Judge.objects.filter(workspace=target.workspace, jurors=None).select_related("rater")
    form = RunForm(
        request.POST if request.method == "POST" else None,
        judges=judges.order_by("rater__label", "pk"),
        models=models.select_related("endpoint"),
        kinds=target.kinds,
    )
    estimate = None
    if request.method == "POST" and form.is_valid():
        if request.POST.get("action") == PREVIEW:
            estimate = _estimated(form, target)
        elif made := _planned(form, target, user):
            return redirect("judging:run", made.public_id)
    context |= {"form": form, "models": models, "judges": judges, "estimate": estimate}
    status = 422 if form.is_bound and form.errors else 200
    htmx = getattr(request, "htmx", False) and request.POST.get("action") == PREVIEW
    return render(request, "judging/start_run.html" + ("#estimate" if htmx else ""), context, status=status)


def _estimated(form: RunForm, target: Target) -> Estimate | None:
    """Counted in a transaction that is rolled back: nothing of it stays."""
    with transaction.atomic():
        try:
            with transaction.atomic():
                study = target.to_judge()
                judges = form.chosen_judges(target.workspace)
                asking = form.asking(judges)
                found = estimate_run(
                    judges, study, asking, limit=form.cleaned_data["limit"], only_rated=form.only_rated
                )
            if not found.tasks:
                form.add_error(None, _why_nothing(form, target))
        except REFUSALS as error:
            form.add_error(None, _in_words(error, form, target))
            found = None
        transaction.set_rollback(True)
    return found if found and found.tasks else None


def _planned(form: RunForm, target: Target, user: User) -> JudgeRun | None:
    """The run that the form asks for, on its way; None with the form's error where it cannot be planned."""
    try:
        with transaction.atomic():
            study = target.to_judge()
            judges = form.chosen_judges(target.workspace)
            made = plan_run(
                judge=judges[0],
                study=study,
                limit=form.cleaned_data["limit"],
                budget=form.ceiling,
                reuse=not form.cleaned_data["fresh"],
                user=user,
                asking=form.asking(judges),
                only_rated=form.only_rated,
            )
            start(made, clock=timezone.now, user=user)
            enqueue(made)
            return made
    except REFUSALS as error:
        form.add_error(None, _in_words(error, form, target))
    return None


REFUSALS = (NothingToJudge, MixedScales, WrongScale, PanelRefused, JudgeRefused, NoEndpoint, BadTemplate)


def _in_words(error: Exception, form: RunForm, target: Target) -> str:
    match error:
        case NothingToJudge():
            return _why_nothing(form, target)
        case MixedScales():
            return str(MIXED_SCALES)
        case WrongScale():
            return str(WRONG_SCALE)
        case PanelRefused():
            return str(NO_JURY)
        case _:
            return str(error)


def _why_nothing(form: RunForm, target: Target) -> str:
    study = target.study
    if study is None:
        studies = Study.objects.filter(benchmark=target.benchmark, tasks__isnull=False)
        return str(NOTHING_LEFT if studies.exists() else NO_RUBRIC)
    rated = Assignment.objects.filter(task__study=study).answered().of_people()
    return str(NOTHING_RATED if form.only_rated and not rated.exists() else NOTHING_LEFT)


def _experiments(benchmark: Benchmark) -> list[str]:
    """The main one first, then those that have responses."""
    runs = GenerationRun.objects.filter(benchmark=benchmark, responses__isnull=False)
    others = set(runs.order_by().values_list("experiment", flat=True).distinct()) - {MAIN_EXPERIMENT}
    return [MAIN_EXPERIMENT, *sorted(others)]

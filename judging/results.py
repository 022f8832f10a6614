"""Result pages of judges: leaderboards of a benchmark, and judges against people in a study."""

from typing import Any, cast

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by, workspaces_read_by
from annotation.models import Rater, Study
from annotation.provenance import provenance_of
from calibration.models import Fit
from calibration.report_cache import is_slow
from generation.models import MAIN_EXPERIMENT, Benchmark
from judging import tasks
from judging.board_page import board_panel, default_weights, weights_choices
from judging.comparison import judges_in, known_comparison, weighting_for
from judging.comparison_page import ComparisonPanel, comparison_panel
from judging.leaderboards import judges_of
from judging.leaderboards import leaderboard as compute_board
from judging.scoring import NoVerdicts, WithoutWeight
from judging.weightings import MissingWeights, UnknownWeights


@require_safe
@results_page
def leaderboards(request: HttpRequest) -> HttpResponse:
    """The benchmarks that a judge has judged, and those that none has."""
    judged = Q(instructions__responses__tasks_as_a__assignments__rater__kind=Rater.Kind.JUDGE)
    benchmarks = _readable_benchmarks(request).annotate(
        judges=Count("instructions__responses__tasks_as_a__assignments__rater", filter=judged, distinct=True)
    )
    return render(request, "judging/leaderboards.html", {"benchmarks": benchmarks})


@require_safe
@results_page
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    """?judge=, ?weights= and ?experiment= choose what is ranked; what cannot be computed is said, not hidden."""
    benchmark = _readable_benchmarks(request).filter(slug=slug).first()
    if benchmark is None:
        raise Http404(gettext("There is no such benchmark."))
    judges = judges_of(benchmark)
    judge = _chosen_judge(judges, request.GET.get("judge", ""))
    weights = request.GET.get("weights", "") or default_weights(benchmark)
    experiment = request.GET.get("experiment", "") or MAIN_EXPERIMENT
    context: dict[str, Any] = {
        "benchmark": benchmark,
        "judges": judges,
        "judge": judge,
        "weights": weights,
        "weights_choices": weights_choices(benchmark),
        "experiment": experiment,
        "experiments": _experiments(benchmark),
        "provenance": [judge.provenance] if judge and judge.provenance else [],
    }
    if judge is not None:
        try:
            board = compute_board(benchmark, judge, weights, experiment=experiment)
            context["panel"] = board_panel(board)
            context["provenance"] += _provenance_of_weights(board.weighting.fit)
        except (NoVerdicts, WithoutWeight):
            context["reason"] = gettext("This judge has no usable verdict in this experiment.")
        except MissingWeights as error:
            context["reason"] = gettext("These weights do not cover every category that was judged.")
            context["detail"] = str(error)
        except UnknownWeights as error:
            context["reason"] = gettext("There are no such weights.")
            context["detail"] = str(error)
    return render(request, "judging/leaderboard.html", context)


def _provenance_of_weights(fit: Fit | None) -> list[str]:
    """'simulated' where the weights were fitted to simulated raters; a scripted judge has no part in them."""
    if fit is None or fit.study is None:
        return []
    return [kind for kind in provenance_of(fit.study) if kind == Rater.Provenance.SIMULATED]


@require_safe
@results_page
def judges(request: HttpRequest, slug: str) -> HttpResponse:
    """Every judge of this study's responses against its people; a large study is compared by a worker meanwhile."""
    user = cast(User, request.user)
    study = Study.objects.filter(slug=slug, workspace__in=workspaces_read_by(user)).first()
    if study is None:
        raise Http404(gettext("There is no such study."))
    panels, waiting = _panels(request, study)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "panels": panels,
        "waiting": waiting,
        "leads": workspaces_led_by(user).filter(pk=study.workspace_id).exists(),
        "has_tasks": study.tasks.exists(),
    }
    htmx = getattr(request, "htmx", False)
    return render(request, "judging/judges.html#result" if htmx else "judging/judges.html", context)


def _panels(request: HttpRequest, study: Study) -> tuple[list[ComparisonPanel], bool]:
    """A panel a judge; whether some are still being computed."""
    weighting, slow = weighting_for(study), is_slow(study)
    panels, missing = [], False
    for judge in judges_in(study):
        if slow and known_comparison(study, judge, weighting) is None:
            missing = True
            continue
        panels.append(comparison_panel(study, judge, weighting))
    if missing and "waiting" not in request.GET:
        transaction.on_commit(lambda: tasks.compare.delay(study.pk))
    return panels, missing


def _readable_benchmarks(request: HttpRequest) -> "QuerySet[Benchmark]":
    return Benchmark.objects.filter(workspace__in=workspaces_read_by(cast(User, request.user))).order_by(
        "slug"
    )


def _chosen_judge(judges: list[Rater], asked: str) -> Rater | None:
    """The judge asked for; else the first that is no script, else the first."""
    if asked:
        found = next((judge for judge in judges if asked in (judge.public_id, judge.label)), None)
        if found is None:
            raise Http404(gettext("No such judge has judged this benchmark."))
        return found
    return next((judge for judge in judges if not judge.provenance), judges[0] if judges else None)


def _experiments(benchmark: Benchmark) -> list[str]:
    """The main experiment first, then the others that have runs."""
    found = set(benchmark.generation_runs.values_list("experiment", flat=True)) - {MAIN_EXPERIMENT}
    return [MAIN_EXPERIMENT, *sorted(found)]

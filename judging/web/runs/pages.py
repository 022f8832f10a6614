"""Pages of judge runs: the list, one run, and its controls."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.models import Rater, Study
from annotation.studies.life_cycle import StudyRefused
from calibration.statistics.agreement.proportions import Proportion
from core.messages.rendering import for_reader
from generation.endpoints.clients import uncounted_of
from generation.endpoints.pricing import currency_of
from generation.execution.monthly_limit import month_of
from generation.execution.progress import with_counts
from generation.web.library.pages import asked_for
from generation.web.run_controls import budget_form, control, download
from judging.comparison.drawn_checks import NothingToCheck, agreement_so_far, check_studies_of, make_check_study
from judging.comparison.review_studies import NothingToReview, make_review_study, review_studies_of
from judging.comparison.run_lists import (
    PromptVersion,
    StoredAgreement,
    is_priced,
    prompt_versions,
    runs_found,
    stored_agreements,
    sums_of_runs,
)
from judging.models import JudgeRun, PlannedItem
from judging.runs.access import SHOWN_WITH_A_RUN, run_read_by, runs_read_by
from judging.runs.aggregation import jurors_of
from judging.runs.labels import label_run as label_run_as
from judging.runs.life_cycle import JUDGING, ask_again
from judging.web.judges.method_messages import method_words
from judging.web.monitoring.pages import failing_watches, flagged_watches
from judging.web.runs.files import files_of_run
from judging.web.runs.forms import CheckSampleForm, ReviewForm
from judging.web.runs.run_page import run_panel

RUNS_ON_A_PAGE = 50


@require_safe
@results_page
def runs(request: HttpRequest) -> HttpResponse:
    """The runs of the reader's workspaces, newest first, with progress, cost and agreement; ?q= searches them."""
    user = cast(User, request.user)
    words = asked_for(request, "q")[:200]
    found = runs_found(runs_read_by(user), words).select_related(*SHOWN_WITH_A_RUN).order_by("-created_at", "-pk")
    counted = with_counts(found, PlannedItem.objects.filter(canary=""), PlannedItem.Status.WAITING)
    page = Paginator(counted, RUNS_ON_A_PAGE).get_page(request.GET.get("page"))
    shown = list(page.object_list)
    context = {
        "runs": shown,
        "rows": _rows(shown),
        "page": page,
        "words": words,
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


@dataclass(frozen=True)
class RunRow:
    """A run in the list; `cost` is None where nobody said what its calls cost."""

    run: JudgeRun
    prompt: PromptVersion | None
    cost: Decimal | None
    currency: str
    unusable: int
    agreement: StoredAgreement | None


def _rows(shown: list[JudgeRun]) -> list[RunRow]:
    sums = sums_of_runs(shown)
    versions = prompt_versions(run.judge for run in shown)
    agreements = stored_agreements((run.study_id, run.judge.rater.public_id) for run in shown)
    currencies = {pk: currency_of(pk) for pk in {run.judge.workspace_id for run in shown}}
    return [
        RunRow(
            run,
            versions.get(run.judge_id),
            sums[run.pk].cost if is_priced(run.judge, sums[run.pk].cost) else None,
            currencies[run.judge.workspace_id],
            sums[run.pk].unusable,
            None if run.discredited or run.probes else agreements.get((run.study_id, run.judge.rater.public_id)),
        )
        for run in shown
    ]


@require_POST
@results_page
def label_run(request: HttpRequest, public_id: str) -> HttpResponse:
    """Give the run a name of the lead's own, or take it away."""
    user = cast(User, request.user)
    found = run_read_by(user, public_id)
    if not leads_workspace_of(user, found.study):
        raise PermissionDenied
    label_run_as(found, request.POST.get("label", ""), by=user)
    return redirect("judging:run", public_id)


@require_POST
@results_page
def control_run(request: HttpRequest, public_id: str) -> HttpResponse:
    """Pause, resume, cancel or retry a run, or change its budget."""
    user = cast(User, request.user)
    found = run_read_by(user, public_id)
    if not leads_workspace_of(user, found.study):
        raise PermissionDenied

    def retry(run: Any, user: User) -> None:
        freed = ask_again(run, clock=timezone.now, user=user)
        if freed:
            notice = ngettext("%(n)d item will be asked again.", "%(n)d items will be asked again.", freed)
            messages.success(request, notice % {"n": freed})

    control(request, found, JUDGING, retry=retry)
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
    return redirect("annotation:desk", study)


@require_POST
@results_page
def draw_checks(request: HttpRequest, public_id: str) -> HttpResponse:
    """Create and open a study in which people answer some of the run's instruction checks."""
    user = cast(User, request.user)
    found = run_read_by(user, public_id)
    if not leads_workspace_of(user, found.study):
        raise PermissionDenied
    form = CheckSampleForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("Enter the number of checks and the number of raters, at least 1 each."))
        return redirect("judging:run", public_id)
    try:
        study = make_check_study(found, sample=form.cleaned_data["sample"], raters=form.cleaned_data["raters"], by=user)
    except NothingToCheck:
        messages.error(request, gettext("This run has no instruction checks with a verdict yet."))
        return redirect("judging:run", public_id)
    except StudyRefused as error:
        messages.error(request, for_reader(error))
        return redirect("judging:run", public_id)
    if study.status == Study.Status.OPEN:
        messages.success(request, gettext("The study of checks is open. Invite raters to it."))
    return redirect("annotation:desk", study)


@dataclass(frozen=True)
class DrawnStudy:
    """A study drawn from the run's checks, and people's agreement with the judge; None while nobody has answered."""

    study: Study
    agreement: Proportion | None


def _drawn_studies(run: JudgeRun) -> list[DrawnStudy]:
    return [DrawnStudy(study, agreement_so_far(study)) for study in check_studies_of(run)]


@require_safe
@results_page
def run_file(request: HttpRequest, public_id: str, name: str) -> HttpResponse:
    """The run's manifest.json, report.json or items.csv as a download; ?raw=1 adds the raw replies to items.csv."""
    found = run_read_by(cast(User, request.user), public_id)
    raw = request.GET.get("raw") == "1"
    return download(found, name, files_of_run(found, raw=raw, clock=timezone.now))


def _run_context(request: HttpRequest, run: JudgeRun) -> dict[str, object]:
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
        "has_checks": run.study.kind == Study.Kind.CHECK,
        "check_form": CheckSampleForm(),
        "drawn": _drawn_studies(run) if run.study.kind == Study.Kind.CHECK else [],
        "provenance": ["scripted"] if scripted else [],
        "budget_form": budget_form(run),
        "month": month_of(run.workspace_id, timezone.now),
    }


def _is_htmx(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))

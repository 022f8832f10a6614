"""Pages of probes: choosing and pricing them for a judge, and what a run of them found."""

from dataclasses import dataclass
from typing import cast

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User, Workspace
from accounts.permissions import leads_workspace_of, results_page, workspaces_led_by
from annotation.models import Study
from annotation.studies.provenance import provenance_of
from calibration.web.serving import file_of
from core.errors import UserError
from core.messages.rendering import for_reader
from core.web.access import visible_or_404
from generation.endpoints.clients import NoEndpoint
from generation.execution.monthly_limit import month_of
from judging.judges.making import JudgeRefused
from judging.methods.scales import WrongScale
from judging.methods.single.checklist import MixedScales
from judging.models import Judge, JudgeRun
from judging.probes.planning import ProbePrice, create_probe_run, price_of_probes, sent_just_now
from judging.probes.request import ProbesRefused, check_judge
from judging.probes.results import ProbeReport, probe_report
from judging.runs.access import run_read_by
from judging.runs.life_cycle import JUDGING
from judging.web.probes.blocks import probe_page
from judging.web.probes.forms import ProbeForm
from judging.web.probes.messages import probe_names

PREVIEW = "preview"
REFUSALS = (ProbesRefused, JudgeRefused, NoEndpoint, WrongScale, MixedScales)


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def probe_judge(request: HttpRequest, public_id: str, study_id: str) -> HttpResponse:
    """Choose the probes of a judge on a study's responses; a preview prices them and stores nothing."""
    user = cast(User, request.user)
    led = workspaces_led_by(user)
    found = Judge.objects.filter(rater__public_id=public_id, workspace__in=led)
    judge = visible_or_404(
        found.select_related("rater", "language_model__endpoint", "workspace"),
        message=gettext("There is no such judge."),
    )
    study = visible_or_404(
        Study.objects.filter(workspace=judge.workspace_id, public_id=study_id).select_related("workspace", "guideline"),
        message=gettext("There is no such study."),
    )
    refusal = ""
    try:
        check_judge(judge)
    except ProbesRefused as error:
        refusal = for_reader(error)
    form = ProbeForm(request.POST if request.method == "POST" else None, judge=judge)
    price: ProbePrice | None = None
    if request.method == "POST" and not refusal and form.is_valid():
        try:
            if request.POST.get("action") == PREVIEW:
                price = price_of_probes(form.request(study, user))
            else:
                return redirect("judging:run", _started(form, study, user).public_id)
        except REFUSALS as error:
            form.add_error(None, for_reader(error) if isinstance(error, UserError) else str(error))
    context: dict[str, object] = {
        "judge": judge,
        "study": study,
        "form": form,
        "refusal": refusal,
        "price": price,
        "arms": _arms(price) if price else [],
        "left_out": [for_reader(why) for _key, why in price.design.left_out] if price else [],
        "month": month_of(judge.workspace_id, timezone.now),
        "provenance": provenance_of(study),
    }
    status = 422 if form.is_bound and form.errors else 200
    part = "#estimate" if getattr(request, "htmx", False) and request.POST.get("action") == PREVIEW else ""
    return render(request, f"judging/probe_judge.html{part}", context, status=status)


def _started(form: ProbeForm, study: Study, user: User) -> JudgeRun:
    """Start the run of the form, or return the same one where the form was sent twice. Raises REFUSALS."""
    with transaction.atomic():
        # One after the other, so that what was sent twice is seen to be the same.
        Workspace.objects.select_for_update(no_key=True).get(pk=study.workspace_id)
        wanted = form.request(study, user)
        known = sent_just_now(wanted, clock=timezone.now)
        if known is not None:
            return known
        run = create_probe_run(wanted)
        JUDGING.start(run, clock=timezone.now, user=user)
        JUDGING.hand_over(run)
        return run


@dataclass(frozen=True)
class ShownArm:
    """A probe on the price page; `growth` is in percent of the words, None where none are added."""

    name: str
    responses: int
    instructions: int
    growth: float | None


def _arms(price: ProbePrice) -> list[ShownArm]:
    names = probe_names()
    return [
        ShownArm(names[arm.key], arm.responses, arm.instructions, 100 * arm.growth if arm.growth > 0 else None)
        for arm in price.design.arms
    ]


@require_safe
@results_page
def run_probes(request: HttpRequest, public_id: str) -> HttpResponse:
    """What a run of probes found; ?file= serves a file of the page."""
    user = cast(User, request.user)
    run = run_read_by(user, public_id)
    if run.probes is None:
        raise Http404(gettext("This run judges responses; it has no probes."))
    page, reason = None, ""
    report: ProbeReport | None = None
    try:
        report = probe_report(run)
        page = probe_page(report)
    except UserError as error:
        reason = for_reader(error)
    if "file" in request.GET:
        if page is None:
            raise Http404(gettext("This page has no such file."))
        return file_of(page, request.GET["file"], f"{run.study.slug}-probes")
    leads = leads_workspace_of(user, run.study)
    context = {
        "run": run,
        "page": page,
        "reason": reason,
        "path": request.path,
        "query": "",
        "next": _next_step(run, report, leads),
        "provenance": [run.judge.rater.provenance] if run.judge.rater.provenance else [],
    }
    return render(request, "judging/run_probes.html", context)


@dataclass(frozen=True)
class ProbeStep:
    why: str
    button: str
    address: str


def _next_step(run: JudgeRun, report: ProbeReport | None, leads: bool) -> ProbeStep:
    """Return the one thing to do after reading the page."""
    if report is None or report.waiting:
        return ProbeStep(
            gettext("The run has not asked everything yet."),
            gettext("Open the run"),
            reverse("judging:run", args=[run.public_id]),
        )
    if report.found and leads:
        return ProbeStep(
            gettext("Another prompt may be moved less; probe it on the same responses."),
            gettext("Create a variant"),
            reverse("judging:new_judge", query={"like": run.judge.rater.public_id}),
        )
    return ProbeStep(
        gettext("Probes say nothing of whether a judge agrees with people."),
        gettext("Compare with people"),
        reverse("judging:judges", args=[run.study]),
    )

"""Pages of an alignment: beginning one, what it shows, asking a model for a prompt, and a look at the test part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.statistics.judges.alignment import instructions_needed
from calibration.web.serving import file_of
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.execution.monthly_limit import month_of
from generation.responses.estimates import GenerationEstimate
from judging.alignment.looks import check_look, next_look, take_look
from judging.alignment.proposals import (
    ask_for_prompt,
    asking_runs,
    drafts_of,
    judges_of,
    price_of_proposal,
    prompt_models,
)
from judging.alignment.records import add_version, alignment_read_by, begin_alignment, criteria_asked, judges_to_add
from judging.alignment.results import AlignmentReport, VersionRow, alignment_report, versions_of
from judging.methods.line_diff import Line, line_diff
from judging.models import Alignment, AlignmentVersion, Judge
from judging.web.alignment.blocks import alignment_page, proposer_names
from judging.web.alignment.forms import AlignmentForm, ProposalForm, VersionForm
from judging.web.comparison.depth_pages import addressed, judge_links
from judging.web.judges.forms import fault_in_words

PREVIEW = "preview"


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def new_alignment(request: HttpRequest, slug: str) -> HttpResponse:
    """List the study's alignments, and begin one."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    leads = leads_workspace_of(user, study)
    if request.method == "POST" and not leads:
        raise PermissionDenied
    judges = Judge.objects.filter(workspace=study.workspace_id).select_related("rater").order_by("rater__label", "pk")
    sent = request.POST if request.method == "POST" else None
    form = AlignmentForm(sent, judges=judges, criteria=criteria_asked(study))
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            made = begin_alignment(
                study, given["baseline"], criterion=given["criterion"], shares=form.shares, seed=given["seed"], by=user
            )
            return redirect("judging:alignment", made.public_id)
        except UserError as error:
            form.add_error(None, for_reader(error))
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "alignments": study.alignments.select_related("baseline__rater"),
        "leads": leads,
        "has_judges": judges.exists(),
        "form": form,
        "needed": instructions_needed(),
        "links": addressed(study, judge_links("judging:new_alignment")),
    }
    return render(request, "judging/new_alignment.html", context, status=_status(form))


@dataclass(frozen=True)
class ShownVersion:
    """A version under the figures: its prompt beside the baseline's, and what can be done with it."""

    row: VersionRow
    proposer: str
    diff: list[Line]


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def alignment(request: HttpRequest, public_id: str) -> HttpResponse:
    """What is known of every version; a POST adds one. ?file= serves a file of the page."""
    user = cast(User, request.user)
    found = alignment_read_by(user, public_id)
    leads = leads_workspace_of(user, found.study)
    form = VersionForm(request.POST if request.method == "POST" else None, judges=judges_to_add(found))
    if request.method == "POST":
        if not leads:
            raise PermissionDenied
        if form.is_valid():
            try:
                add_version(found, form.cleaned_data["judge"], by=user)
                return redirect("judging:alignment", found.public_id)
            except UserError as error:
                form.add_error(None, for_reader(error))
    versions = versions_of(found)
    report = alignment_report(found, versions)
    page = alignment_page(report)
    if "file" in request.GET:
        return file_of(page, request.GET["file"], f"{found.study.slug}-alignment")
    context = {
        "alignment": found,
        "study": found.study,
        "provenance": provenance_of(found.study),
        "report": report,
        "page": page,
        "path": request.path,
        "query": "",
        "step": _next_step(found, report),
        "versions": _shown_versions(found, report, versions),
        "drafts": [
            (draft, fault_in_words(draft.fault) if draft.fault else "", line_diff(draft.like.prompt, draft.prompt))
            for draft in drafts_of(found)
        ],
        "asking": list(asking_runs(found)),
        "leads": leads,
        "form": form,
        "links": addressed(found.study, judge_links("")),
    }
    return render(request, "judging/alignment.html", context, status=_status(form))


def _shown_versions(
    found: Alignment, report: AlignmentReport, versions: Sequence[AlignmentVersion]
) -> list[ShownVersion]:
    names, baseline = proposer_names(), found.baseline.prompt
    return [
        ShownVersion(row, names[row.proposed_by], line_diff(baseline, version.judge.prompt))
        for row, version in zip(report.versions, versions, strict=True)
    ]


@dataclass(frozen=True)
class AlignmentStep:
    """The one thing to do next; it is a lead's, unless it only reads."""

    why: str
    button: str
    address: str
    leads_only: bool = True
    status: str = ""


def _next_step(found: Alignment, report: AlignmentReport) -> AlignmentStep:
    for row in (report.baseline, *report.versions):
        if row.lacking:
            return AlignmentStep(
                gettext("%(judge)s has no verdict yet on some of the tasks that people rated.") % {"judge": row.judge},
                gettext("Ask this judge"),
                reverse("judging:start_run", args=[found.study], query={"judge": row.id}),
            )
    better = next((row for row, look in report.looks if look.claim == "better"), None)
    if better is not None:
        return AlignmentStep(
            gettext("See for what else %(judge)s may be used.") % {"judge": better.judge},
            gettext("Open its card"),
            reverse("judging:judge_card", args=[better.id]),
            leads_only=False,
        )
    if report.chosen is not None:
        row = report.versions[report.chosen]
        return AlignmentStep(
            gettext("%(judge)s gains most on the validation part.") % {"judge": row.judge},
            gettext("Measure it on the test part"),
            reverse("judging:take_look", args=[found.public_id, row.id]),
        )
    query = {"like": found.baseline.rater.public_id, "alignment": found.public_id}
    return AlignmentStep(
        gettext("Write a version with another prompt, from what the ratings of the training part show."),
        gettext("Create a variant"),
        reverse("judging:new_judge", query=query),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def propose_prompt(request: HttpRequest, public_id: str) -> HttpResponse:
    """Choose the model that rewrites a prompt; a preview prices its one call and stores nothing."""
    user, found = _led(request, public_id)
    judges = (
        Judge.objects.filter(pk__in=[judge.pk for judge in judges_of(found)]).select_related("rater").order_by("pk")
    )
    form = ProposalForm(request.POST if request.method == "POST" else None, judges=judges, models=prompt_models(found))
    price: GenerationEstimate | None = None
    if request.method == "POST" and form.is_valid():
        judge, model = form.cleaned_data["judge"], form.cleaned_data["model"]
        try:
            if request.POST.get("action") == PREVIEW:
                price = price_of_proposal(found, judge, model)
            else:
                ask_for_prompt(found, judge, model, by=user)
                return redirect("judging:alignment", found.public_id)
        except UserError as error:
            form.add_error(None, for_reader(error))
    context = {
        "alignment": found,
        "study": found.study,
        "provenance": provenance_of(found.study),
        "form": form,
        "price": price,
        "month": month_of(found.workspace_id, timezone.now),
        "can_ask": judges.exists() and prompt_models(found).exists(),
    }
    part = "#estimate" if getattr(request, "htmx", False) and request.POST.get("action") == PREVIEW else ""
    return render(request, f"judging/propose_prompt.html{part}", context, status=_status(form))


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def look_at_test(request: HttpRequest, public_id: str, judge_id: str) -> HttpResponse:
    """Ask whether a version is to be measured on the test part; a POST that confirms the look's number measures it."""
    user, found = _led(request, public_id)
    versions = found.versions.select_related("judge__rater").filter(judge__rater__public_id=judge_id)
    version: AlignmentVersion | None = versions.first()
    if version is None:
        raise Http404(gettext("This alignment has no such version."))
    version.alignment = found
    problem = ""
    if request.method == "POST":
        confirmed = request.POST.get("look", "")
        try:
            take_look(version, confirmed=int(confirmed) if confirmed.isdecimal() and len(confirmed) < 7 else 0, by=user)
            return redirect("judging:alignment", found.public_id)
        except UserError as error:
            problem = for_reader(error)
    refusal = ""
    try:
        check_look(version)
    except UserError as error:
        refusal = for_reader(error)
    number, level = next_look(found)
    context: dict[str, object] = {
        "alignment": found,
        "study": found.study,
        "provenance": provenance_of(found.study),
        "version": version,
        "number": number,
        "level": f"{level:g}",
        "confidence": f"{100 * (1 - level):.6g}",
        "refusal": refusal,
        "problem": "" if refusal else problem,
    }
    return render(request, "judging/take_look.html", context, status=422 if problem else 200)


def _led(request: HttpRequest, public_id: str) -> tuple[User, Alignment]:
    user = cast(User, request.user)
    found = alignment_read_by(user, public_id)
    if not leads_workspace_of(user, found.study):
        raise PermissionDenied
    return user, found


def _status(form: Any) -> int:
    return 422 if form.is_bound and form.errors else 200

"""Pages of checklists that people of a workspace write together: the list, a new one, and one with its present stage."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from accounts.permissions import (
    leads_workspace_of,
    reads_workspace_of,
    results_page,
    takes_part_in_workspace_of,
    workspaces_led_by,
)
from annotation.authoring.access import checklist_seen_by, checklists_seen_by
from annotation.authoring.drafting import drafting_models, is_drafting
from annotation.authoring.proposing import NewChecklist, start_checklist
from annotation.authoring.questions import current_questions, rubrics_of
from annotation.authoring.record import participants_of, steps_of
from annotation.authoring.stages import Stage
from annotation.authoring.voting import FEWEST_BALLOTS, has_voted, tied_criteria, vote_result
from annotation.models import Checklist
from annotation.web.authoring.forms import (
    ChoiceForm,
    DraftingForm,
    NewChecklistForm,
    ProposalForm,
    ReviewForm,
    VoteForm,
)
from annotation.web.authoring.steps import Visit, carry_out, merge_form, questions_form
from core.errors import UserError
from core.messages.rendering import for_reader

ON_A_PAGE = 50


@login_required
@never_cache
@require_safe
def checklists(request: HttpRequest) -> HttpResponse:
    """List the checklists of the user's workspaces, the newest first."""
    user = _user(request)
    found = checklists_seen_by(user)
    page = Paginator(found.order_by("-created_at", "-pk"), ON_A_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "may_start": workspaces_led_by(user).exists()}
    return render(request, "annotation/checklists.html", context)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_checklist(request: HttpRequest) -> HttpResponse:
    """Start a checklist: what it is for, and the rules of its vote."""
    user = _user(request)
    workspaces = workspaces_led_by(user)
    if not workspaces.exists():
        raise Http404
    if request.method == "POST" and request.POST.get("do") == "categories":
        form = NewChecklistForm(workspaces, initial={**request.POST.dict(), "overall": "overall" in request.POST})
        return render(request, "annotation/new_checklist.html", {"form": form})
    form = NewChecklistForm(workspaces, request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        wanted = NewChecklist(
            workspace=data["workspace"],
            names=form.names(),
            benchmark=data["benchmark"],
            categories=data.get("categories", ()),
            votes_each=data["votes_each"],
            keeps=data["keeps"],
            scale=data["scale"],
            overall=data["overall"],
        )
        return redirect("library:checklist", start_checklist(wanted, by=user).public_id)
    status = 422 if request.method == "POST" else 200
    return render(request, "annotation/new_checklist.html", {"form": form}, status=status)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def checklist(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show the present stage, what the reader can do next, and the record; take a step on POST."""
    user = _user(request)
    found = checklist_seen_by(user, public_id)
    visit = Visit(request, found, user, leads_workspace_of(user, found), takes_part_in_workspace_of(user, found))
    status = 200
    if request.method == "POST":
        status = 422
        try:
            with transaction.atomic():
                done = carry_out(visit)
        except UserError as refused:
            messages.error(request, for_reader(refused))
            status = 409
            visit.checklist = checklist_seen_by(user, public_id)
            if visit.checklist.stage != found.stage:
                visit.bound.clear()
        else:
            if done:
                return redirect("library:checklist", public_id)
    return render(request, "annotation/checklist.html", _context(visit), status=status)


def _context(visit: Visit) -> dict[str, Any]:
    found, order = visit.checklist, Stage.values
    place = order.index(found.stage)
    stages = [
        (label, "now" if n == place else "done" if n < place else "later") for n, label in enumerate(Stage.labels)
    ]
    reads = reads_workspace_of(visit.user, found)
    context = {
        "checklist": found,
        "categories": list(found.categories.select_related("parent")),
        "stages": stages,
        "leads": visit.leads,
        "takes_part": visit.takes_part,
        "reads": reads,
        "participants": participants_of(found),
        "steps": steps_of(found) if reads else [],
    }
    return context | _OF_STAGE[found.stage](visit) | visit.bound


def _proposing(visit: Visit) -> dict[str, Any]:
    standing = visit.checklist.proposals.filter(withdrawn_at=None)
    return {
        "own": list(standing.filter(by=visit.user)),
        "others": list(standing.exclude(by=visit.user).select_related("by")) if visit.leads else [],
        "count": standing.count(),
        "proposal_form": ProposalForm(),
    }


def _merging(visit: Visit) -> dict[str, Any]:
    return {"merge_form": merge_form(visit.checklist)} if visit.leads else {}


def _voting(visit: Visit) -> dict[str, Any]:
    return {
        "voted": has_voted(visit.checklist, visit.user),
        "vote_form": VoteForm(visit.checklist, visit.user),
        "fewest_ballots": FEWEST_BALLOTS,
    }


def _choosing(visit: Visit) -> dict[str, Any]:
    tied = tied_criteria(visit.checklist)
    return {
        "counted": _counted(visit.checklist),
        "certain": set(vote_result(visit.checklist).certain),
        "tied": tied,
        "tied_keys": {one.pk for one in tied},
        "choice_form": ChoiceForm(tied),
    }


def _writing(visit: Visit) -> dict[str, Any]:
    if not visit.leads:
        return {}
    run = visit.checklist.drafting_run
    return {
        "questions_form": questions_form(visit.checklist),
        "drafting_form": DraftingForm(drafting_models(visit.checklist)),
        "has_models": drafting_models(visit.checklist).exists(),
        "run": run,
        "drafting": run is not None and is_drafting(run),
    }


def _reviewing(visit: Visit) -> dict[str, Any]:
    current = current_questions(visit.checklist)
    context: dict[str, Any] = {"current": current, "review_form": ReviewForm(current, visit.user)}
    if visit.leads:
        context["questions_form"] = questions_form(visit.checklist)
    return context


def _finished(visit: Visit) -> dict[str, Any]:
    return {
        "current": current_questions(visit.checklist),
        "counted": _counted(visit.checklist),
        "rubrics": rubrics_of(visit.checklist),
    }


def _counted(found: Checklist) -> list[Any]:
    """The criteria by votes."""
    return list(found.criteria.order_by("-votes", "position", "pk"))


_OF_STAGE: dict[str, Callable[[Visit], dict[str, Any]]] = {
    Stage.PROPOSE: _proposing,
    Stage.MERGE: _merging,
    Stage.VOTE: _voting,
    Stage.CHOOSE: _choosing,
    Stage.QUESTIONS: _writing,
    Stage.REVIEW: _reviewing,
    Stage.DONE: _finished,
}


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)

"""API endpoints for checklists that members of a workspace write together: all that their pages do, by the same forms."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django import forms
from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, first_problem, paged, workspace_to_change
from accounts.api.repeated import KEY, once
from accounts.models import User
from accounts.permissions import leads_workspace_of, takes_part_in_workspace_of, workspaces_led_by
from annotation.authoring.access import checklist_seen_by, checklists_seen_by
from annotation.authoring.drafting import OTHER_MODEL, draft_questions, drafting_models
from annotation.authoring.proposing import NewChecklist, close_proposals, merge, propose, start_checklist, withdraw
from annotation.authoring.questions import (
    OWN_QUESTION,
    UNKNOWN_QUESTION,
    current_questions,
    finish,
    review,
    start_review,
    write_questions,
)
from annotation.authoring.stages import MOVED_ON, Stage
from annotation.authoring.voting import choose, close_vote, tied_criteria, vote
from annotation.models import Checklist
from annotation.web.authoring.forms import (
    OWN_GROUP,
    ChoiceForm,
    DraftingForm,
    NewChecklistForm,
    ProposalForm,
    ReviewForm,
    VoteForm,
)
from annotation.web.authoring.serializers import (
    ChecklistSerializer,
    ChecklistStateSerializer,
    DraftingRunSerializer,
    MadeProposalSerializer,
    WantedBallotSerializer,
    WantedChecklistSerializer,
    WantedChoiceSerializer,
    WantedCriterionSerializer,
    WantedDraftsSerializer,
    WantedGroupsSerializer,
    WantedReviewsSerializer,
    WantedTextsSerializer,
)
from annotation.web.authoring.shown import state_of
from annotation.web.authoring.steps import merge_form, questions_form
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.models import Benchmark, Category

STEPS = {
    "close-proposals": (Stage.PROPOSE, close_proposals),
    "open-vote": (Stage.MERGE, None),
    "close-vote": (Stage.VOTE, close_vote),
    "start-review": (Stage.QUESTIONS, start_review),
    "finish": (Stage.REVIEW, finish),
}
"""What moves a checklist on, by the verb of its address: the stage that it ends, and the step."""


@extend_schema(
    operation_id="shared_checklists",
    parameters=[SIZE, CURSOR, OpenApiParameter("stage", str, enum=Stage.values)],
    responses=ChecklistSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def shared_checklists(request: Request) -> Response:
    """List the checklists that the members of your workspaces write together."""
    rows = checklists_seen_by(asking(request))
    if stage := request.query_params.get("stage"):
        rows = rows.filter(stage=stage)
    return paged(request, rows.order_by(), ChecklistSerializer)


@extend_schema(
    operation_id="start_checklist",
    parameters=[KEY],
    request=WantedChecklistSerializer,
    responses={201: ChecklistStateSerializer},
    examples=[OpenApiExample("Essays", {"name_en": "Essays", "benchmark": "essays", "keeps": 5}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def start_shared_checklist(request: Request, workspace: str) -> Response:
    """Start a checklist (for owners and leads), for which the members of the workspace can then propose criteria."""
    user, place = asking(request), workspace_to_change(request, workspace)
    asked = checked(WantedChecklistSerializer(data=request.data))
    form = NewChecklistForm(workspaces_led_by(user).filter(pk=place.pk), _start(place.pk, asked))
    _valid(form)
    data = form.cleaned_data
    settings = {name: data[name] for name in ("benchmark", "votes_each", "keeps", "scale", "overall")}
    wanted = NewChecklist(place, form.names(), categories=data.get("categories", ()), **settings)
    return Response(_state(start_checklist(wanted, by=user), user), status=201)


def _start(workspace: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of a new checklist sends. Raises Unusable."""
    sent = {**asked, "workspace": workspace, "overall": "on" if asked["overall"] else ""}
    sent.pop("categories", None)
    slug, keys = asked.get("benchmark", ""), asked.get("categories", [])
    known = Category.objects.filter(benchmark__workspace=workspace, benchmark__slug=slug)
    if slug:
        benchmark = _benchmark_of(workspace, slug)
        sent["benchmark"] = benchmark
    by_key = dict(known.values_list("key", "pk"))
    for key in keys:
        if key not in by_key:
            raise Unusable(_("There is no category %(key)s in this benchmark.") % {"key": repr(key[:50])})
    return sent | ({"categories": [str(by_key[key]) for key in keys]} if keys else {})


def _benchmark_of(workspace: int, slug: str) -> int:
    found = Benchmark.objects.filter(workspace=workspace, slug=slug).values_list("pk", flat=True).first()
    if found is None:
        raise Unusable(_("There is no benchmark %(slug)s in this workspace.") % {"slug": repr(slug[:50])})
    return found


@extend_schema(operation_id="shared_checklist", responses=ChecklistStateSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def shared_checklist(request: Request, public_id: str) -> Response:
    """Return a checklist with what you may see of its present stage: not what others propose or choose."""
    return Response(_state(checklist_seen_by(asking(request), public_id), asking(request)))


@extend_schema(
    operation_id="propose_criterion",
    parameters=[KEY],
    request=WantedCriterionSerializer,
    responses={201: MadeProposalSerializer},
    examples=[
        OpenApiExample("Depth", {"name": "Depth", "explanation": "Gives details and examples."}, request_only=True)
    ],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def propose_criterion(request: Request, public_id: str) -> Response:
    """Propose a criterion; others do not see it before the vote."""
    with _step(request, public_id, Stage.PROPOSE) as found:
        asked = checked(WantedCriterionSerializer(data=request.data))
        made = propose(found, **_valid(ProposalForm(asked)), by=asking(request))
    return Response(MadeProposalSerializer(made).data, status=201)


@extend_schema(operation_id="withdraw_criterion", request=None, responses=ChecklistStateSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def withdraw_criterion(request: Request, public_id: str, pk: int) -> Response:
    """Take a proposal of your own back."""
    with _step(request, public_id, Stage.PROPOSE) as found:
        withdraw(found, pk if pk < 2**63 else 0, by=asking(request))
    return _now(request, public_id)


@extend_schema(
    operation_id="merge_criteria",
    parameters=[IF_MATCH],
    request=WantedGroupsSerializer,
    responses=ChecklistStateSerializer,
    examples=[OpenApiExample("Move one", {"places": [{"proposal": 7, "criterion": 3}]}, request_only=True)],
)
@api_view(["PUT"])
@needs(Scope.CHANGE)
def merge_criteria(request: Request, public_id: str) -> Response:
    """Say which proposals are one criterion, and its wording (for owners and leads). A criterion without proposals goes."""
    with _step(request, public_id, Stage.MERGE, leads=True) as found:
        asked = checked(WantedGroupsSerializer(data=request.data))
        check_unchanged(request, _state(found, asking(request)))
        _merge(found, asked, asking(request), then_vote=False)
    return _now(request, public_id)


def _merge(found: Checklist, asked: Mapping[str, Any], by: User, *, then_vote: bool) -> None:
    sent: dict[str, Any] = {}
    for group in found.criteria.all():
        sent |= {f"g{group.pk}-name": group.name, f"g{group.pk}-explanation": group.explanation}
    for one in found.proposals.filter(withdrawn_at=None):
        sent[f"p{one.pk}-group"] = str(one.merged_id)
    for wording in asked.get("wordings", []):
        changed = {f"g{wording['criterion']}-{name}": wording[name] for name in ("name", "explanation")}
        if not changed.keys() <= sent.keys():
            raise Unusable(_("This checklist has no criterion %(n)s.") % {"n": wording["criterion"]})
        sent |= changed
    for place in asked.get("places", []):
        if f"p{place['proposal']}-group" not in sent:
            raise Unusable(_("This checklist has no proposal %(n)s.") % {"n": place["proposal"]})
        number = place["criterion"]
        if number is not None and f"g{number}-name" not in sent:
            raise Unusable(_("This checklist has no criterion %(n)s.") % {"n": number})
        sent[f"p{place['proposal']}-group"] = OWN_GROUP if number is None else str(number)
    form = merge_form(found, sent)
    if not form.is_valid():
        rows = [row for _group, wording, members in form.groups for row in (wording, *members)]
        raise Unusable(first_problem(dict(next(row.errors for row in rows if row.errors).items())))
    merge(found, wordings=form.wordings(), places=form.places(), by=by, then_vote=then_vote)


@extend_schema(
    operation_id="vote_on_criteria",
    request=WantedBallotSerializer,
    responses=ChecklistStateSerializer,
    examples=[OpenApiExample("Two", {"choices": [3, 5]}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def vote_on_criteria(request: Request, public_id: str) -> Response:
    """Vote, once and in secret: neither your name nor the time is kept with the ballot, and no key with the request."""
    with _step(request, public_id, Stage.VOTE) as found:
        asked = checked(WantedBallotSerializer(data=request.data))
        form = VoteForm(found, asking(request), {"choices": [str(one) for one in asked["choices"]]})
        vote(found, _valid(form)["choices"], by=asking(request))
    return _now(request, public_id)


@extend_schema(
    operation_id="keep_criteria",
    request=WantedChoiceSerializer,
    responses=ChecklistStateSerializer,
    examples=[OpenApiExample("A tie", {"chosen": [3], "reason": "It can be checked."}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def keep_criteria(request: Request, public_id: str) -> Response:
    """Confirm which criteria stay after the vote, and choose among those that tie (for owners and leads)."""
    with _step(request, public_id, Stage.CHOOSE, leads=True) as found:
        asked = checked(WantedChoiceSerializer(data=request.data))
        tied = tied_criteria(found)
        sent = {"chosen": [str(one) for one in asked["chosen"]], "reason": asked["reason"]}
        data = _valid(ChoiceForm(tied, sent)) if tied else asked
        choose(found, data["chosen"], reason=data["reason"], by=asking(request))
    return _now(request, public_id)


@extend_schema(
    operation_id="write_checklist_questions",
    parameters=[IF_MATCH],
    request=WantedTextsSerializer,
    responses=ChecklistStateSerializer,
    examples=[OpenApiExample("One", {"questions": [{"criterion": 3, "en": "Are details given?"}]}, request_only=True)],
)
@api_view(["PUT"])
@needs(Scope.CHANGE)
def write_checklist_questions(request: Request, public_id: str) -> Response:
    """Write the questions of criteria (for owners and leads), also in the review, where a new version is reviewed anew."""
    with _step(request, public_id, Stage.QUESTIONS, Stage.REVIEW, leads=True) as found:
        asked = checked(WantedTextsSerializer(data=request.data))
        given = {one["criterion"]: one for one in asked["questions"]}
        check_unchanged(request, _state(found, asking(request)))
        known = {one.criterion.pk for one in current_questions(found)}
        sent: dict[str, str] = {}
        for number, one in given.items():
            if number not in known:
                raise Unusable(_("This checklist has no criterion %(n)s.") % {"n": number})
            sent |= {f"c{number}-question_{name}": one.get(name, "") for name in ("en", "zh")}
        form = questions_form(found, sent)
        if not form.is_valid():
            raise Unusable(first_problem(dict(next(row.errors for _one, row, _d in form.rows if row.errors).items())))
        wanted = {number: texts for number, texts in form.wanted().items() if number in given}
        write_questions(found, wanted, by=asking(request))
    return _now(request, public_id)


@extend_schema(
    operation_id="review_questions",
    request=WantedReviewsSerializer,
    responses=ChecklistStateSerializer,
    examples=[OpenApiExample("Sound", {"reviews": [{"question": 9, "sound": True}]}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def review_questions(request: Request, public_id: str) -> Response:
    """Say of questions of others whether they are sound, or what should change. Your newest review of each counts."""
    user = asking(request)
    with _step(request, public_id, Stage.REVIEW) as found:
        asked = checked(WantedReviewsSerializer(data=request.data))
        current = current_questions(found)
        sent: dict[str, str] = {}
        form = ReviewForm(current, user)
        mine = {one.question.pk: row for one, row in form.rows if one.question is not None}
        names = {one.question.pk: one.criterion.name for one in current if one.question is not None}
        for one in asked["reviews"]:
            if one["question"] not in mine:
                raise Unusable(for_reader(UNKNOWN_QUESTION()))
            if mine[one["question"]] is None:
                raise Unusable(for_reader(OWN_QUESTION(name=names[one["question"]])))
            sent[f"q{one['question']}-decision"] = "sound" if one["sound"] else "change"
            sent[f"q{one['question']}-comment"] = one["comment"]
        form = ReviewForm(current, user, sent)
        if not form.is_valid():
            raise Unusable(
                first_problem(dict(next(row.errors for _one, row in form.rows if row and row.errors).items()))
            )
        for question, (sound, comment) in form.decisions().items():
            review(found, question, sound=sound, comment=comment, by=user)
    return _now(request, public_id)


@extend_schema(
    operation_id="draft_checklist_questions",
    parameters=[KEY],
    request=WantedDraftsSerializer,
    responses={201: DraftingRunSerializer},
    examples=[OpenApiExample("A model", {"model": "model-a", "budget_calls": 10}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.RUN)
@once
def draft_checklist_questions(request: Request, public_id: str) -> Response:
    """Have a model draft the questions (for owners and leads); it may cost money. The state has what it wrote."""
    with _step(request, public_id, Stage.QUESTIONS, leads=True) as found:
        asked = checked(WantedDraftsSerializer(data=request.data))
        models = drafting_models(found)
        model = models.filter(name=asked["model"]).first()
        if model is None:
            raise Unusable(for_reader(OTHER_MODEL(name=asked["model"][:50])))
        form = DraftingForm(models, {**asked, "model": model.pk})
        _valid(form)
        run = draft_questions(found, model, form.ceiling, by=asking(request))
    return Response({"run": run.public_id, "job": f"generation-{run.public_id}"}, status=201)


@extend_schema(
    operation_id="steer_checklist",
    request=None,
    responses=ChecklistStateSerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=list(STEPS))],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def steer_checklist(request: Request, public_id: str, verb: str) -> Response:
    """Move a checklist on (for owners and leads): end the proposals, open or close the vote, ask for reviews, finish.

    The rubric that it becomes is in the workspace's library. A checklist that has moved on already is answered with 409.
    """
    stage, step = STEPS[verb]
    with _step(request, public_id, stage, leads=True) as found:
        if step is None:
            _merge(found, {}, asking(request), then_vote=True)
        else:
            step(found, by=asking(request))
    return _now(request, public_id)


@contextmanager
def _step(request: Request, public_id: str, *stages: str, leads: bool = False) -> Iterator[Checklist]:
    """Let the block take a step on the locked checklist at one of these stages, for who may take it. Raises Unusable."""
    user = asking(request)
    seen = checklist_seen_by(user, public_id)
    if leads and not leads_workspace_of(user, seen):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
    if not takes_part_in_workspace_of(user, seen):
        raise PermissionDenied(_("Analysts read checklists, and do not take part in them."))
    try:
        with transaction.atomic():
            found = Checklist.objects.select_for_update().get(pk=seen.pk)
            if found.stage not in stages:
                raise Unusable(for_reader(MOVED_ON(name=found.name)), status=409)
            yield found
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem


def _valid(form: forms.Form) -> dict[str, Any]:
    """Return what the form took. Raises Unusable with its first problem."""
    if not form.is_valid():
        raise Unusable(first_problem(dict(form.errors.items())))
    return form.cleaned_data


def _now(request: Request, public_id: str) -> Response:
    return Response(_state(checklist_seen_by(asking(request), public_id), asking(request)))


def _state(checklist: Checklist, user: User) -> dict[str, Any]:
    said = ChecklistSerializer(checklist).data
    keys = list(checklist.categories.order_by("key").values_list("key", flat=True))
    return {**said, "categories": keys, **state_of(checklist, user)}

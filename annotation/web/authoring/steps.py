"""What the buttons of a checklist's page do. A form with something to correct is shown again as it was sent."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.authoring.drafting import draft_questions, drafting_models, drafts_of
from annotation.authoring.proposing import close_proposals, merge, propose, withdraw
from annotation.authoring.questions import current_questions, finish, review, start_review, write_questions
from annotation.authoring.stages import MOVED_ON
from annotation.authoring.voting import choose, close_vote, tied_criteria, vote
from annotation.models import Checklist
from annotation.web.authoring.forms import (
    ChoiceForm,
    DraftingForm,
    MergeForm,
    ProposalForm,
    QuestionsForm,
    ReviewForm,
    VoteForm,
)
from core.errors import UserError


@dataclass
class Visit:
    """One request for a checklist's page: who asks, and what they may do. `bound` are the forms as they were sent, which
    are shown again if the step is not done."""

    request: HttpRequest
    checklist: Checklist
    user: User
    leads: bool
    takes_part: bool
    bound: dict[str, Any] = field(default_factory=dict)


def carry_out(visit: Visit) -> bool:
    """Do what the form asks for; return whether it is done, so that the page is to be shown anew.

    Raises UserError, PermissionDenied for whoever may not take the step, and Http404 for no step.
    """
    do = visit.request.POST.get("do", "")
    step = LEADS.get(do) or OF_ALL.get(do)
    if step is None:
        raise Http404(_("There is no such step."))
    if not (visit.leads if do in LEADS else visit.takes_part):
        raise PermissionDenied
    if visit.request.POST.get("stage") != visit.checklist.stage:
        raise UserError(MOVED_ON(name=visit.checklist.name))
    return step(visit)


def merge_form(checklist: Checklist, data: Any = None) -> MergeForm:
    groups = list(checklist.criteria.all())
    return MergeForm(groups, list(checklist.proposals.filter(withdrawn_at=None).select_related("by")), data)


def questions_form(checklist: Checklist, data: Any = None) -> QuestionsForm:
    return QuestionsForm(current_questions(checklist), drafts_of(checklist), data)


def _propose(visit: Visit) -> bool:
    form = ProposalForm(visit.request.POST)
    visit.bound["proposal_form"] = form
    if not form.is_valid():
        return False
    propose(visit.checklist, **form.cleaned_data, by=visit.user)
    _tell(visit, _("Your proposal has been saved."))
    return True


def _withdraw(visit: Visit) -> bool:
    number = visit.request.POST.get("proposal", "")
    known = number.isdecimal() and number.isascii() and len(number) < 18
    withdraw(visit.checklist, int(number) if known else 0, by=visit.user)
    _tell(visit, _("Your proposal has been withdrawn."))
    return True


def _close_proposals(visit: Visit) -> bool:
    close_proposals(visit.checklist, by=visit.user)
    _tell(visit, _("The proposals are closed. Proposals that say nearly the same are in one group; check the groups."))
    return True


def _merge(visit: Visit) -> bool:
    return _merged(visit, then_vote=False)


def _open_vote(visit: Visit) -> bool:
    return _merged(visit, then_vote=True)


def _merged(visit: Visit, *, then_vote: bool) -> bool:
    form = merge_form(visit.checklist, visit.request.POST)
    visit.bound["merge_form"] = form
    if not form.is_valid():
        return False
    merge(visit.checklist, wordings=form.wordings(), places=form.places(), by=visit.user, then_vote=then_vote)
    _tell(visit, _("The vote is open.") if then_vote else _("The groups have been saved."))
    return True


def _vote(visit: Visit) -> bool:
    form = VoteForm(visit.checklist, visit.user, visit.request.POST)
    visit.bound["vote_form"] = form
    if not form.is_valid():
        return False
    vote(visit.checklist, form.cleaned_data["choices"], by=visit.user)
    _tell(visit, _("Your vote has been recorded. Nobody can see what you chose."))
    return True


def _close_vote(visit: Visit) -> bool:
    close_vote(visit.checklist, by=visit.user)
    _tell(visit, _("The vote is closed and counted."))
    return True


def _keep(visit: Visit) -> bool:
    form = ChoiceForm(tied_criteria(visit.checklist), visit.request.POST)
    visit.bound["choice_form"] = form
    if not form.is_valid():
        return False
    data = form.cleaned_data
    choose(visit.checklist, data.get("chosen", []), reason=data.get("reason", ""), by=visit.user)
    _tell(visit, _("These criteria stay. Now each of them needs a question."))
    return True


def _draft(visit: Visit) -> bool:
    form = DraftingForm(drafting_models(visit.checklist), visit.request.POST)
    visit.bound["drafting_form"] = form
    if not form.is_valid():
        return False
    draft_questions(visit.checklist, form.cleaned_data["model"], form.ceiling, by=visit.user)
    _tell(visit, _("The model is drafting the questions. Reload this page to see what it has written."))
    return True


def _write(visit: Visit) -> bool:
    return _written(visit, then_review=False)


def _start_review(visit: Visit) -> bool:
    return _written(visit, then_review=True)


def _written(visit: Visit, *, then_review: bool) -> bool:
    form = questions_form(visit.checklist, visit.request.POST)
    visit.bound["questions_form"] = form
    if not form.is_valid():
        return False
    changed = write_questions(visit.checklist, form.wanted(), by=visit.user)
    if then_review:
        start_review(visit.checklist, by=visit.user)
        _tell(visit, _("The questions are open for review."))
    elif changed:
        _tell(visit, _("The questions have been saved."))
    return True


def _review(visit: Visit) -> bool:
    form = ReviewForm(current_questions(visit.checklist), visit.user, visit.request.POST)
    visit.bound["review_form"] = form
    if not form.is_valid():
        return False
    decisions = form.decisions()
    for question, (sound, comment) in decisions.items():
        review(visit.checklist, question, sound=sound, comment=comment, by=visit.user)
    if decisions:
        _tell(visit, _("Your review has been saved."))
    return True


def _finish(visit: Visit) -> bool:
    finish(visit.checklist, by=visit.user)
    _tell(visit, _("The rubric has been created. Choose it in the setup of a study."))
    return True


def _tell(visit: Visit, sentence: str) -> None:
    messages.success(visit.request, sentence)


Step = Callable[[Visit], bool]
OF_ALL: dict[str, Step] = {"propose": _propose, "withdraw": _withdraw, "vote": _vote, "review": _review}
LEADS: dict[str, Step] = {
    "close_proposals": _close_proposals,
    "merge": _merge,
    "open_vote": _open_vote,
    "close_vote": _close_vote,
    "keep": _keep,
    "draft": _draft,
    "write": _write,
    "start_review": _start_review,
    "finish": _finish,
}

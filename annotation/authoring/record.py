"""What a checklist's page tells of its course: who took part at which stage, and every step."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.models import Event
from annotation.models import Checklist, ProposedCriterion, QuestionReview
from annotation.models.authoring import ByPerson
from annotation.studies.history import EventLine, event_line


@dataclass(frozen=True)
class People:
    """How many people did something, with the names of those whose accounts are here.

    The others came with an archive, which leaves names behind, or were erased since.
    """

    number: int
    names: list[str]

    @property
    def unnamed(self) -> int:
        return self.number - len(self.names)


@dataclass(frozen=True)
class Participants:
    """Who has taken part.

    Voters are all who voted. Whose the proposals and reviews of erased people were, nobody knows; they are not counted.
    """

    proposers: People
    voters: People
    reviewers: People


def participants_of(checklist: Checklist) -> Participants:
    proposals = ProposedCriterion.objects.filter(checklist=checklist, withdrawn_at=None).select_related("by")
    reviews = QuestionReview.objects.filter(question__criterion__checklist=checklist).select_related("by")
    receipts = list(checklist.receipts.select_related("by"))
    voters = People(len(receipts), _people(receipts).names)
    return Participants(proposers=_people(proposals), voters=voters, reviewers=_people(reviews))


def _people(rows: Iterable[ByPerson]) -> People:
    """The names are sorted, so that their order says nothing about who came when."""
    known = {row.person: row.by for row in rows if row.person is not None}
    return People(len(known), sorted(str(by) for by in known.values() if by is not None))


def steps_of(checklist: Checklist) -> list[EventLine]:
    """Every step, the newest first."""
    events = Event.objects.filter(object_type="checklist", object_id=checklist.public_id).select_related("actor")
    words = _words()
    return [event_line(event, words.get(event.verb, event.verb)) for event in events]


def _words() -> dict[str, str]:
    return {
        "start_checklist": _("started the checklist"),
        "propose_criterion": _("proposed a criterion"),
        "withdraw_criterion": _("withdrew a proposal"),
        "close_proposals": _("ended the proposals"),
        "merge_criteria": _("changed which proposals are merged"),
        "open_vote": _("opened the vote"),
        "vote_on_criteria": _("voted"),
        "close_vote": _("closed and counted the vote"),
        "keep_criteria": _("kept criteria"),
        "draft_questions": _("had a model draft questions"),
        "write_question": _("saved a question"),
        "start_review": _("asked for reviews"),
        "review_question": _("reviewed a question"),
        "finish_checklist": _("created the rubric"),
    }

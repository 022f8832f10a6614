"""What a checklist's page tells of its course: who took part at which stage, and every step."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.models import Event
from annotation.models import Checklist, ProposedCriterion, QuestionReview
from annotation.studies.history import EventLine, event_line


@dataclass(frozen=True)
class Participants:
    """Who has taken part, by name where it is still known, and how many they are."""

    proposers: list[str]
    voters: list[str]
    reviewers: list[str]
    ballots: int


def participants_of(checklist: Checklist) -> Participants:
    proposals = ProposedCriterion.objects.filter(checklist=checklist, withdrawn_at=None).select_related("by")
    reviews = QuestionReview.objects.filter(question__criterion__checklist=checklist).select_related("by")
    receipts = checklist.receipts.select_related("by")
    return Participants(
        proposers=_names(proposals), voters=_names(receipts), reviewers=_names(reviews), ballots=receipts.count()
    )


def _names(rows: object) -> list[str]:
    """Sorted, so that their order says nothing about who came when."""
    return sorted({str(row.by) for row in rows if row.by is not None})  # type: ignore[attr-defined]


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

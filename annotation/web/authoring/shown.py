"""What one member may know of a checklist now, as its page shows it: nothing of others' proposals and ballots."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from accounts.models import User
from accounts.permissions import leads_workspace_of, reads_workspace_of, takes_part_in_workspace_of
from annotation.authoring.drafting import drafts_of
from annotation.authoring.questions import CurrentQuestion, current_questions, rubrics_of, wrote
from annotation.authoring.record import participants_of, steps_of
from annotation.authoring.stages import Stage
from annotation.authoring.voting import ballot_order, has_voted, vote_result
from annotation.models import Checklist, MergedCriterion

COUNTED = (Stage.CHOOSE, Stage.QUESTIONS, Stage.REVIEW, Stage.DONE)


def state_of(checklist: Checklist, user: User) -> dict[str, Any]:
    """Return the present stage with all that this member may see of it."""
    leads, reads = leads_workspace_of(user, checklist), reads_workspace_of(user, checklist)
    takes_part = takes_part_in_workspace_of(user, checklist)
    return {
        "leads": leads,
        "takes_part": takes_part,
        "proposals": _proposals(checklist, user, leads=leads),
        "number_of_proposals": checklist.proposals.filter(withdrawn_at=None).count(),
        "criteria": _criteria(checklist, user, leads=leads, takes_part=takes_part),
        "voted": has_voted(checklist, user) if checklist.stage == Stage.VOTE else None,
        "choice_reason": checklist.choice_reason,
        "questions": _questions(checklist, user, leads=leads, reads=reads),
        "drafting_run": checklist.drafting_run.public_id if checklist.drafting_run and leads else None,
        "rubrics": [one.key for one in rubrics_of(checklist)] if checklist.stage == Stage.DONE else [],
        "participants": asdict(participants_of(checklist)),
        "steps": [{"at": one.at, "by": one.actor, "what": one.what} for one in steps_of(checklist)] if reads else [],
    }


def _proposals(checklist: Checklist, user: User, *, leads: bool) -> list[dict[str, Any]]:
    """While they are collected, one's own, and for leads all without their authors; while they are merged, for leads."""
    rows = checklist.proposals.filter(withdrawn_at=None).order_by("pk")
    if checklist.stage == Stage.PROPOSE:
        rows = rows if leads else rows.filter(by=user)
    elif checklist.stage != Stage.MERGE or not leads:
        return []
    return [
        {
            "id": one.pk,
            "name": one.name,
            "explanation": one.explanation,
            "own": one.by_id == user.pk,
            "criterion": one.merged_id,
        }
        for one in rows
    ]


def _criteria(checklist: Checklist, user: User, *, leads: bool, takes_part: bool) -> list[dict[str, Any]]:
    """For leads while they merge; for voters in an order of their own; for all once they are counted, by votes."""
    certain: list[int] = []
    tied: list[int] = []
    rows: list[MergedCriterion] = []
    if checklist.stage == Stage.MERGE and leads:
        rows = list(checklist.criteria.all())
    elif checklist.stage == Stage.VOTE and takes_part:
        rows = ballot_order(checklist, user)
    elif checklist.stage in COUNTED:
        rows = list(checklist.criteria.order_by("-votes", "position", "pk"))
        result = vote_result(checklist)
        certain, tied = result.certain, result.tied
    return [
        {
            "id": one.pk,
            "name": one.name,
            "explanation": one.explanation,
            "votes": one.votes,
            "certain": one.pk in certain,
            "tied": one.pk in tied,
            "kept": one.kept,
        }
        for one in rows
    ]


def _questions(checklist: Checklist, user: User, *, leads: bool, reads: bool) -> list[dict[str, Any]]:
    """For leads while they write them, and from the review on for all."""
    if checklist.stage not in (Stage.QUESTIONS, Stage.REVIEW, Stage.DONE):
        return []
    if checklist.stage == Stage.QUESTIONS and not leads:
        return []
    drafts = drafts_of(checklist) if leads and checklist.stage != Stage.DONE else {}
    found = []
    for one in current_questions(checklist):
        draft = drafts.get(one.criterion.pk)
        found.append(
            {
                "criterion": one.criterion.pk,
                **_question(one, user, reads=reads),
                "draft_en": draft.texts.get("en", "") if draft else "",
                "draft_zh": draft.texts.get("zh-hans", "") if draft else "",
                "sound": one.sound,
                "objections": [
                    {"comment": review.comment, "by": str(review.by) if reads and review.by else ""}
                    for review in one.objections
                ],
            }
        )
    return found


def _question(one: CurrentQuestion, user: User, *, reads: bool) -> dict[str, Any]:
    texts: Mapping[str, str] = one.question.texts if one.question else {}
    return {
        "id": one.question.pk if one.question else None,
        "en": texts.get("en", ""),
        "zh": texts.get("zh-hans", ""),
        "source": one.question.source if one.question else "",
        "model": one.question.model if one.question and reads else "",
        "own": one.question is not None and wrote(one.question, user),
    }

"""Builds checklists up to a stage, by the same functions as the pages."""

from annotation.authoring.proposing import NewChecklist, close_proposals, merge, propose, start_checklist
from annotation.authoring.questions import Wanted, write_questions
from annotation.authoring.voting import choose, close_vote, vote
from tests.factories import make_user

PROPOSALS = [
    ("Depth", "Gives details and examples instead of generalities."),
    ("Coverage", "Deals with every part of the question."),
    ("Accuracy", "States facts that are true."),
    ("Structure", "Is ordered so that a reader finds the way."),
    ("Tone", "Speaks to its readers in a fitting way."),
    ("Novelty", "Offers a thought of its own."),
    ("Length", "Has as many words as were requested."),
]


def new_checklist(workspace, lead, **settings):
    """A checklist that has just been started and keeps four criteria."""
    wanted = NewChecklist(workspace, {"en": "Essays", "zh-hans": "文章"}, **{"keeps": 4, "votes_each": 4, **settings})
    return start_checklist(wanted, by=lead)


def proposed(checklist, by, proposals=PROPOSALS):
    for name, explanation in proposals:
        propose(checklist, name=name, explanation=explanation, by=by)
    return checklist


def opened(checklist, lead):
    """End the proposals and open the vote with the groups as they are suggested."""
    close_proposals(checklist, by=lead)
    merge(checklist, **as_suggested(checklist), by=lead, then_vote=True)
    checklist.refresh_from_db()
    return checklist


def as_suggested(checklist):
    return {
        "wordings": {one.pk: (one.name, one.explanation) for one in checklist.criteria.all()},
        "places": {one.pk: one.merged_id for one in checklist.proposals.filter(withdrawn_at=None)},
    }


def keys_of(checklist, *names):
    by_name = dict(checklist.criteria.values_list("name", "pk"))
    return [by_name[name] for name in names]


def voted(checklist, *ballots, voters=None):
    """Each ballot is a list of names, cast by a new rater unless voters are given."""
    people = voters or [make_user("rater", checklist.workspace) for _ballot in ballots]
    for person, names in zip(people, ballots, strict=True):
        vote(checklist, keys_of(checklist, *names), by=person)
    return people


CLEAR = (
    ["Depth", "Coverage", "Accuracy", "Structure"],
    ["Depth", "Coverage", "Accuracy", "Structure"],
    ["Depth", "Coverage", "Accuracy", "Tone"],
)
"""Ballots by which the first four criteria stay without a tie."""


def chosen(workspace, lead, **settings):
    """A checklist at the stage of questions: Depth, Coverage, Accuracy and Structure stay."""
    checklist = opened(proposed(new_checklist(workspace, lead, **settings), lead), lead)
    voted(checklist, *CLEAR)
    close_vote(checklist, by=lead)
    choose(checklist, [], reason="", by=lead)
    checklist.refresh_from_db()
    return checklist


def questions_for(checklist, names=None):
    kept = checklist.criteria.filter(kept=True)
    wanted = kept.filter(name__in=names) if names else kept
    return {one.pk: Wanted({"en": f"Does the response have {one.name.lower()}?"}) for one in wanted}


def written_checklist(workspace, lead, **settings):
    """A checklist whose questions are written and not yet under review."""
    checklist = chosen(workspace, lead, **settings)
    write_questions(checklist, questions_for(checklist), by=lead)
    return checklist

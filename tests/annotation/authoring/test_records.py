"""What happens to a checklist's rows: the record is kept, an erased person's names go, a workspace goes whole."""

from uuid import UUID

import pytest
from django.db import DatabaseError, transaction

from accounts.models import Event
from annotation.authoring.questions import current_questions, review, start_review
from annotation.models import (
    Ballot,
    BallotReceipt,
    Checklist,
    MergedCriterion,
    ProposedCriterion,
    QuestionDraft,
    QuestionReview,
)
from annotation.privacy.erasure import erase_account
from annotation.privacy.own_data import data_of
from annotation.studies.deletion import delete
from tests.annotation.authoring.checklists import CLEAR, new_checklist, opened, proposed, voted, written_checklist
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return make_user("lead")


@pytest.fixture
def workspace(lead):
    return make_workspace()


@pytest.fixture
def reviewed(workspace, lead):
    """A checklist with a row in every table."""
    checklist = written_checklist(workspace, lead)
    start_review(checklist, by=lead)
    review(
        checklist, current_questions(checklist)[0].question.pk, sound=False, comment="said Ada", by=make_user("rater")
    )
    return checklist


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (ProposedCriterion, {"name": "x"}),
        (Ballot, {"choices": []}),
        (BallotReceipt, {"checklist": None}),
        *((model, {"pseudonym": UUID(int=1)}) for model in (ProposedCriterion, BallotReceipt, QuestionReview)),
        (QuestionDraft, {"texts": {}}),
        (QuestionReview, {"sound": True}),
    ],
)
def test_the_record_can_be_neither_changed_nor_removed(reviewed, model, change):
    before = list(model.objects.order_by("pk").values())
    assert before
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        model.objects.update(**change)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        model.objects.all().delete()
    assert list(model.objects.order_by("pk").values()) == before


def test_an_erased_person_leaves_proposals_and_votes_without_a_name(workspace, lead):
    ada = make_user("rater", username="ada-lovelace")
    checklist = opened(proposed(new_checklist(workspace, lead), ada), lead)
    voted(checklist, CLEAR[0], voters=[ada])
    other = written_checklist(workspace, lead)
    start_review(other, by=lead)
    review(other, current_questions(other)[0].question.pk, sound=False, comment="said Ada", by=ada)
    erase_account(ada, by=lead)
    assert checklist.proposals.count() == 7
    assert not ProposedCriterion.objects.exclude(by=None).filter(checklist=checklist).exists()
    assert (checklist.ballots.count(), checklist.receipts.get().by) == (1, None)
    kept = QuestionReview.objects.get()
    assert (kept.by, kept.sound, kept.comment) == (None, False, "")
    assert Event.objects.get(verb="erase_account").after["review_comments"] == 1


def test_own_data_has_what_a_person_gave_and_not_what_they_voted(workspace, lead):
    checklist = opened(proposed(new_checklist(workspace, lead), lead), lead)
    voted(checklist, CLEAR[0], voters=[lead])
    own = data_of(lead, [])["checklists"]
    assert [one["name"] for one in own["proposals"]][:2] == ["Depth", "Coverage"]
    assert [set(vote) for vote in own["votes"]] == [{"checklist__public_id", "at"}]
    assert (own["questions"], own["reviews"]) == ([], [])
    assert data_of(make_user("rater"), [])["checklists"]["proposals"] == []


def test_a_workspace_goes_with_its_checklists(reviewed, workspace):
    owner = make_user("owner")
    elsewhere = make_user("lead", make_workspace("elsewhere"))
    kept = written_checklist(make_workspace("elsewhere"), elsewhere)
    counts = delete(workspace, by=owner)
    assert counts["annotation.Checklist"] == 1 and counts["annotation.Ballot"] == 3
    assert Checklist.objects.get() == kept
    assert not MergedCriterion.objects.exclude(checklist=kept).exists()
    assert (Ballot.objects.count(), BallotReceipt.objects.count()) == (3, 3)

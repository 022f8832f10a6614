"""A checklist passes through its stages: what is refused, what stays secret, and that a step is taken once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connection

from accounts.models import Event
from annotation.authoring.proposing import close_proposals, merge, propose, withdraw
from annotation.authoring.questions import Wanted, current_questions, finish, review, start_review, write_questions
from annotation.authoring.voting import choose, close_vote, vote, vote_result
from annotation.models import Ballot, BallotReceipt, Checklist
from core.errors import UserError
from generation.models import Category
from tests.annotation.authoring.checklists import (
    CLEAR,
    as_suggested,
    chosen,
    keys_of,
    new_checklist,
    opened,
    proposed,
    questions_for,
    voted,
    written_checklist,
)
from tests.factories import make_checklist_study, make_user, make_workspace
from tests.many_connections import many_connections

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return make_user("lead")


@pytest.fixture
def workspace(lead):
    return make_workspace()


@pytest.fixture
def checklist(workspace, lead):
    return new_checklist(workspace, lead)


@contextmanager
def refused(code):
    with pytest.raises(UserError) as raised:
        yield raised
    assert raised.value.message.code == f"checklist.{code}"


def names(rows):
    return [row.name for row in rows]


class TestProposals:
    def test_one_is_taken_back_only_by_who_made_it(self, checklist, lead):
        one = propose(checklist, name="Depth", explanation="Has details.", by=lead)
        with refused("not_your_proposal"):
            withdraw(checklist, one.pk, by=make_user("rater"))
        withdraw(checklist, one.pk, by=lead)
        with refused("not_your_proposal"):
            withdraw(checklist, one.pk, by=lead)
        assert not checklist.proposals.filter(withdrawn_at=None).exists()

    def test_the_same_twice_and_too_many_are_refused(self, checklist, lead):
        propose(checklist, name="Depth", explanation="Has details.", by=lead)
        with refused("same_proposal"):
            propose(checklist, name="Depth", explanation="Has details.", by=lead)
        for number in range(19):
            propose(checklist, name=f"Quality {number}", explanation="…", by=lead)
        with refused("too_many_proposals"):
            propose(checklist, name="Tone", explanation="Fits.", by=lead)

    def test_they_end_only_with_as_many_as_are_to_stay(self, checklist, lead):
        proposed(checklist, lead, [("Depth", "a"), ("Tone", "b"), ("Length", "c")])
        with refused("too_few_criteria"):
            close_proposals(checklist, by=lead)

    def test_near_duplicates_are_grouped_and_a_withdrawn_one_is_not(self, checklist, lead):
        proposed(checklist, lead)
        propose(checklist, name="depth", explanation="Goes below the surface.", by=make_user("rater"))
        withdraw(checklist, checklist.proposals.get(name="Tone").pk, by=lead)
        close_proposals(checklist, by=lead)
        groups = {one.name: names(one.proposals.all()) for one in checklist.criteria.all()}
        assert groups.pop("Depth") == ["Depth", "depth"]
        assert list(groups) == ["Coverage", "Accuracy", "Structure", "Novelty", "Length"]


class TestMerging:
    @pytest.fixture
    def closed(self, checklist, lead):
        proposed(checklist, lead)
        close_proposals(checklist, by=lead)
        return checklist

    def test_proposals_move_and_an_empty_group_goes(self, closed, lead):
        groups = as_suggested(closed)
        depth, tone = keys_of(closed, "Depth", "Tone")
        of_tone = closed.proposals.get(name="Tone").pk
        groups["places"][of_tone] = depth
        groups["wordings"][depth] = ("Substance", "Says much.")
        merge(closed, **groups, by=lead)
        assert not closed.criteria.filter(pk=tone).exists()
        assert names(closed.criteria.get(name="Substance").proposals.all()) == ["Depth", "Tone"]
        groups = as_suggested(closed)
        groups["places"][of_tone] = None
        merge(closed, **groups, by=lead, then_vote=True)
        assert names(closed.criteria.get(name="Tone").proposals.all()) == ["Tone"]
        closed.refresh_from_db()
        assert closed.stage == "vote"
        assert Event.objects.filter(verb="merge_criteria").count() == 2

    def test_too_few_groups_open_no_vote(self, closed, lead):
        groups = as_suggested(closed)
        (depth,) = keys_of(closed, "Depth")
        groups["places"] = dict.fromkeys(groups["places"], depth)
        with refused("too_few_merged"):
            merge(closed, **groups, by=lead, then_vote=True)
        assert closed.criteria.count() == 7

    def test_groups_of_an_older_page_are_refused(self, closed, lead):
        before = as_suggested(closed)
        groups = as_suggested(closed)
        (depth,) = keys_of(closed, "Depth")
        groups["places"][closed.proposals.get(name="Tone").pk] = depth
        merge(closed, **groups, by=lead)
        with refused("merging_changed"):
            merge(closed, **before, by=lead)


class TestVote:
    @pytest.fixture
    def vote_open(self, checklist, lead):
        return opened(proposed(checklist, lead), lead)

    def test_one_ballot_a_person_of_at_most_so_many_votes(self, vote_open, lead):
        five = keys_of(vote_open, "Depth", "Coverage", "Accuracy", "Structure", "Tone")
        with refused("too_many_votes"):
            vote(vote_open, five, by=lead)
        with refused("no_choice"):
            vote(vote_open, [], by=lead)
        with refused("no_choice"):
            vote(vote_open, [max(five) + 100], by=lead)
        vote(vote_open, five[:2], by=lead)
        with refused("voted"):
            vote(vote_open, five[:1], by=lead)
        assert (vote_open.ballots.count(), vote_open.receipts.count()) == (1, 1)

    def test_nothing_leads_from_a_voter_to_a_ballot(self, vote_open):
        people = voted(vote_open, *CLEAR)
        assert {field.name for field in Ballot._meta.get_fields()} == {"id", "checklist", "choices"}
        assert {field.name for field in BallotReceipt._meta.get_fields()} == {
            "id",
            "checklist",
            "by",
            "pseudonym",
            "at",
        }
        assert set(vote_open.receipts.values_list("pseudonym", flat=True)) == {None}
        assert list(vote_open.receipts.values_list("by", flat=True)) == [one.pk for one in people]
        events = Event.objects.filter(verb="vote_on_criteria")
        assert events.count() == 3
        assert all((event.before, event.after) == (None, None) for event in events)

    def test_ballots_are_not_stored_in_the_order_of_the_voters(self, vote_open):
        """Their keys are drawn, so that of ten ballots some stand out of order (but for one time in 10!)."""
        people = [make_user("rater") for _n in range(10)]
        ballots = [["Depth", "Tone"][: 1 + n % 2] for n in range(10)]
        stored = []
        for person, ballot in zip(people, ballots, strict=True):
            before = set(Ballot.objects.values_list("pk", flat=True))
            voted(vote_open, ballot, voters=[person])
            stored.append((set(Ballot.objects.values_list("pk", flat=True)) - before).pop())
        assert stored != sorted(stored)

    def test_it_is_counted_once_with_enough_ballots(self, vote_open, lead):
        voted(vote_open, *CLEAR[:2])
        with refused("too_few_ballots"):
            close_vote(vote_open, by=lead)
        assert not vote_open.criteria.exclude(votes=None).exists()
        voted(vote_open, CLEAR[2])
        close_vote(vote_open, by=lead)
        assert dict(vote_open.criteria.values_list("name", "votes")) == {
            "Depth": 3,
            "Coverage": 3,
            "Accuracy": 3,
            "Structure": 2,
            "Tone": 1,
            "Novelty": 0,
            "Length": 0,
        }
        with refused("moved_on"):
            voted(vote_open, CLEAR[0])
        with refused("moved_on"):
            close_vote(vote_open, by=lead)
        choose(vote_open, [], reason="", by=lead)
        assert names(vote_open.criteria.filter(kept=True)) == ["Depth", "Coverage", "Accuracy", "Structure"]

    def test_a_tie_is_decided_with_a_reason(self, vote_open, lead):
        voted(
            vote_open, ["Depth", "Coverage", "Accuracy"], ["Depth", "Coverage", "Tone"], ["Depth", "Length", "Coverage"]
        )
        close_vote(vote_open, by=lead)
        accuracy, tone, length, novelty = keys_of(vote_open, "Accuracy", "Tone", "Length", "Novelty")
        assert set(vote_result(vote_open).tied) == {accuracy, tone, length}
        for wrong in ([], [accuracy], [accuracy, novelty]):
            with refused("bad_choice"):
                choose(vote_open, wrong, reason="They matter most.", by=lead)
        with refused("no_reason"):
            choose(vote_open, [accuracy, tone], reason="", by=lead)
        choose(vote_open, [accuracy, tone], reason="They matter most.", by=lead)
        vote_open.refresh_from_db()
        assert (vote_open.stage, vote_open.choice_reason) == ("questions", "They matter most.")
        assert Event.objects.get(verb="keep_criteria").after["reason"] == "They matter most."


class TestQuestionsAndReview:
    def test_every_criterion_needs_one(self, workspace, lead):
        checklist = chosen(workspace, lead)
        write_questions(checklist, questions_for(checklist, ["Depth"]), by=lead)
        with refused("unwritten") as raised:
            start_review(checklist, by=lead)
        assert "Coverage; Accuracy; Structure" in raised.value.message
        assert write_questions(checklist, questions_for(checklist), by=lead) == 3
        start_review(checklist, by=lead)

    def test_authors_do_not_review_their_own_and_objections_count(self, workspace, lead):
        checklist = written_checklist(workspace, lead)
        start_review(checklist, by=lead)
        rater = make_user("rater")
        depth, *others = [one.question.pk for one in current_questions(checklist)]
        with refused("own_question"):
            review(checklist, depth, sound=True, comment="", by=lead)
        with refused("no_comment"):
            review(checklist, depth, sound=False, comment="", by=rater)
        with refused("unreviewed"):
            finish(checklist, by=lead)
        for question in others:
            review(checklist, question, sound=True, comment="", by=rater)
        review(checklist, depth, sound=False, comment="Name the details.", by=rater)
        with refused("objections"):
            finish(checklist, by=lead)
        new = {one.criterion.pk: Wanted({"en": "Does it give details?"}) for one in current_questions(checklist)[:1]}
        assert write_questions(checklist, new, by=lead) == 1
        with refused("unknown_question"):
            review(checklist, depth, sound=True, comment="", by=rater)
        newest = current_questions(checklist)[0].question
        review(checklist, newest.pk, sound=False, comment="Hm.", by=rater)
        review(checklist, newest.pk, sound=True, comment="", by=rater)
        (rubric,) = finish(checklist, by=lead)
        assert [one.questions["en"] for one in rubric.criteria.all()][:2] == [
            "Does it give details?",
            "Does the response have coverage?",
        ]
        assert [one.role for one in rubric.criteria.all()] == ["item"] * 4 + ["overall"]
        assert rubric.authored["votes"] == {"depth": 3, "coverage": 3, "accuracy": 3, "structure": 2}
        assert (rubric.authored["ballots"], rubric.authored["proposals"], rubric.authored["merged"]) == (3, 7, 7)

    def test_each_category_gets_a_rubric(self, workspace, lead):
        benchmark = make_checklist_study(workspace=workspace, instructions=1, models=1).benchmark
        categories = list(Category.objects.filter(benchmark=benchmark))
        checklist = written_checklist(
            workspace, lead, benchmark=benchmark, categories=categories, scale="fulfilment", overall=False
        )
        start_review(checklist, by=lead)
        rater = make_user("rater")
        for one in current_questions(checklist):
            review(checklist, one.question.pk, sound=True, comment="", by=rater)
        made = finish(checklist, by=lead)
        assert [rubric.category for rubric in made] == categories
        assert [rubric.names["en"] for rubric in made] == ["Essays · Writing", "Essays · Essay"]
        assert all(rubric.criteria.count() == 4 for rubric in made)
        assert all(len(one.levels) == 5 for one in made[0].criteria.all())


@pytest.mark.django_db(transaction=True)
def test_leads_who_close_one_stage_at_once_close_it_once(tmp_path):
    lead = make_user("lead")
    checklist = proposed(new_checklist(make_workspace(), lead), lead)
    others = [make_user("lead") for _n in range(3)]
    gate = threading.Barrier(3)

    def close(person):
        try:
            gate.wait()
            close_proposals(Checklist.objects.get(pk=checklist.pk), by=person)
        except UserError as refusal:
            return refusal.message.code
        finally:
            connection.close()
        return "closed"

    def state():
        try:
            return checklist.criteria.count(), Event.objects.filter(verb="close_proposals").count()
        finally:
            connection.close()

    with many_connections(tmp_path), ThreadPoolExecutor(3) as threads:
        assert sorted(threads.map(close, others)) == ["checklist.moved_on", "checklist.moved_on", "closed"]
        assert threads.submit(state).result() == (7, 1)

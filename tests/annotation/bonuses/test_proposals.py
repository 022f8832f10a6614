"""The dry run: who would get how much, who would not and why; it changes nothing at Prolific."""

import pytest
from django.utils import timezone

from annotation.bonuses.record import allowance_of
from annotation.bonuses.sending import confirm
from annotation.models import BonusBatch, CheckOutcome
from annotation.policies.policies import CONTROL
from annotation.privacy.erasure import erase_rater
from annotation.recruitment.cohorts import erase_identity
from core.errors import UserError

pytestmark = pytest.mark.django_db


def amounts(proposal):
    return {one.rater.name: one.minor for one in proposal.bonuses}


def why(proposal, who):
    return next(one.why for one in proposal.left_out if who in one.who)


def test_a_dry_run_asks_and_changes_nothing(crowd, prolific):
    proposal = crowd.propose("R1,1.50\nR2,2.25")
    assert amounts(proposal) == {"R1": 150, "R2": 225} and proposal.total == 375
    assert (proposal.currency, proposal.left_out) == ("GBP", ())
    assert {method for method, _path, _body in prolific.requests} == {"GET"}
    assert not BonusBatch.objects.exists()


def test_raters_are_named_by_their_name_or_by_ids_of_prolific(crowd):
    assert amounts(crowd.propose(f"p1,1.50\n{crowd.submissions['R2']},2")) == {"R1": 150, "R2": 200}


def test_who_is_left_out_and_why(crowd, prolific):
    crowd.join(3, status="RETURNED")
    crowd.join(4, status="AWAITING REVIEW")
    crowd.join(5, study="s2")
    text = "R1,1.50\nR1,9.99\nR3,1\nR4,1\nR5,1\nnobody,1\nR2,-1\nR2,abc\nR2,0"
    proposal = crowd.propose(text)
    assert amounts(proposal) == {"R1": 150}
    assert [(one.minor, one.why.partition(":")[0][:38]) for one in proposal.left_out] == [
        (999, "The rater is in the list twice; the fir"[:38]),
        (100, "The submission is not approved"),
        (100, "The submission is not approved"),
        (100, "This is no participant of the study at "[:38]),
        (100, "This is no participant of the study at "[:38]),
        (-100, "The amount is negative."),
        (None, "The amount is not a number with a poin"[:38]),
        (0, "There is nothing to pay."),
    ]
    assert "RETURNED" in why(proposal, "R3")


def test_the_cap_leaves_out_what_it_does_not_allow(crowd, settings):
    crowd.cap(200)
    proposal = crowd.propose("R1,1.50\nR2,2.25")
    assert amounts(proposal) == {"R1": 150} and "cap" in why(proposal, "R2")
    settings.BONUS_CAP = 1
    assert amounts(crowd.propose("R1,1.01\nR2,1")) == {"R2": 100}
    settings.BONUS_CAP = 0
    assert amounts(crowd.propose("R1,1.50")) == {}


def test_without_a_cap_of_the_lead_nothing_is_allowed(crowd):
    crowd.study.bonus_cap.delete()
    assert allowance_of(crowd.study).left == 0
    assert amounts(crowd.propose("R1,0.01")) == {}


def test_a_bonus_for_each_counted_answer_above_a_number(crowd):
    crowd.join(3, answers=7)
    rule = {"basis": "answers", "above": 3, "each_minor": 25}
    assert amounts(crowd.propose(**rule)) == {"R1": 25, "R2": 25, "R3": 100}


def test_what_is_owed_beyond_reward_and_bonuses(crowd):
    # R1 and R2: 4 x 90 s at 12.00 an hour are 1.20, of which the reward pays 1.00. R3: 7 x 90 s are 2.10.
    crowd.join(3, answers=7)
    rule = {"basis": "hours"}
    assert amounts(crowd.propose(**rule)) == {"R1": 20, "R2": 20, "R3": 110}
    confirm(crowd.prepare("R3,0.50"), 50, by=crowd.lead, clock=timezone.now)
    assert amounts(crowd.propose(**rule)) == {"R1": 20, "R2": 20, "R3": 60}


@pytest.mark.parametrize("said", [{"presentment_currency_code": "USD"}, {"presentment_currency_code": None}])
def test_what_is_owed_is_not_paid_in_another_currency(crowd, prolific, said):
    prolific.studies["s1"] |= said
    with pytest.raises(UserError, match="GBP"):
        crowd.propose(basis="hours")


def test_a_bonus_for_quality_checks_passed(crowd):
    for name, failed in (("R1", 0), ("R2", 2)):
        for place, answer in enumerate(crowd.raters[name].assignments.order_by("pk")[:4]):
            CheckOutcome.objects.create(assignment=answer, purpose=CONTROL, passed=place >= failed)
    rule = {"basis": "checks", "fewest": 4, "percent": 75, "amount_minor": 80}
    assert amounts(crowd.propose(**rule)) == {"R1": 80}


def test_a_rule_pays_only_what_it_has_not_paid(crowd):
    rule = {"basis": "answers", "above": 0, "each_minor": 10}
    confirm(crowd.prepare(**rule), 80, by=crowd.lead, clock=timezone.now)
    assert amounts(crowd.propose(**rule)) == {}
    assert amounts(crowd.propose(**(rule | {"each_minor": 15, "purpose": "Another name"}))) == {"R1": 20, "R2": 20}


def test_given_amounts_are_sent_once_for_a_purpose(crowd):
    confirm(crowd.prepare("R1,1.50"), 150, by=crowd.lead, clock=timezone.now)
    proposal = crowd.propose("R1,1.50\nR2,1.50", purpose="ROUND 1")
    assert amounts(proposal) == {"R2": 150} and "1.50" in why(proposal, "R1")
    assert amounts(crowd.propose("R1,1.50", purpose="Round 2")) == {"R1": 150}


def test_bonuses_that_the_record_does_not_know_leave_their_rater_out(crowd, prolific):
    prolific.paid.append((crowd.submissions["R1"], 30))
    proposal = crowd.propose("R1,1\nR2,1")
    assert amounts(proposal) == {"R2": 100} and "0.30" in why(proposal, "R1")
    assert amounts(crowd.propose("R1,1\nR2,1", with_unknown=True)) == {"R1": 100, "R2": 100}


@pytest.mark.parametrize("erase", [erase_identity, erase_rater])
def test_who_was_erased_is_not_led_back_to_the_platform(crowd, erase):
    erase(crowd.raters["R1"], by=None)
    assert amounts(crowd.propose("R1,1\np1,1\nR2,1")) == {"R2": 100}


def test_an_empty_or_endless_list_is_refused(crowd):
    for text in ("", "\n \n", "R1,1\n" * 2001):
        with pytest.raises(UserError, match=r"at least one rater|at most"):
            crowd.propose(text)


def test_whatever_changes_the_list_changes_its_digest(crowd, prolific):
    first = crowd.propose("R1,1.50\nR2,2.25")
    assert crowd.propose("R2,2.25\nR1,1.50").digest == first.digest
    others = [
        crowd.propose("R1,1.50\nR2,2.26"),
        crowd.propose("R1,1.50"),
        crowd.propose("R1,1.50\nR2,2.25", purpose="x"),
    ]
    prolific.studies["s1"]["presentment_currency_code"] = "USD"
    others.append(crowd.propose("R1,1.50\nR2,2.25"))
    assert len({first.digest, *(one.digest for one in others)}) == 5

"""Bonuses are sent once: against a server that pays twice when it is asked twice, whatever breaks in between."""

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import Event
from annotation.bonuses import sending
from annotation.bonuses.record import allowance_of, sent_to_raters
from annotation.bonuses.sending import ListChanged, confirm, drop, look, prepare, settle, sweep
from annotation.models import BonusBatch, BonusPayment
from annotation.prolific import client
from annotation.prolific.client import ProlificError
from annotation.tasks import sweep_prolific
from core.errors import UserError
from tests.factories import make_user

pytestmark = pytest.mark.django_db
LIST = "R1,1.50\nR2,2.25"
TOTAL = 375
PAY, SET_UP = "/pay/", "/bonus-payments/"


class Killed(BaseException):
    """The process ends here: nothing catches it."""


def later(minutes):
    return lambda: timezone.now() + timedelta(minutes=minutes)


def send(crowd, batch, **given):
    return confirm(batch, given.pop("typed", TOTAL), by=given.pop("by", crowd.lead), clock=timezone.now)


def state_of(batch):
    batch.refresh_from_db()
    return batch.state


def asked_to_pay(prolific):
    return [path for _method, path, _body in prolific.requests if path.endswith(PAY)]


def paid_once(crowd, prolific):
    return sorted(prolific.paid) == [(crowd.submissions["R1"], 150), (crowd.submissions["R2"], 225)]


def test_the_server_of_these_tests_pays_twice_when_asked_twice(crowd, prolific):
    batch = crowd.prepare(LIST)
    client.pay_bonuses(batch.external_id)
    client.pay_bonuses(batch.external_id)
    assert len(prolific.paid) == 4


def test_a_list_is_set_up_confirmed_and_sent(crowd, prolific):
    batch = crowd.prepare(LIST)
    assert (batch.state, batch.external_id, prolific.paid) == ("prepared", next(iter(prolific.payments)), [])
    body = next(body for _method, path, body in prolific.requests if path.endswith(SET_UP))
    assert body["study_id"] == "s1"
    assert body["csv_bonuses"] == f"{crowd.submissions['R1']},1.50\n{crowd.submissions['R2']},2.25"
    assert batch.charged == 500  # 3.75 and a third of it
    assert send(crowd, batch).state == "sent" and paid_once(crowd, prolific)
    assert (batch.confirmed_by, allowance_of(crowd.study).left) == (crowd.lead, 5000 - TOTAL)
    event = Event.objects.get(verb="confirm_bonuses")
    assert (event.actor, event.after["total"], event.after["raters"]) == (crowd.lead, "GBP 3.75", 2)
    assert Event.objects.filter(verb="bonuses_sent").count() == 1


def test_confirming_again_does_nothing(crowd, prolific):
    batch = crowd.prepare(LIST)
    stale = BonusBatch.objects.get(pk=batch.pk)
    send(crowd, batch)
    with pytest.raises(UserError, match="cannot be confirmed"):
        send(crowd, batch)
    with pytest.raises(UserError, match="shows other bonuses"):  # the other tab has read the list before
        send(crowd, stale)
    sweep(later(600))
    sweep_prolific()
    assert paid_once(crowd, prolific) and len(asked_to_pay(prolific)) == 1


def test_the_list_that_is_set_up_is_the_one_that_was_seen(crowd, prolific):
    digest = crowd.propose(LIST).digest
    asked = sending.BonusRequest(basis="given", purpose="Round 1", text=LIST)
    prolific.submissions[crowd.submissions["R2"]]["status"] = "REJECTED"
    with pytest.raises(ListChanged) as changed:
        prepare(crowd.attached, asked, digest, by=crowd.lead, clock=timezone.now)
    assert [one.rater.name for one in changed.value.proposal.bonuses] == ["R1"]
    assert not prolific.payments and not BonusBatch.objects.exists()


def test_only_the_same_lead_confirms_with_the_exact_total_within_the_hour(crowd, prolific):
    batch = crowd.prepare(LIST)
    other = make_user("lead", crowd.study.workspace)
    for given in ({"typed": 374}, {"typed": None}, {"typed": 37500}, {"by": other}):
        with pytest.raises(UserError, match=r"not the total|Only the lead"):
            send(crowd, batch, **given)
        assert state_of(batch) == "prepared"
    with pytest.raises(UserError, match="longer than an hour"):
        confirm(batch, TOTAL, by=crowd.lead, clock=later(61))
    assert state_of(batch) == "dropped" and not asked_to_pay(prolific)


def a_rejection(crowd, prolific):
    prolific.submissions[crowd.submissions["R2"]]["status"] = "REJECTED"


def a_bonus_by_hand(crowd, prolific):
    prolific.paid.append((crowd.submissions["R2"], 5))


def a_lower_cap(crowd, prolific):
    crowd.cap(TOTAL - 1)


def an_erasure(crowd, prolific):
    BonusPayment.objects.filter(rater=crowd.raters["R1"]).update(submission="")


def another_list_for_the_same(crowd, prolific):
    send(crowd, crowd.prepare("R2,0.10"), typed=10)
    prolific.paid.clear()  # as where Prolific does not show it yet


@pytest.mark.parametrize("change", [a_rejection, a_bonus_by_hand, a_lower_cap, an_erasure, another_list_for_the_same])
def test_what_the_list_rests_on_is_looked_at_again(crowd, prolific, change):
    batch = crowd.prepare(LIST)
    change(crowd, prolific)
    before = (list(prolific.paid), len(asked_to_pay(prolific)))
    with pytest.raises(UserError, match="list was dropped"):
        send(crowd, batch)
    assert state_of(batch) == "dropped"
    assert (prolific.paid, len(asked_to_pay(prolific))) == before


def test_a_process_killed_between_setting_up_and_storing_the_id_paid_nothing(crowd, prolific, monkeypatch):
    def killed(*given):
        client.set_up_bonuses(*given)
        raise Killed

    monkeypatch.setattr(sending, "set_up_bonuses", killed)
    with pytest.raises(Killed):
        crowd.prepare(LIST)
    [batch] = BonusBatch.objects.all()
    assert batch.state == "preparing" and len(prolific.payments) == 1
    sweep(later(11))
    assert state_of(batch) == "dropped" and prolific.paid == []
    assert allowance_of(crowd.study).spent == 0


def test_a_process_killed_before_it_asks_to_pay_leaves_the_list_uncertain(crowd, prolific, monkeypatch):
    batch = crowd.prepare(LIST)
    monkeypatch.setattr(sending, "pay_bonuses", lambda _payment: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        send(crowd, batch)
    assert state_of(batch) == "paying"
    sweep(later(6))
    assert state_of(batch) == "uncertain" and allowance_of(crowd.study).spent == TOTAL
    monkeypatch.undo()
    for _again in range(3):
        with pytest.raises(UserError, match="cannot be confirmed"):
            send(crowd, batch)
        sweep(later(20))
        look(batch, timezone.now)
    assert state_of(batch) == "uncertain" and asked_to_pay(prolific) == []
    assert batch.external_id in prolific.payments


def test_a_process_killed_after_it_asked_to_pay_is_found_out_at_prolific(crowd, prolific, monkeypatch):
    batch = crowd.prepare(LIST)

    def killed(payment):
        client.pay_bonuses(payment)
        raise Killed

    monkeypatch.setattr(sending, "pay_bonuses", killed)
    with pytest.raises(Killed):
        send(crowd, batch)
    sweep(later(6))
    assert state_of(batch) == "sent" and paid_once(crowd, prolific)


@pytest.mark.parametrize("carried_out", [True, False])
@pytest.mark.parametrize("what", [500, 502, 409, 302, "drop", "silent"])
def test_an_answer_that_says_nothing_leaves_the_list_uncertain(crowd, prolific, monkeypatch, what, carried_out):
    if what == "silent":
        monkeypatch.setattr(client, "SECONDS", 2)
    batch = crowd.prepare(LIST)
    prolific.break_at(PAY, what, carried_out=carried_out)
    assert send(crowd, batch).state == "uncertain" and batch.problem
    prolific.faults.clear()
    assert allowance_of(crowd.study).spent == TOTAL
    with pytest.raises(UserError, match="cannot be confirmed"):
        send(crowd, batch)
    assert crowd.propose("R1,1", purpose="Another").bonuses == ()
    sweep(later(10))
    assert state_of(batch) == ("sent" if carried_out else "uncertain")
    assert paid_once(crowd, prolific) is carried_out and len(asked_to_pay(prolific)) == 1


def test_an_answer_of_success_without_a_body_is_success(crowd, prolific):
    batch = crowd.prepare(LIST)
    respond = prolific.respond

    def wordless(method, path, *rest):
        status, answer = respond(method, path, *rest)
        return status, (None if path.endswith(PAY) else answer)

    prolific.respond = wordless
    assert send(crowd, batch).state == "sent"


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_to_pay_sent_nothing_and_frees_the_cap(crowd, prolific, status):
    batch = crowd.prepare(LIST)
    prolific.break_at(PAY, status, carried_out=False)
    assert send(crowd, batch).state == "refused" and str(status) in batch.problem
    assert allowance_of(crowd.study).spent == 0
    prolific.faults.clear()
    with pytest.raises(UserError, match="cannot be confirmed"):
        send(crowd, batch)
    assert prolific.paid == []


def test_a_server_that_was_never_reached_sent_nothing(crowd, prolific, monkeypatch, settings):
    batch = crowd.prepare(LIST)
    pay = client.pay_bonuses

    def unreachable(payment):
        settings.PROLIFIC_API = "http://127.0.0.1:9"
        pay(payment)

    monkeypatch.setattr(sending, "pay_bonuses", unreachable)
    assert send(crowd, batch).state == "refused"


@pytest.mark.parametrize("what", [400, 500, "drop"])
def test_a_list_that_cannot_be_set_up_is_refused(crowd, prolific, what):
    prolific.break_at(SET_UP, what, carried_out=False)
    with pytest.raises(ProlificError):
        crowd.prepare(LIST)
    [batch] = BonusBatch.objects.all()
    assert (batch.state, batch.external_id, prolific.paid) == ("refused", "", [])


@pytest.mark.parametrize("said", [{"amount": 3.75}, {"amount": 37500}, {"study": "s2"}, {"amount": None}])
def test_another_sum_than_was_asked_for_is_refused(crowd, prolific, said):
    respond = prolific.respond

    def other(method, path, *rest):
        status, answer = respond(method, path, *rest)
        return status, (answer | said if path.endswith(SET_UP) else answer)

    prolific.respond = other
    with pytest.raises(UserError, match="another sum"):
        crowd.prepare(LIST)
    assert BonusBatch.objects.get().state == "refused"


def test_the_same_payment_of_prolific_belongs_to_one_list(crowd, prolific):
    first = crowd.prepare("R1,1", purpose="one")
    respond = prolific.respond

    def same(method, path, *rest):
        status, answer = respond(method, path, *rest)
        return status, (answer | {"id": first.external_id} if path.endswith(SET_UP) else answer)

    prolific.respond = same
    with pytest.raises(UserError, match="another payment"):
        crowd.prepare("R2,1", purpose="two")
    assert BonusBatch.objects.get(purpose="two").state == "refused"


def test_a_lead_settles_what_is_uncertain_and_it_is_never_sent(crowd, prolific):
    prolific.break_at(PAY, 500, carried_out=False)
    unpaid, paid = crowd.prepare("R1,1.50"), crowd.prepare("R2,2.25")
    send(crowd, unpaid, typed=150)
    send(crowd, paid, typed=225)
    prolific.faults.clear()
    assert settle(unpaid, paid=False, by=crowd.lead, clock=timezone.now)
    assert settle(paid, paid=True, by=crowd.lead, clock=timezone.now)
    assert not settle(paid, paid=False, by=crowd.lead, clock=timezone.now)
    assert allowance_of(crowd.study).spent == TOTAL
    sent = sent_to_raters(crowd.study)
    assert crowd.raters["R1"].pk not in sent and sent[crowd.raters["R2"].pk].total == 225
    again = crowd.propose(LIST)
    assert [one.rater.name for one in again.bonuses] == ["R1"]
    assert prolific.paid == []
    assert Event.objects.filter(verb="settle_bonuses", actor=crowd.lead).count() == 2


def test_what_was_not_confirmed_is_dropped_and_nothing_else_is(crowd, prolific):
    old, sent = crowd.prepare("R1,1", purpose="old"), crowd.prepare("R2,1", purpose="sent")
    send(crowd, sent, typed=100)
    sweep(later(30))
    assert state_of(old) == "prepared"
    sweep(later(61))
    assert (state_of(old), state_of(sent)) == ("dropped", "sent")
    assert not drop(sent, by=crowd.lead, clock=timezone.now)


def test_a_restored_backup_pays_nobody_twice(crowd, prolific):
    """The database is as it was before the list was confirmed, or before it was made; Prolific is not."""
    batch = crowd.prepare(LIST)
    send(crowd, batch)
    BonusBatch.objects.filter(pk=batch.pk).update(state="prepared", confirmed_at=None, confirmed_by=None)
    batch.refresh_from_db()
    with pytest.raises(UserError, match="shows other bonuses"):
        send(crowd, batch)
    assert state_of(batch) == "dropped"
    assert crowd.propose(LIST).bonuses == ()  # Prolific shows what this record does not know
    assert paid_once(crowd, prolific)


def test_a_backup_made_while_a_list_was_sent_is_uncertain_after_it_is_restored(crowd, prolific):
    batch = crowd.prepare(LIST)
    send(crowd, batch)
    BonusBatch.objects.filter(pk=batch.pk).update(state="paying")
    sweep(later(6))
    assert state_of(batch) == "sent" and len(asked_to_pay(prolific)) == 1


def test_the_database_keeps_what_was_to_be_paid(crowd):
    batch = crowd.prepare(LIST)
    for rows, values in (
        (BonusBatch.objects, {"total_minor": 1}),
        (BonusBatch.objects, {"key": "x"}),
        (BonusPayment.objects, {"minor": 1}),
        (BonusPayment.objects, {"rater": crowd.raters["R1"]}),
    ):
        with pytest.raises(Exception, match="append-only"), transaction.atomic():
            rows.update(**values)
    with pytest.raises(Exception, match="append-only"), transaction.atomic():
        BonusPayment.objects.all().delete()
    with pytest.raises(IntegrityError), transaction.atomic():
        BonusPayment.objects.create(batch=batch, rater=crowd.raters["R1"], minor=1, already_minor=0)
    with pytest.raises(IntegrityError), transaction.atomic():
        BonusPayment.objects.create(batch=batch, rater=crowd.join(9), minor=0, already_minor=0)


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    """Requests of the same moment: each has looked at everything before any of them sends."""

    @pytest.fixture
    def sent_at_once(self, monkeypatch, at_once):
        def run(crowd, *lists):
            gate, checked = threading.Barrier(len(lists)), sending._changed_at_prolific

            def waiting(*given):
                found = checked(*given)
                gate.wait(30)
                return found

            def one(pk, typed):
                batch = BonusBatch.objects.select_related("study").get(pk=pk)
                try:
                    return send(crowd, batch, typed=typed).state
                except UserError:
                    return "refused with a sentence"

            monkeypatch.setattr(sending, "_changed_at_prolific", waiting)
            at_once(*(lambda given=given: one(*given) for given in lists))
            return at_once(lambda: sorted(BonusBatch.objects.values_list("state", flat=True)))[0]

        return run

    def test_one_list_confirmed_many_times_is_sent_once(self, crowd, prolific, sent_at_once, at_once):
        batch = crowd.prepare(LIST)
        assert sent_at_once(crowd, *[(batch.pk, TOTAL)] * 6) == ["sent"]
        assert paid_once(crowd, prolific) and len(asked_to_pay(prolific)) == 1
        assert at_once(lambda: Event.objects.filter(verb="confirm_bonuses").count()) == [1]

    def test_two_lists_for_the_same_raters_are_not_both_sent(self, crowd, prolific, sent_at_once):
        first, second = crowd.prepare(LIST), crowd.prepare(LIST)
        assert sent_at_once(crowd, (first.pk, TOTAL), (second.pk, TOTAL)) == ["dropped", "sent"]
        assert paid_once(crowd, prolific)

    def test_two_lists_within_the_cap_are_together_not_above_it(self, crowd, prolific, sent_at_once):
        crowd.cap(TOTAL)
        first, second = crowd.prepare("R1,2.00"), crowd.prepare("R2,2.00")
        assert sent_at_once(crowd, (first.pk, 200), (second.pk, 200)) == ["dropped", "sent"]
        assert sum(minor for _submission, minor in prolific.paid) == 200

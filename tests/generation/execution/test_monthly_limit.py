"""What a workspace may spend in a month holds over all its runs and workers; a run that would exceed it waits."""

import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import OperationalError, connection
from django.urls import reverse

from accounts.models import Event
from generation.execution.budget import WorkerBudget, record_spending, reserve
from generation.execution.monthly_limit import OVER_MONTH, month_of, set_limit, spent_this_month
from generation.execution.states import pause_run
from generation.execution.worker import WorkerOptions
from generation.llm.protocol.prices import UNLIMITED, Ceiling, Spend
from generation.models import Endpoint, GenerationRun, Instruction, Response, SpendingLimit, SurplusReply
from generation.responses.recording import spent_of
from generation.responses.runs import GENERATION
from generation.responses.worker import work_on
from judging.models import BudgetShare, Judge, JudgeRun, PlannedItem, Reply
from tests.factories import make_checklist_study, make_judge_rater, make_user, make_workspace
from tests.generation.execution.test_budget_shares import RETRY, planned

pytestmark = pytest.mark.django_db
NOVEMBER = datetime(2026, 11, 23, 12, tzinfo=UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)


def at(moment=NOVEMBER):
    return lambda: moment


def spend(money, calls=1):
    return Spend(calls, 0, Decimal(money))


def limited(run, money):
    set_limit(run.benchmark.workspace, Decimal(money), by=None)


def another(run, name="another"):
    return GenerationRun.objects.create(benchmark=run.benchmark, name=name, status="running")


def paid(run, money, when=NOVEMBER):
    instruction = Instruction.objects.filter(benchmark=run.benchmark).first()
    made = Response.objects.create(instruction=instruction, run=run, external_id=str(when) + money, cost=Decimal(money))
    Response.objects.filter(pk=made.pk).update(created_at=when)


def judged(run, money, when=NOVEMBER):
    study = make_checklist_study(slug="tea", instructions=1, models=1, workspace=run.benchmark.workspace)
    judge = Judge.objects.create(
        workspace=study.workspace, rater=make_judge_rater(study.workspace), method="stars", prompt_hash="0"
    )
    judge_run = JudgeRun.objects.create(judge=judge, study=study, status="running")
    item = PlannedItem.objects.create(run=judge_run, task=study.tasks.get())
    reply = Reply.objects.create(item=item, request_hash="0", cost=Decimal(money))
    Reply.objects.filter(pk=reply.pk).update(created_at=when)
    return judge_run


def test_without_a_limit_nothing_is_asked():
    run = planned(UNLIMITED)
    _ceiling, added = reserve(run, "a", spend("99"), at(), spent_of)
    assert added == spend("99")
    assert WorkerBudget(run, "b", at(), spent_of).allowed.money is None


def test_two_runs_of_a_workspace_share_its_month():
    run = planned(UNLIMITED)
    limited(run, "1")
    other = another(run)
    assert reserve(run, "a", spend("0.7"), at(), spent_of)[1].money == Decimal("0.7")
    assert reserve(other, "b", spend("0.7"), at(), spent_of)[1].money == Decimal("0.3")
    assert reserve(other, "c", spend("0.1"), at(), spent_of, whole=True)[1] == Spend()


def test_judging_and_generation_and_surplus_count_and_other_months_and_workspaces_do_not():
    run = planned(UNLIMITED)
    limited(run, "1")
    judge_run = judged(run, "0.1")
    paid(run, "0.2")
    paid(run, "50", NOVEMBER - timedelta(days=23))
    item = run.items.first()
    surplus = SurplusReply.objects.create(run=run, item=item, cost=Decimal("0.3"))
    SurplusReply.objects.filter(pk=surplus.pk).update(created_at=NOVEMBER)
    BudgetShare.objects.create(
        run=judge_run, worker="j", money=Decimal("0.15"), leased_until=NOVEMBER + timedelta(minutes=1)
    )
    BudgetShare.objects.create(run=judge_run, worker="dead", money=9, leased_until=NOVEMBER - timedelta(minutes=1))
    month = month_of(run.workspace_id, at())
    assert (month.spent, month.reserved, month.room) == (Decimal("0.6"), Decimal("0.15"), Decimal("0.25"))
    assert spent_this_month(make_workspace("elsewhere").pk, at()) == 0


def test_what_is_stored_moves_from_reserved_to_spent():
    run = planned(UNLIMITED)
    limited(run, "1")
    budget = WorkerBudget(run, "a", at(), spent_of)
    budget.reserve(spend("0.04"))
    reserved = month_of(run.workspace_id, at()).reserved
    assert budget.allowed.money == reserved > 0
    paid(run, "0.04")
    record_spending(run, "a", spend("0.04"))
    month = month_of(run.workspace_id, at())
    assert month.spent + month.reserved == reserved


def test_a_runs_own_budget_still_holds_where_it_is_lower():
    run = planned(Ceiling(money=Decimal("0.2")))
    limited(run, "1")
    assert reserve(run, "a", spend("0.7"), at(), spent_of)[1].money == Decimal("0.2")


def test_a_limit_that_is_set_or_lowered_meanwhile_stops_a_worker():
    run = planned(UNLIMITED)
    budget = WorkerBudget(run, "a", at(), spent_of)
    budget.reserve(spend("0.5"))
    limited(run, "0.1")
    budget.update_limit(UNLIMITED)
    assert budget.lowered
    assert budget.allowed.crossed_by(Spend(1))


@pytest.mark.django_db(transaction=True)
def test_workers_of_several_runs_at_once_reserve_no_more_than_the_limit():
    run = planned(UNLIMITED)
    limited(run, "1")
    runs = [run, *(another(run, f"run {number}") for number in range(3))]
    got, faults = [], []

    def take(number, turn):
        while True:
            try:
                return reserve(runs[number], f"{number}.{turn}", spend("0.09"), at(), spent_of)[1].money
            except OperationalError:  # SQLite in memory does not wait for its turn
                if connection.vendor == "postgresql":
                    raise

    def work(number):
        try:
            got.extend(take(number, turn) for turn in range(4))
        except Exception as error:
            faults.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert sum(got) == Decimal(1)
    assert month_of(run.workspace_id, at()).reserved == Decimal(1)


def test_a_run_pauses_with_the_limit_as_its_reason_and_continues_by_itself(monkeypatch):
    run = planned(UNLIMITED)
    GenerationRun.objects.filter(pk=run.pk).update(status="running")
    limited(run, "1")
    paid(run, "0.999")
    run.refresh_from_db()
    month = month_of(run.workspace_id, at())
    pause_run(run, month.why_paused(Decimal("0.01")), clock=at())
    run.refresh_from_db()
    assert run.message_json["code"] == OVER_MONTH.code
    assert "limit of 1" in run.message and "2026-11" in run.message
    sent = []
    monkeypatch.setattr("generation.execution.states.send", lambda task, pk: sent.append(pk))
    GENERATION.sweep(at())
    run.refresh_from_db()
    assert (run.status, sent) == ("paused", [])
    limited(run, "2")
    GENERATION.sweep(at())
    run.refresh_from_db()
    assert (run.status, sent) == ("running", [run.pk])
    limited(run, "1")
    pause_run(run, month.why_paused(Decimal("0.01")), clock=at())
    GENERATION.sweep(at(DECEMBER))
    run.refresh_from_db()
    assert run.status == "running"
    pause_run(run, clock=at())
    GENERATION.sweep(at(DECEMBER))
    run.refresh_from_db()
    assert run.status == "paused", "who pauses a run resumes it"


def test_a_worker_stops_at_the_limit_before_it_sends_anything():
    run = planned(UNLIMITED)
    endpoint = Endpoint.objects.get()
    Endpoint.objects.filter(pk=endpoint.pk).update(input_price=1000, output_price=1000)
    set_limit(run.benchmark.workspace, Decimal("0.000001"), by=None)
    GENERATION.start(run, clock=at(datetime.now(UTC)))
    work_on(run, options=WorkerOptions(retry=RETRY))
    run.refresh_from_db()
    assert run.status == "paused"
    assert run.message_json["code"] == OVER_MONTH.code
    assert not Response.objects.filter(run=run).exists()


def test_owners_set_the_limit_and_others_see_it(client):
    workspace = make_workspace()
    address = reverse("generation:spending")
    owner = make_user("owner", workspace)
    client.force_login(owner)
    assert "there is no limit" in client.get(address).content.decode()
    assert client.post(address, {"workspace": "lab", "money": "-1"}).status_code == 422
    assert client.post(address, {"workspace": "lab", "money": "12.5"}).status_code == 302
    assert SpendingLimit.objects.get().money == Decimal("12.5")
    assert Event.objects.get(verb="spending limit changed").actor == owner
    assert "12.5" in client.get(address).content.decode()
    for role, where in (("lead", workspace), ("analyst", workspace), ("owner", make_workspace("elsewhere"))):
        client.force_login(make_user(role, where))
        assert client.post(address, {"workspace": "lab", "money": "99"}).status_code == 404
    client.force_login(make_user("rater", workspace))
    assert client.get(address).status_code == 403
    client.force_login(owner)
    client.post(address, {"workspace": "lab", "money": ""})
    assert not SpendingLimit.objects.exists()

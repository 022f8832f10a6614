"""Leases and the sweep: nothing is held by the dead, nothing is handed out twice."""

import os
import subprocess
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from generation.execution.budget import end_reservation, has_reservations, record_spending, reserve
from generation.execution.leases import LEASE, lease_items, live_leases, new_worker_name, release, release_dead, renew
from generation.llm.protocol.prices import Ceiling, Spend
from generation.models import Endpoint, LanguageModel
from judging import tasks
from judging.judges.making import create_judge
from judging.models import JudgeRun, PlannedItem, Reply
from judging.runs.life_cycle import start_run
from judging.runs.recording import spent_of
from tests.factories import make_checklist_study, plan_run

pytestmark = pytest.mark.django_db


def grant(run, worker, wanted, clock):
    """What was added to the share, None where the budget has no limit."""
    ceiling, added = reserve(run, worker, wanted, clock, spent_of)
    return ceiling.limiting(added)


NOW = timezone.now()


def at(seconds=0):
    return lambda: NOW + timedelta(seconds=seconds)


def make_run(budget=None):
    study = make_checklist_study()
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="e", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="m", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model), study=study, budget=budget or Ceiling())
    start_run(run, clock=at())
    return run


def test_items_go_out_once_in_order_and_come_back_when_the_lease_runs_out():
    run = make_run()
    first, second = lease_items(run, "a", 5, at()), lease_items(run, "b", 5, at())
    positions = [PlannedItem.objects.get(pk=pk).position for pk in first + second]
    assert positions == list(range(8))
    assert lease_items(run, "c", 5, at()) == []
    late = LEASE.total_seconds() + 1
    assert lease_items(run, "c", 5, at(late)) == first
    assert live_leases(run, at(late)).count() == 5


def test_a_renewed_lease_does_not_run_out_and_only_its_holder_renews_or_releases():
    run = make_run()
    held = lease_items(run, "a", 2, at())
    renew(run, "a", held, at(60))
    renew(run, "b", held, at(600))
    assert lease_items(run, "b", 2, at(LEASE.total_seconds() + 30)) != held
    release(run, "b", held)
    assert live_leases(run, at(61)).filter(pk__in=held).count() == 2
    release(run, "a", held, reason="500: oops")
    assert set(PlannedItem.objects.filter(pk__in=held).values_list("leased_by", "reason")) == {("", "500: oops")}


def test_a_paused_run_hands_out_nothing():
    run = make_run()
    JudgeRun.objects.update(status="paused")
    assert lease_items(run, "a", 5, at()) == []


def test_workers_of_a_run_with_a_budget_set_their_shares_aside_and_never_more_than_there_is():
    run = make_run(Ceiling(calls=5, money=Decimal("1.00")))
    a = grant(run, "a", Spend(3, 0, Decimal("0.30")), at())
    b = grant(run, "b", Spend(3, 0, Decimal("0.90")), at())
    assert (a.calls, a.tokens, a.money) == (3, None, Decimal("0.30"))
    assert (b.calls, b.tokens, b.money) == (2, None, Decimal("0.70"))
    assert grant(run, "c", Spend(1, 0, Decimal(0)), at()).calls == 0


def test_a_share_shrinks_by_what_replies_cost_and_its_rest_is_there_for_others():
    run = make_run(Ceiling(calls=5))
    grant(run, "a", Spend(5), at())
    item = run.items.first()
    for attempt in range(2):
        Reply.objects.create(item=item, attempt=attempt, request_hash="x")
    record_spending(run, "a", Spend(2))
    assert grant(run, "b", Spend(5), at()).calls == 0
    # 5 allowed, 2 replies stored, so 3 are left once the share is given back
    end_reservation(run, "a")
    assert grant(run, "b", Spend(5), at()).calls == 3
    end_reservation(run, "b")
    assert not has_reservations(run, at())


def test_what_a_reply_leaves_of_a_share_stays_set_aside_even_where_it_is_less_than_the_reply_cost():
    run = make_run(Ceiling(calls=5))
    grant(run, "a", Spend(3), at())
    item = run.items.first()
    for attempt in range(2):
        Reply.objects.create(item=item, attempt=attempt, request_hash="x")
    record_spending(run, "a", Spend(2))
    # 5 allowed, 2 stored, and 3 - 2 = 1 still held by a: 2 are free
    assert run.shares.get(worker="a").calls == 1
    assert grant(run, "b", Spend(5), at()).calls == 2


def test_the_share_of_a_worker_that_died_is_free_when_its_lease_ends():
    run = make_run(Ceiling(calls=5))
    grant(run, "a", Spend(5), at())
    assert grant(run, "b", Spend(5), at()).calls == 0
    assert grant(run, "b", Spend(5), at(LEASE.total_seconds() + 1)).calls == 5


def test_what_a_dead_process_of_this_machine_held_is_free_at_once():
    run = make_run()
    ended = subprocess.Popen(["true"])
    ended.wait()
    place, mine, draw = new_worker_name().split(":")
    assert mine == str(os.getpid())
    dead, alive, far = (f"{place}:{ended.pid}:{draw}", f"{place}:{mine}:{draw}", f"elsewhere:{ended.pid}:{draw}")
    for worker in (dead, alive, far):
        lease_items(run, worker, 2, at())
    assert release_dead(run, at()) == 2
    assert set(live_leases(run, at()).values_list("leased_by", flat=True)) == {alive, far}


def test_the_sweep_frees_what_ran_out_sends_idle_runs_again_and_finishes_done_ones(monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.work, "delay", sent.append)
    run = make_run()
    lease_items(run, "dead", 3, at(-LEASE.total_seconds() - 60))
    tasks.sweep()
    assert not PlannedItem.objects.exclude(leased_by="").exists()
    assert sent == [run.pk]
    lease_items(run, "busy", 1, timezone.now)
    tasks.sweep()
    assert sent == [run.pk]
    PlannedItem.objects.update(status="unscored", leased_until=None)
    tasks.sweep()
    run.refresh_from_db()
    assert (run.status, sent) == ("finished", [run.pk])


def test_the_sweep_frees_what_a_dead_process_of_this_machine_held_before_its_lease_ends(monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.work, "delay", sent.append)
    run = make_run()
    ended = subprocess.Popen(["true"])
    ended.wait()
    place, mine, draw = new_worker_name().split(":")
    lease_items(run, f"{place}:{mine}:{draw}", 2, timezone.now)
    lease_items(run, f"{place}:{ended.pid}:{draw}", 3, timezone.now)
    tasks.sweep()
    assert set(run.items.exclude(leased_by="").values_list("leased_by", flat=True)) == {f"{place}:{mine}:{draw}"}
    assert sent == []


def test_a_message_that_comes_twice_or_too_late_does_nothing(settings):
    run = make_run()
    tasks.work(run.pk)
    run.refresh_from_db()
    assert run.status == "finished"
    tasks.work(run.pk)
    tasks.work(999_999)
    assert run.items.filter(status="scored").count() == 8

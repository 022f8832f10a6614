"""A worker's budget and its share: what a lowered budget, a lease that ran out and another run mean for them."""

import pytest

from generation.execution.budget import WorkerBudget, has_reservations, reserve
from generation.execution.leases import LEASE
from generation.llm.protocol.prices import Ceiling, Spend
from generation.models import GenerationRun
from generation.responses.recording import spent_of
from generation.responses.runs import raise_budget
from tests.generation.execution.test_budget_shares import at, planned

pytestmark = pytest.mark.django_db
SECONDS = LEASE.total_seconds()


def test_a_purse_learns_of_a_lower_budget_when_it_sets_aside_and_takes_nothing_more():
    run = planned(Ceiling(calls=9))
    budget = WorkerBudget(run, "a", at(), spent_of)
    budget.reserve(Spend(4))
    raise_budget(run, Ceiling(calls=3))
    budget.reserve(Spend(5))
    assert budget.lowered
    raise_budget(run, Ceiling(calls=100))
    budget.reserve(Spend(6))
    assert run.shares.get().calls == 4
    assert budget.allowed.crossed_by(Spend(1))


def test_renewing_stops_a_purse_only_where_its_share_is_gone_and_held_something():
    run = planned(Ceiling(calls=9))
    budget = WorkerBudget(run, "a", at(), spent_of)
    budget.renew()
    assert not budget.lowered, "nothing was set aside yet, so nothing is lost"
    budget.reserve(Spend(4))
    budget.renew()
    assert not budget.lowered, "the share is there"
    run.shares.all().delete()
    budget.renew()
    assert budget.lowered


def test_setting_more_aside_begins_the_lease_anew_and_one_that_ran_out_holds_nobody_up():
    run = planned(Ceiling(calls=9))
    reserve(run, "a", Spend(1), at(), spent_of)
    reserve(run, "a", Spend(1), at(SECONDS - 1), spent_of)
    assert has_reservations(run, at(2 * SECONDS - 2), besides="b")
    assert not has_reservations(run, at(2 * SECONDS), besides="b")


def test_each_run_has_a_budget_of_its_own():
    run = planned(Ceiling(calls=9))
    GenerationRun.objects.create(benchmark=run.benchmark, name="another", budget_calls=2, status="running")
    budget = WorkerBudget(run, "a", at(), spent_of)
    budget.reserve(Spend(6))
    assert budget.allowed == Ceiling(calls=6)
    raise_budget(run, Ceiling(calls=7))
    budget.update_limit(Ceiling(calls=7))
    assert not budget.lowered

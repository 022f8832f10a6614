"""A generation run's budget: several endpoints, workers and processes at once, raised and lowered, never overspent."""

import subprocess
import threading
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.utils import timezone

from generation.execution.budget import WorkerBudget, end_reservation, has_reservations, record_spending, reserve
from generation.execution.engine import Retry
from generation.execution.leases import LEASE, new_worker_name, release_dead
from generation.execution.worker import WorkerOptions
from generation.llm.protocol.prices import NOTHING, UNLIMITED, Ceiling, Spend
from generation.models import GenerationRun, Response
from generation.responses.recording import spent_of
from generation.responses.runs import progress_of, raise_budget
from generation.responses.worker import work_on
from tests.generation.hostile_server import HostileServer, says_or_streams, streams
from tests.generation.responses.test_generate_killed import SET_UP, generate
from tests.generation.responses.test_sampling import TEXT, make_benchmark, make_model, make_run
from tests.judging.runs.test_killed import python, wait_until

NOW = timezone.now()
RETRY = Retry(tries=3, first_wait=0.01, longest_wait=0.05, try_seconds=60.0)
PATIENT = WorkerOptions(retry=RETRY)
LOOK = """
import django; django.setup()
from django.db.models import F, Sum
from generation.models import GenerationRun, Response
run = GenerationRun.objects.get()
tokens = Response.objects.aggregate(n=Sum(F("tokens") + F("input_tokens")))["n"] or 0
print(run.public_id, run.status, run.items.filter(status="done").count(), tokens, run.shares.count(),
      run.items.exclude(leased_by="").count())
"""
PLAN = """
from generation.models import Endpoint, LanguageModel
from generation.responses.plan import GenerationRequest, plan_generation
from generation.llm.protocol.prices import Ceiling
endpoint = Endpoint.objects.create(workspace=benchmark.workspace, name="e", base_url="{url}")
model = LanguageModel.objects.create(workspace=benchmark.workspace, name="m", endpoint=endpoint)
print(plan_generation(GenerationRequest(benchmark, models=(model,), budget=Ceiling(calls={calls}))).public_id)
"""


def at(seconds=0):
    return lambda: NOW + timedelta(seconds=seconds)


def grant(*arguments, **options):
    """What was added to the share, None where the budget has no limit."""
    ceiling, added = reserve(*arguments, **options)
    return ceiling.limiting(added)


def good(request, n):
    return says_or_streams(request, TEXT, read=50, written=10)


def planned(budget=UNLIMITED, instructions=4):
    """A running run that nobody works on."""
    with HostileServer(good) as server:
        return make_run(make_benchmark(instructions), make_model(server), budget=budget)


def stored(run, count, *, tokens=0, money="0"):
    """So many answers as rows, without anybody's share."""
    for item in run.items.filter(status="waiting")[:count]:
        Response.objects.create(
            run=run, instruction=item.instruction, model=item.model, tokens=tokens, cost=Decimal(money)
        )
        run.items.filter(pk=item.pk).update(status="done", attempts=1)


# What workers set aside


@pytest.mark.django_db
def test_shares_never_come_to_more_than_the_budget_and_what_has_no_limit_is_set_aside_too():
    run = planned(Ceiling(calls=5, money=Decimal("1.00")))
    a = grant(run, "a", Spend(3, 900, Decimal("0.30")), at(), spent_of)
    b = grant(run, "b", Spend(3, 900, Decimal("0.90")), at(), spent_of)
    assert (a.calls, a.tokens, a.money) == (3, None, Decimal("0.30"))
    assert (b.calls, b.tokens, b.money) == (2, None, Decimal("0.70"))
    assert grant(run, "c", Spend(1, 0, Decimal(0)), at(), spent_of).calls == 0
    # A limit that is set only now finds what both have in hand: 2,000 - 900 - 900.
    raise_budget(run, Ceiling(tokens=2_000))
    assert grant(run, "c", Spend(1, 900, Decimal(0)), at(), spent_of).tokens == 200


@pytest.mark.django_db
def test_all_of_it_or_nothing_leaves_no_share_behind():
    run = planned(Ceiling(tokens=100))
    assert grant(run, "a", Spend(1, 101), at(), spent_of, whole=True).tokens == 0
    assert not run.shares.exists()
    assert grant(run, "a", Spend(1, 100), at(), spent_of, whole=True).tokens == 100


@pytest.mark.django_db
def test_what_was_spent_leaves_the_share_and_a_dearer_answer_leaves_nothing():
    run = planned(Ceiling(calls=5, tokens=1_000, money=Decimal("1")))
    grant(run, "a", Spend(3, 500, Decimal("0.5")), at(), spent_of)
    stored(run, 1, tokens=600, money="0.2")
    record_spending(run, "a", Spend(1, 600, Decimal("0.2")))
    share = run.shares.get(worker="a")
    assert (share.calls, share.tokens, share.money) == (2, 0, Decimal("0.3"))
    # 1,000 allowed, 600 stored, none held: 400 are free.
    assert grant(run, "b", Spend(9, 900, Decimal(9)), at(), spent_of) == Ceiling(2, 400, Decimal("0.5"))
    end_reservation(run, "a")
    end_reservation(run, "b")
    assert not has_reservations(run, at())


@pytest.mark.django_db
def test_the_share_of_a_worker_that_died_comes_free_with_its_lease_or_at_once_on_its_own_machine():
    run = planned(Ceiling(calls=5))
    grant(run, "elsewhere:1:x", Spend(5), at(), spent_of)
    assert grant(run, "b", Spend(5), at(), spent_of).calls == 0
    end_reservation(run, "b")
    assert grant(run, "b", Spend(5), at(LEASE.total_seconds() + 1), spent_of).calls == 5
    end_reservation(run, "b")
    ended = subprocess.Popen(["true"])
    ended.wait()
    place, mine, draw = new_worker_name().split(":")
    grant(run, f"{place}:{ended.pid}:{draw}", Spend(3), at(), spent_of)
    grant(run, f"{place}:{mine}:{draw}", Spend(1), at(), spent_of)
    release_dead(run, at())
    assert [share.worker for share in run.shares.all()] == [f"{place}:{mine}:{draw}"]


# One worker's budget


@pytest.mark.django_db
def test_a_purse_holds_what_is_in_hand_and_lets_go_of_what_it_spared():
    run = planned(Ceiling(tokens=1_000))
    budget = WorkerBudget(run, "a", at(), spent_of)
    assert budget.allowed == Ceiling(tokens=0)
    budget.reserve(Spend(2, 800))
    assert (budget.allowed, run.shares.get().tokens) == (Ceiling(tokens=800), 800)
    # One of the two calls cost 100 of its 400: 400 stay for the other, 300 are there for others.
    budget.release_surplus(Spend(1, 400), Spend(1, 100))
    assert budget.allowed == Ceiling(tokens=500)
    stored(run, 1, tokens=100)
    budget.spend(Spend(1, 100))
    assert run.shares.get().tokens == 400
    assert grant(run, "b", Spend(1, 900), at(), spent_of).tokens == 500
    budget.reserve(Spend(2, 800))
    assert budget.allowed == Ceiling(tokens=500)


@pytest.mark.django_db
def test_a_lower_budget_stops_a_purse_only_where_it_is_below_what_is_set_aside():
    run = planned(Ceiling(calls=9))
    budget = WorkerBudget(run, "a", at(), spent_of)
    budget.reserve(Spend(4))
    for ceiling, stops in ((Ceiling(calls=5), False), (Ceiling(calls=9), False), (Ceiling(calls=3), True)):
        raise_budget(run, ceiling)
        budget.update_limit(ceiling)
        assert budget.lowered is stops
    assert budget.allowed.crossed_by(Spend(1))
    assert not budget.reopen(Spend(4))
    assert budget.reopen(Spend(3))
    assert not budget.allowed.crossed_by(Spend(3))


@pytest.mark.django_db
def test_a_limit_set_where_there_was_none_stops_what_was_set_aside_ahead_and_holds_from_then_on():
    run = planned()
    budget = WorkerBudget(run, "a", at(), spent_of)
    budget.reserve(Spend(2, 100))
    assert budget.allowed == UNLIMITED
    raise_budget(run, Ceiling(calls=3))
    # As a worker does once a second. It holds more than the three by now, so it sends nothing more, ...
    budget.update_limit(Ceiling(calls=3))
    assert budget.lowered
    assert budget.allowed == Ceiling(calls=0)
    # ... and what it had in hand having come back, it begins again under the limit.
    budget.start_over()
    budget.reserve(Spend(4, 200))
    assert budget.allowed == Ceiling(calls=3)


@pytest.mark.django_db
def test_while_there_is_plenty_more_is_set_aside_at_once_than_is_asked_for():
    run = planned(Ceiling(calls=100, tokens=10_000))
    budget = WorkerBudget(run, "a", at(), spent_of)
    # 40 times 2 calls and 40 times 100 tokens are there: 20 times as much is set aside.
    budget.reserve(Spend(2, 100))
    assert budget.allowed == Ceiling(calls=40, tokens=2_000)
    # With one call in hand what was set aside ahead, 38 calls, is kept, and nothing is asked for again.
    budget.release_surplus(Spend(1, 50), NOTHING)
    budget.reserve(Spend(30, 1_500))
    assert run.shares.get().calls == 39
    # 61 calls are left, 2 x 2 times 13 are there, 2 x 5 times are not: twice what lacks, of which 13 are kept ahead.
    budget.reserve(Spend(52, 1_500))
    assert budget.allowed == Ceiling(calls=65, tokens=1_950)
    budget.release_surplus(Spend(5, 250), NOTHING)
    assert budget.allowed == Ceiling(calls=18, tokens=250)
    # 82 calls are left, 2 x 2 times 22 are not: only what lacks is set aside, and then nothing is kept ahead.
    budget.reserve(Spend(40, 250))
    assert budget.allowed == Ceiling(calls=40, tokens=250)
    budget.release_surplus(Spend(5, 250), NOTHING)
    assert budget.allowed == Ceiling(calls=5, tokens=250)


@pytest.mark.django_db
def test_the_longer_counting_takes_the_more_is_set_aside_at_once(monkeypatch):
    """As of a run with millions of replies, all of which are counted while other workers wait."""
    seconds = iter((0.0, 0.5))
    monkeypatch.setattr("generation.execution.budget.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    run = planned(Ceiling(calls=100_000))
    _ceiling, added = reserve(run, "a", Spend(10), at(), spent_of, ahead=20)
    # Ten times as long as counts as cheap: 200 times as much.
    assert added == Spend(2_000)


@pytest.mark.django_db
def test_nothing_is_sent_on_a_share_that_ran_out():
    run = planned(Ceiling(calls=9))
    budget = WorkerBudget(run, "a", at(), spent_of)
    budget.reserve(Spend(4))
    grant(run, "b", Spend(1), at(LEASE.total_seconds() + 1), spent_of)
    budget.renew()
    assert budget.lowered and budget.allowed.crossed_by(Spend(1))


# A whole run


@pytest.mark.django_db
def test_two_endpoints_are_asked_at_once_under_one_budget():
    both = threading.Barrier(2, timeout=60)

    def play(request, n):
        if n == 0:
            both.wait()
        return good(request, n)

    with HostileServer(play) as server, HostileServer(play) as other:
        models = [make_model(server, "a"), make_model(other, "b", at="other")]
        run = make_run(make_benchmark(5), *models, budget=Ceiling(calls=7))
        assert work_on(run, options=PATIENT).status == "paused"
        assert len(server.requests) + len(other.requests) == 7
    assert not run.shares.exists()


@pytest.mark.django_db
def test_what_one_endpoint_spares_goes_to_the_other():
    """Each call may cost over 1,000 tokens and costs 60, so that the run is done with what was set aside by turns."""
    with HostileServer(good) as server, HostileServer(good) as other:
        models = [make_model(server, "a"), make_model(other, "b", at="other")]
        run = make_run(make_benchmark(8), *models, budget=Ceiling(tokens=2_500), parameters={"max_tokens": 1_000})
        run = work_on(run, options=PATIENT)
    assert run.status == "finished"
    progress = progress_of(run, clock=timezone.now)
    assert progress.input_tokens + progress.output_tokens == 16 * 60 <= 2_500


@pytest.mark.django_db
def test_a_budget_of_money_stops_before_a_call_that_might_cross_it():
    # A call may cost 1,000 tokens at 1,000 a million = 1.00 and costs 10 of them = 0.01.
    with HostileServer(good) as server:
        model = make_model(server, output_price=Decimal(1_000), max_concurrent=2)
        run = make_run(
            make_benchmark(20), model, budget=Ceiling(money=Decimal("1.05")), parameters={"max_tokens": 1_000}
        )
        run = work_on(run, options=PATIENT)
    # 0.05 is spent after five calls: a sixth fits below 1.05, a seventh does not.
    assert run.status == "paused" and "might exceed the budget" in run.message
    assert (len(server.requests), spent_of(run).money) == (6, Decimal("0.06"))


@pytest.mark.django_db
def test_a_dear_call_that_does_not_fit_ends_the_shift_instead_of_being_tried_for_ever():
    with HostileServer(good) as server:
        models = [
            make_model(server, "small", model={"parameters": {"max_tokens": 100}}),
            make_model(server, "large", model={"parameters": {"max_tokens": 5_000}}),
        ]
        run = make_run(make_benchmark(3), *models, budget=Ceiling(tokens=1_000))
        run = work_on(run, options=PATIENT)
    assert run.status == "paused"
    assert 0 < len(server.requests) <= 3


@pytest.mark.django_db
def test_a_budget_raised_while_the_run_goes_on_lets_it_finish():
    with HostileServer(lambda request, n: streams(TEXT, read=50, written=10, seconds=0.3)) as server:
        run = make_run(make_benchmark(12), make_model(server, max_concurrent=2), budget=Ceiling(calls=6))

        def watch():
            now = GenerationRun.objects.get(pk=run.pk)
            if server.requests and now.budget_calls == 6:
                raise_budget(now, Ceiling(calls=50))

        done = work_on(run, options=WorkerOptions(watch=watch, retry=RETRY))
    assert (done.status, len(server.requests)) == ("finished", 12)


@pytest.mark.django_db
@pytest.mark.parametrize("before", [Ceiling(calls=40), UNLIMITED])
def test_a_budget_lowered_while_the_run_goes_on_stops_all_that_is_not_on_its_way(before):
    with HostileServer(lambda request, n: streams(TEXT, read=50, written=10, seconds=0.4)) as server:
        run = make_run(make_benchmark(20), make_model(server, max_concurrent=3), budget=before)
        sent = []

        def watch():
            if len(server.requests) >= 4 and not sent:
                raise_budget(GenerationRun.objects.get(pk=run.pk), Ceiling(calls=4))
                sent.append(len(server.requests))

        done = work_on(run, options=WorkerOptions(watch=watch, retry=RETRY))
    assert done.status == "paused" and "budget" in done.message
    # What was on its way is stored; while the worker looks, the next of its three slots may still be filled.
    assert len(server.requests) == done.items.filter(status="done").count() <= sent[0] + 3
    assert not done.shares.exists() and not done.items.exclude(leased_by="").exists()


@pytest.mark.django_db
def test_another_worker_still_at_it_keeps_the_run_from_being_paused():
    run = planned(Ceiling(calls=2))
    with HostileServer(good) as server:
        run.items.first().model.endpoint.__class__.objects.update(base_url=server.base_url)
        grant(run, "elsewhere:1:x", Spend(2), timezone.now, spent_of)
        assert work_on(run, options=PATIENT).status == "running"
        assert server.requests == []
        end_reservation(run, "elsewhere:1:x")
        assert work_on(run, options=PATIENT).status == "paused"
        assert len(server.requests) == 2


# Processes


def finished(processes, seconds=200):
    for process in processes:
        shown, _ = process.communicate(timeout=seconds)
        assert process.returncode == 0, shown


def test_two_processes_share_a_budget_and_a_command_raises_it(tmp_path):
    with HostileServer(lambda request, n: streams("A river ran.", seconds=0.5)) as server:
        (run,) = python(SET_UP + PLAN.format(url=server.base_url, calls=20), tmp_path)
        finished([generate(tmp_path, "--resume", run, "--concurrency", "3") for _ in range(2)])
        assert len(server.requests) == 20
        assert server.most_at_once > 3, "only one of the two had work"
        assert python(LOOK, tmp_path) == [run, "paused", "20", str(20 * 120), "0", "0"]
        finished([generate(tmp_path, "--resume", run, "--budget-calls", "30")])
        assert python(LOOK, tmp_path) == [run, "finished", "30", str(30 * 120), "0", "0"]
        assert len(server.requests) == 30


def test_what_a_killed_process_had_set_aside_is_there_for_the_next(tmp_path):
    python(SET_UP, tmp_path)
    with HostileServer(lambda request, n: streams("A river ran.", seconds=0.3)) as server:
        process = generate(
            *(tmp_path, "essays", "--model", "m", "--base-url", server.base_url),
            *("--concurrency", "4", "--budget-calls", "30"),
        )
        wait_until(lambda: len(server.requests) >= 6, process)
        process.kill()
        process.communicate()
        run, status, done, _tokens, shares, _held = python(LOOK, tmp_path)
        assert (status, shares) == ("running", "1") and int(done) < 30
        finished([generate(tmp_path, "--resume", run)])
        # A call that died with its process was never stored, so it is not counted and all 30 are written.
        assert python(LOOK, tmp_path) == [run, "finished", "30", str(30 * 120), "0", "0"]

"""An endpoint's limit of calls at once holds over all workers, also where some die, and its slots go round."""

import asyncio
from datetime import timedelta

import pytest
from django.utils import timezone

from generation.execution import endpoint_slots
from generation.execution.endpoint_slots import Slots, fair_parts
from generation.execution.engine import CallSlots
from generation.execution.leases import LEASE
from generation.models import Endpoint, EndpointSlots
from tests.factories import make_workspace


class Clock:
    def __init__(self):
        self.now = timezone.now()

    def __call__(self):
        return self.now

    def after(self, seconds):
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(endpoint_slots, "LOOK_SECONDS", -1.0)
    return Clock()


@pytest.fixture
def endpoint(db):
    return Endpoint.objects.create(workspace=make_workspace(), name="e", max_concurrent=32)


def at_work(endpoint, clock, busy=True):
    """A worker that would use all slots that it gets."""
    slots = Slots(None, clock)
    own = slots.of(endpoint)

    def look():
        own.has_waited = busy
        slots.look()
        slots.apply()
        own.in_use = own.limit if busy else 0
        own.most_in_use = own.in_use
        return own.limit

    return slots, own, look


@pytest.mark.parametrize(
    ("limit", "wanted", "parts"),
    [
        (32, [32], [32]),
        (32, [16, 16], [16, 16]),
        (32, [32, 32], [16, 16]),
        (32, [4, 32, 32], [4, 14, 14]),
        (5, [3, 3, 3], [2, 2, 1]),
        (2, [8, 8, 8], [1, 1, 0]),
        (0, [8], [0]),
    ],
)
def test_slots_are_divided_fairly(limit, wanted, parts):
    names = {str(n): number for n, number in enumerate(wanted)}
    assert list(fair_parts(limit, names).values()) == parts


def test_workers_together_never_hold_more_than_the_endpoint_takes(endpoint, clock):
    workers = [at_work(endpoint, clock) for _ in range(3)]
    assert workers[0][2]() == 32
    for _ in range(8):
        for _slots, _own, look in workers:
            look()
            assert sum(own.in_use for _s, own, _l in workers) <= 32
            assert sum(EndpointSlots.objects.values_list("held", flat=True)) <= 32
        clock.after(0.5)
    assert sorted(own.limit for _s, own, _l in workers) == [10, 11, 11]
    workers[0][0].release()
    for _ in range(3):
        workers[1][2](), workers[2][2]()
    assert [own.limit for _s, own, _l in workers[1:]] == [16, 16]


def test_calls_under_way_keep_their_slots_until_they_end(endpoint, clock):
    first, second = at_work(endpoint, clock), at_work(endpoint, clock)
    first[2]()
    own = first[1]
    assert second[2]() == 0
    first[0].look()
    first[0].apply()
    assert own.limit == 16 and own.in_use == 32
    assert second[2]() == 0
    own.in_use = own.most_in_use = 20
    own.has_waited = True
    first[0].look()
    assert second[2]() == 12


def test_what_a_worker_does_not_use_goes_to_another(endpoint, clock):
    idle, busy = at_work(endpoint, clock, busy=False), at_work(endpoint, clock)
    idle[2]()
    for _ in range(12):
        busy[2](), idle[2]()
    assert busy[1].limit >= 30 and busy[1].limit + idle[1].limit <= 32


def test_slots_of_a_dead_worker_are_free_when_its_lease_ends(endpoint, clock):
    died, lives = at_work(endpoint, clock), at_work(endpoint, clock)
    died[2]()
    EndpointSlots.objects.update(worker="elsewhere:1:a")
    assert lives[2]() == 0
    clock.after(LEASE.total_seconds() + 1)
    assert lives[2]() == 32


def test_slots_of_a_worker_that_ended_on_this_machine_are_free_at_once(endpoint, clock, monkeypatch):
    died, lives = at_work(endpoint, clock), at_work(endpoint, clock)
    died[2]()
    monkeypatch.setattr(endpoint_slots, "ended_here", lambda names: [died[0]._name])
    assert lives[2]() == 32


def test_one_slot_goes_round(endpoint, clock):
    Endpoint.objects.update(max_concurrent=1)
    endpoint.refresh_from_db()
    workers = [at_work(endpoint, clock) for _ in range(3)]
    had = [0, 0, 0]
    for _ in range(200):
        for n, (_slots, _own, look) in enumerate(workers):
            had[n] += look()
            assert sum(own.in_use for _s, own, _l in workers) <= 1
        clock.after(0.5)
    assert min(had) >= 40


def test_a_stopped_engine_does_not_wait_for_slots_that_others_hold():
    async def meet():
        slots, mine, other = CallSlots(0), object(), object()
        waits = [asyncio.create_task(slots.acquire(owner)) for owner in (mine, other)]
        await asyncio.sleep(0)
        slots.dismiss(mine)
        assert await waits[0] is False
        slots.set_limit(1)
        assert await waits[1] is True
        third = asyncio.create_task(slots.acquire(mine))
        await asyncio.sleep(0)
        third.cancel()
        await asyncio.gather(third, return_exceptions=True)
        slots.release()
        assert slots.in_use == 0 and await slots.acquire()

    asyncio.run(meet())

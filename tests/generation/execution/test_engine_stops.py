"""Why an engine stops, what a refusal that does not stop it waits for, and how long it waits to try again."""

import pytest

from generation.execution.engine import BUDGET_REACHED, STOPPED, Call, Failed, Retried, Retry
from tests.generation.execution.test_engine import Later, Unwanted, everything, fails, make_engine, play, refuses, takes


def test_the_first_reason_to_stop_stands():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.stop(BUDGET_REACHED)
        engine.stop(STOPPED)
        assert engine.stopped == BUDGET_REACHED

    play(scenario)


def test_a_refusal_is_told_as_soon_as_another_call_is_answered_however_long_the_rest_take():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("refused", refuses(timeline, 1)))
        engine.submit(Call("good", takes(timeline, 2)))
        engine.submit(Call("slow", takes(timeline, 100)))
        await timeline.run(3)
        told = {outcome.key: outcome for outcome in await engine.finished(1.0)}
        assert set(told) == {"refused", "good"}
        assert isinstance(told["refused"], Failed) and isinstance(told["refused"].error, Unwanted)
        assert not told["refused"].fatal
        assert not engine.stopped
        await engine.cancel()

    play(scenario)


@pytest.mark.parametrize(
    ("tries", "draw", "seconds"), [(1, 0.0, 1), (1, 1.0, 2), (3, 0.5, 6), (5, 0.0, 5), (99, 1.0, 10)]
)
def test_the_wait_doubles_to_the_longest_and_half_of_it_is_drawn(tries, draw, seconds):
    assert Retry(first_wait=2.0, longest_wait=10.0).wait(tries, draw) == seconds


def test_the_wait_that_the_other_side_asked_for_is_told():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("a", fails([Later(7)])))
        (told, _answered) = await everything(engine, timeline)
        assert isinstance(told, Retried) and told.wait == 7

    play(scenario)


def test_what_is_in_hand_is_on_its_way_or_not_taken_yet():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("quick", takes(timeline, 1)))
        engine.submit(Call("slow", takes(timeline, 10)))
        await timeline.run(2)
        assert engine.in_hand == 2
        await engine.finished(1.0)
        assert engine.in_hand == 1
        await timeline.run(20)
        await engine.finished(1.0)
        assert engine.in_hand == 0

    play(scenario)

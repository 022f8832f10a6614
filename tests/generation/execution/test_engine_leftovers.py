"""An engine leaves nothing behind: no task that waits on, no call that holds on, no turns it does not use."""

import asyncio

import pytest

from generation.execution.engine import STOPPED, Answered, Call, Withheld
from generation.llm.protocol.call_limits import Pace
from generation.llm.protocol.prices import Spend
from tests.generation.execution.test_engine import Busy, SharedRateLimit, everything, fails, make_engine, play, takes


def still_running():
    return asyncio.all_tasks() - {asyncio.current_task()}


def test_nothing_runs_on_once_a_call_was_tried_again_and_answered():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("a", fails([Busy(), Busy()])))
        assert isinstance((await everything(engine, timeline))[-1], Answered)
        assert not still_running()

    play(scenario)


def test_a_stop_leaves_no_wait_behind():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("a", fails([Busy()])))
        await timeline.run(0.1)
        engine.stop()
        await timeline.run(0.2)
        assert (await engine.finished(1.0))[-1] == Withheld("a", STOPPED)
        assert not still_running()

    play(scenario)


def test_cancelling_waits_until_every_call_has_let_go_and_sends_no_other():
    async def scenario(timeline):
        engine, log = make_engine(timeline), []

        async def send():
            try:
                await timeline.sleep(100)
            finally:
                log.append("let go")

        engine.submit(Call("a", send))
        await timeline.run(1)
        await engine.cancel()
        assert log == ["let go"]
        engine.submit(Call("b", takes(timeline, 1, log=log)))
        assert await everything(engine, timeline) == [Withheld("b", STOPPED)]
        assert log == ["let go"]

    play(scenario)


def test_calls_that_wait_for_one_claim_take_their_turns_from_it():
    class Elsewhere(SharedRateLimit):
        async def claim(self, seconds):
            await asyncio.sleep(0)
            return await super().claim(seconds)

    async def scenario(timeline):
        rate_limit = Elsewhere(timeline)
        engine = make_engine(timeline, pace=Pace(tokens_per_minute=60_000), rate_limit=rate_limit)
        for key in range(4):
            engine.submit(Call(key, takes(timeline, 0.05), reserve=Spend(tokens=100)))
        await timeline.run(10)
        assert sum(rate_limit.claims) == pytest.approx(0.4)
        assert len(rate_limit.claims) == 2, "the first for itself, the second for all that wait by then"

    play(scenario)


def test_a_call_that_comes_alone_claims_the_turn_of_one():
    async def scenario(timeline):
        rate_limit = SharedRateLimit(timeline)
        engine = make_engine(timeline, pace=Pace(requests_per_minute=600), rate_limit=rate_limit)
        for key in range(3):
            engine.submit(Call(key, takes(timeline, 0.05)))
            await timeline.run(timeline.now + 10)
        assert rate_limit.claims == pytest.approx([0.1] * 3)

    play(scenario)

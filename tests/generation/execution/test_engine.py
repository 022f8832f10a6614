"""The engine under a clock of its own: time passes only when everything waits."""

import asyncio
import itertools
from decimal import Decimal

import pytest

from generation.execution.engine import BUDGET_REACHED, FATAL, Answered, Call, Engine, Failed, Retried, Retry, Withheld
from generation.llm.protocol.call_limits import CallFailed, Pace
from generation.llm.protocol.prices import UNLIMITED, Budget, Ceiling, Prices, Spend


class Busy(CallFailed):
    retryable = True


class Later(CallFailed):
    retryable = patient = True

    def __init__(self, seconds):
        super().__init__("later")
        self.retry_after = seconds


class Forbidden(CallFailed):
    fatal = True


class Unwanted(CallFailed):
    doubtful = True


class Timeline:
    """A clock whose time passes by sleeping; sleepers wake in order."""

    def __init__(self):
        self.now = 0.0
        self._waiting = []
        self._count = itertools.count()

    def clock(self):
        return self.now

    async def sleep(self, seconds):
        woken = asyncio.get_running_loop().create_future()
        self._waiting.append((self.now + seconds, next(self._count), woken))
        await woken

    async def run(self, until):
        """Lets everything happen up to the given time."""
        while True:
            for _ in range(60):
                await asyncio.sleep(0)
            waiting = sorted(entry for entry in self._waiting if not entry[2].done())
            if not waiting or waiting[0][0] > until:
                self.now = until
                return
            self.now = waiting[0][0]
            waiting[0][2].set_result(None)


def make_engine(
    timeline, *, concurrency=4, ceiling=UNLIMITED, retry=None, pace=None, rate_limit=None, log=None, proven=False
):
    return Engine(
        concurrency=concurrency,
        budget=Budget(ceiling),
        retry=retry or Retry(tries=3, first_wait=1.0, longest_wait=8.0),
        clock=timeline.clock,
        sleep=timeline.sleep,
        draw=lambda: 0.0,
        proven=proven,
        pace=pace,
        rate_limit=rate_limit,
        log=log,
    )


def takes(timeline, seconds, result="done", log=None):
    async def send():
        if log is not None:
            log.append(timeline.now)
        await timeline.sleep(seconds)
        return result

    return send


def fails(errors, result="done", log=None, timeline=None):
    left = list(errors)

    async def send():
        if log is not None:
            log.append(timeline.now)
        if left:
            raise left.pop(0)
        return result

    return send


def refuses(timeline, seconds):
    async def send():
        await timeline.sleep(seconds)
        raise Unwanted("400")

    return send


async def everything(engine, timeline, until=10_000.0):
    await timeline.run(until)
    return await engine.finished(1.0)


def play(scenario):
    asyncio.run(scenario(Timeline()))


def test_never_more_at_once_than_allowed_and_the_slots_stay_full():
    async def scenario(timeline):
        running, most = 0, 0

        async def send():
            nonlocal running, most
            running += 1
            most = max(most, running)
            await timeline.sleep(10)
            running -= 1

        engine = make_engine(timeline, concurrency=3)
        for key in range(9):
            engine.submit(Call(key, send))
        await timeline.run(25)
        assert most == 3
        assert len(await engine.finished(1)) == 6
        assert engine.in_hand == 3
        await timeline.run(30)
        assert len(await engine.finished(1)) == 3
        assert engine.in_hand == 0

    play(scenario)


def test_a_slow_call_delays_nobody_and_results_come_as_they_finish():
    async def scenario(timeline):
        engine = make_engine(timeline, concurrency=2)
        engine.submit(Call("slow", takes(timeline, 100)))
        for key in range(5):
            engine.submit(Call(key, takes(timeline, 1)))
        await timeline.run(5)
        assert [outcome.key for outcome in await engine.finished(1)] == [0, 1, 2, 3, 4]

    play(scenario)


def test_a_failed_try_comes_again_after_a_doubling_wait_without_holding_a_slot():
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=1)
        engine.submit(Call("a", fails([Busy("x"), Busy("y")], log=log, timeline=timeline)))
        engine.submit(Call("b", takes(timeline, 0.1)))
        outcomes = await everything(engine, timeline)
        # Half of 1 s, then half of 2 s, since the drawn half is 0; b was done while a waited.
        assert log == [0.0, 0.5, 1.5]
        assert [type(outcome) for outcome in outcomes] == [Retried, Answered, Retried, Answered]
        assert outcomes[-1].key == "a"
        assert outcomes[-1].tries == 3

    play(scenario)


def test_after_the_last_try_it_has_failed_and_what_is_not_retryable_fails_at_once():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("often", fails([Busy("1"), Busy("2"), Busy("3"), Busy("4")])))
        engine.submit(Call("once", fails([CallFailed("no")])))
        outcomes = {o.key: o for o in await everything(engine, timeline) if isinstance(o, Failed)}
        assert (outcomes["often"].tries, str(outcomes["often"].error)) == (3, "3")
        assert outcomes["once"].tries == 1
        assert not engine.stopped

    play(scenario)


def test_retry_after_holds_every_call_and_costs_no_try():
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=1)
        engine.submit(Call("a", fails([Later(30)] * 5, log=log, timeline=timeline)))
        engine.submit(Call("b", fails([], log=log, timeline=timeline)))
        outcomes = await everything(engine, timeline)
        assert {o.key for o in outcomes if isinstance(o, Answered)} == {"a", "b"}
        assert log[0] == 0.0
        assert log[1] >= 30.0

    play(scenario)


def test_the_deadline_of_a_call_ends_its_retries():
    async def scenario(timeline):
        engine = make_engine(timeline, retry=Retry(tries=99, first_wait=1, longest_wait=60, call_seconds=100))
        engine.submit(Call("a", fails([Busy("x")] * 99)))
        outcomes = await everything(engine, timeline)
        assert isinstance(outcomes[-1], Failed)
        # Waits of .5, 1, 2, 4, 8, 16, 30 pass 61.5 s; the next of 30 would end at 91.5 and the one after beyond 100.
        assert outcomes[-1].tries == 9

    play(scenario)


def test_one_try_that_hangs_is_given_up():
    async def scenario(timeline):
        engine = make_engine(timeline, retry=Retry(tries=1, try_seconds=0.05))
        engine.submit(Call("a", lambda: asyncio.sleep(30)))
        (outcome,) = await engine.finished(2.0)
        assert isinstance(outcome, Failed)
        assert "0.05 seconds" in str(outcome.error)

    play(scenario)


def test_a_fatal_answer_stops_everything_that_was_not_sent():
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=1)
        engine.submit(Call("bad", fails([Forbidden("401")])))
        for key in range(3):
            engine.submit(Call(key, fails([], log=log, timeline=timeline)))
        outcomes = await everything(engine, timeline)
        assert engine.stopped == FATAL
        assert log == []
        assert [type(outcome) for outcome in outcomes] == [Failed, Withheld, Withheld, Withheld]

    play(scenario)


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_where_nothing_was_ever_answered_a_refusal_is_taken_for_all_and_nothing_more_is_sent(concurrency):
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=concurrency)
        for key in range(concurrency):
            engine.submit(Call(key, refuses(timeline, 1 + key)))
        for key in range(3):
            engine.submit(Call(f"later {key}", takes(timeline, 1, log=log)))
        outcomes = await everything(engine, timeline)
        assert engine.stopped == FATAL
        assert log == []
        assert [type(outcome) for outcome in outcomes] == [Failed] * concurrency + [Withheld] * 3
        assert all(outcome.fatal for outcome in outcomes[:concurrency])

    play(scenario)


def test_where_another_on_its_way_is_answered_a_refusal_concerns_its_own_call_alone():
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=2)
        engine.submit(Call("good", takes(timeline, 5, log=log)))
        engine.submit(Call("bad", fails([Unwanted("400")])))
        engine.submit(Call("next", takes(timeline, 1, log=log)))
        await timeline.run(4)
        # Nothing is sent, and nothing concluded, before the other one has come.
        assert len(log) == 1
        assert await engine.finished(0.001) == []
        outcomes = await everything(engine, timeline)
        assert engine.stopped == ""
        assert {outcome.key: type(outcome) for outcome in outcomes} == {
            "good": Answered,
            "bad": Failed,
            "next": Answered,
        }
        assert not next(outcome for outcome in outcomes if outcome.key == "bad").fatal

    play(scenario)


def test_where_calls_were_answered_before_a_refusal_stops_nothing():
    async def scenario(timeline):
        engine = make_engine(timeline, concurrency=1, proven=True)
        engine.submit(Call("bad", fails([Unwanted("400")])))
        engine.submit(Call("good", takes(timeline, 1)))
        outcomes = await everything(engine, timeline)
        assert [type(outcome) for outcome in outcomes] == [Failed, Answered]
        assert (outcomes[0].fatal, engine.stopped) == (False, "")

    play(scenario)


def test_a_stop_ends_the_wait_of_a_refusal_for_others():
    async def scenario(timeline):
        engine = make_engine(timeline, concurrency=2)
        engine.submit(Call("slow", takes(timeline, 50)))
        engine.submit(Call("bad", fails([Unwanted("400")])))
        await timeline.run(1)
        engine.stop()
        await timeline.run(2)
        assert [outcome.key for outcome in await engine.finished(1)] == ["bad"]

    play(scenario)


def test_the_longer_a_call_is_put_off_without_a_word_the_longer_it_waits():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("a", fails([Later(None)] * 1_100)))
        outcomes = await everything(engine, timeline, until=1_000)
        # Half of 1, 2, 4, 8 seconds and never more than 8, as the draw is 0.
        assert [outcome.wait for outcome in outcomes[:5]] == [0.5, 1.0, 2.0, 4.0, 4.0]
        assert isinstance(outcomes[-1], Retried)

    play(scenario)


def test_a_stop_wakes_calls_that_wait_to_be_tried_again():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("a", fails([Busy("x")])))
        await timeline.run(0.1)
        engine.stop()
        await timeline.run(0.2)
        outcomes = await engine.finished(1)
        assert [type(outcome) for outcome in outcomes] == [Retried, Withheld]

    play(scenario)


@pytest.mark.parametrize("concurrency", [1, 4, 50])
def test_the_budget_is_reserved_before_and_settled_after_a_call(concurrency):
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=concurrency, ceiling=Ceiling(tokens=100))
        for key in range(50):
            # Each may cost 40 and does cost 15: five fit (75 + 40 > 100).
            engine.submit(
                Call(key, takes(timeline, 1, log=log), Spend(1, 40), lambda _result: Spend(calls=1, tokens=15))
            )
        outcomes = await everything(engine, timeline)
        assert len(log) == 5
        assert engine.stopped == BUDGET_REACHED
        assert sum(isinstance(outcome, Withheld) for outcome in outcomes) == 45

    play(scenario)


def test_a_failed_call_gives_its_reservation_back_but_counts_as_a_call():
    async def scenario(timeline):
        engine = make_engine(timeline, concurrency=1, ceiling=Ceiling(calls=3))
        engine.submit(Call("a", fails([Busy("x"), Busy("y")]), Spend(1, 10)))
        engine.submit(Call("b", fails([]), Spend(1, 10)))
        outcomes = await everything(engine, timeline)
        kinds = {o.key: type(o) for o in outcomes if not isinstance(o, Retried)}
        # Three tries in all: b takes the second place while a waits; a's third try would be the fourth call.
        assert kinds == {"b": Answered, "a": Withheld}

    play(scenario)


def test_the_pace_spreads_calls_over_the_minute():
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=10, pace=Pace(requests_per_minute=30))
        for key in range(4):
            engine.submit(Call(key, fails([], log=log, timeline=timeline)))
        await everything(engine, timeline)
        assert log == [0.0, 2.0, 4.0, 6.0]
        # 600 tokens at 1,200 a minute are half a minute, which is longer than a request's 2 s.
        assert Pace(30, 1200).seconds_of(Spend(1, 600)) == 30

    play(scenario)


def test_cancelling_drops_what_is_on_its_way():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("a", takes(timeline, 100)))
        await timeline.run(1)
        await engine.cancel()
        assert await engine.finished(0.01) == []

    play(scenario)


def test_a_fault_of_the_caller_is_raised_and_not_swallowed():
    async def scenario(timeline):
        engine = make_engine(timeline)
        engine.submit(Call("a", fails([ZeroDivisionError("bug")])))
        with pytest.raises(ZeroDivisionError):
            await everything(engine, timeline)

    play(scenario)


def test_prices_are_of_a_million_tokens():
    assert Prices(Decimal("2.50"), Decimal(10)).cost(1000, 100) == Decimal("0.0035")


@pytest.mark.parametrize(
    ("spend", "crossed"),
    [
        (Spend(3, 9, Decimal(1)), ""),
        (Spend(4), "calls"),
        (Spend(0, 10), "tokens"),
        (Spend(0, 0, Decimal("1.01")), "money"),
    ],
)
def test_a_ceiling_says_which_limit_is_crossed(spend, crossed):
    assert Ceiling(3, 9, Decimal(1)).crossed_by(spend) == crossed
    assert UNLIMITED.crossed_by(spend) == ""


@pytest.mark.parametrize("ahead", [0, 2])
def test_what_is_on_its_way_and_what_is_not_stored_are_bounded_together(ahead):
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=3)
        engine.ahead = ahead
        for key in range(12):
            engine.submit(Call(key, takes(timeline, 10, log=log)))
        await timeline.run(100)
        assert len(log) == 3 + ahead
        outcomes = await engine.finished(1)
        assert len(outcomes) == 3 + ahead
        # Taken is not stored: a process that dies now has lost them all the same.
        await timeline.run(200)
        assert len(log) == 3 + ahead
        engine.stored([0, 1])
        await timeline.run(300)
        assert len(log) == 5 + ahead
        engine.stored(range(2, len(log)))
        await timeline.run(400)
        assert len(log) > 5 + ahead
        await engine.cancel()

    play(scenario)


def test_a_stop_wakes_calls_that_wait_for_the_storing_of_others():
    async def scenario(timeline):
        engine = make_engine(timeline, concurrency=1)
        engine.ahead = 0
        for key in range(3):
            engine.submit(Call(key, takes(timeline, 1)))
        await timeline.run(10)
        engine.stop()
        outcomes = await everything(engine, timeline)
        assert sorted(type(one).__name__ for one in outcomes) == ["Answered", "Withheld", "Withheld"]

    play(scenario)


def test_a_failed_call_is_nothing_to_store():
    async def scenario(timeline):
        engine = make_engine(timeline, concurrency=1)
        engine.ahead = 0
        engine.submit(Call("bad", fails([CallFailed("too long")])))
        engine.submit(Call("good", takes(timeline, 1)))
        outcomes = await everything(engine, timeline)
        assert [type(one).__name__ for one in outcomes] == ["Failed", "Answered"]

    play(scenario)


class SharedRateLimit:
    """An allowance as the database keeps it, on a timeline."""

    def __init__(self, timeline):
        self.timeline, self.opens_at, self.claims = timeline, 0.0, []

    async def claim(self, seconds):
        begins = max(self.opens_at, self.timeline.now)
        self.opens_at = begins + seconds
        self.claims.append(seconds)
        return begins - self.timeline.now

    async def hold(self, seconds):
        self.opens_at = max(self.opens_at, self.timeline.now + seconds)


def test_engines_that_share_turns_keep_the_pace_together_and_lose_nothing_of_it():
    async def scenario(timeline):
        rate_limit, log = SharedRateLimit(timeline), []
        engines = [
            make_engine(timeline, concurrency=4, pace=Pace(requests_per_minute=600), rate_limit=rate_limit)
            for _ in range(3)
        ]
        for engine in engines:
            for key in range(20):
                engine.submit(Call(key, takes(timeline, 0.05, log=log)))
        await timeline.run(5.95)
        # Ten a second in all: never eleven within a second, and after 6 seconds not much fewer than 60.
        for begun in log:
            assert sum(begun <= other < begun + 0.999 for other in log) <= 10
        assert 54 <= len(log) <= 60
        await timeline.run(20)
        assert len(log) == 60
        # Far fewer claims than calls: a claim is for what waits.
        assert len(rate_limit.claims) < 40

    play(scenario)


def test_a_machine_that_wakes_late_loses_little_of_its_turns():
    async def scenario(timeline):
        rate_limit, log = SharedRateLimit(timeline), []
        engine = make_engine(timeline, concurrency=2, pace=Pace(requests_per_minute=600), rate_limit=rate_limit)
        engine._sleep = lambda seconds: timeline.sleep(seconds + 0.03)
        for key in range(20):
            engine.submit(Call(key, takes(timeline, 0.01, log=log)))
        await timeline.run(3.5)
        assert len(log) == 20

    play(scenario)


def test_a_retry_after_is_told_to_those_who_share_the_turns():
    async def scenario(timeline):
        rate_limit, log = SharedRateLimit(timeline), []
        limit = Pace(requests_per_minute=6_000)
        told = make_engine(timeline, concurrency=1, pace=limit, rate_limit=rate_limit)
        told.submit(Call("a", fails([Later(30)])))
        await timeline.run(1)
        other = make_engine(timeline, concurrency=1, pace=limit, rate_limit=rate_limit)
        other.submit(Call("b", takes(timeline, 1, log=log)))
        await timeline.run(29)
        assert log == []
        await timeline.run(40)
        assert len(log) == 1 and log[0] >= 30

    play(scenario)


class Notes:
    """A keeper that notes what it was told, beside what the calls themselves log."""

    def __init__(self, log):
        self.log = log

    def append(self, key, result):
        self.log.append(("kept", key, result))

    def stored(self, keys):
        self.log.append(("stored", *keys))


def test_a_result_is_kept_before_another_call_is_sent_and_released_once_stored():
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=1, log=Notes(log))

        def call(key):
            async def send():
                log.append(("sent", key))
                await timeline.sleep(1)
                return f"answer {key}"

            return Call(key, send)

        for key in range(2):
            engine.submit(call(key))
        await timeline.run(10)
        assert log == [("sent", 0), ("kept", 0, "answer 0"), ("sent", 1), ("kept", 1, "answer 1")]
        await engine.finished(1)
        engine.stored([0, 1])
        engine.stored([])
        assert log[4:] == [("stored", 0, 1)]

    play(scenario)


def test_what_failed_is_not_kept():
    async def scenario(timeline):
        log = []
        engine = make_engine(timeline, concurrency=1, log=Notes(log))

        async def send():
            raise Forbidden("no")

        engine.submit(Call(1, send))
        await timeline.run(10)
        (outcome,) = await engine.finished(1)
        assert isinstance(outcome, Failed)
        assert log == []

    play(scenario)

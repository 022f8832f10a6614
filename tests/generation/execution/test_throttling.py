"""An endpoint that puts calls off, or is away for a while after it had answered: waited for, and said on the run's page."""

import asyncio
import socket
from datetime import timedelta

import pytest
from django.utils import timezone

from generation.execution.engine import Answered, Call, Failed, Retried
from generation.execution.states import pause_run
from generation.execution.throttling import NOTICE_AFTER, Throttling
from generation.llm.chat import OpenAIChat
from generation.llm.errors import RateLimited, Unreachable
from generation.llm.protocol.call_limits import CallFailed
from generation.llm.requests import Request
from generation.models import GenerationRun
from generation.responses.queue import GenerationQueue
from judging.models import JudgeRun
from judging.runs.queue import JudgeQueue
from tests.generation.execution.test_engine import everything, fails, make_engine, play, takes
from tests.generation.hostile_server import HERE, HostileServer, completion, says_or_streams
from tests.generation.responses.test_left_texts import started
from tests.judging.runs.test_runs import make_run


class Away(CallFailed):
    retryable = unsent = True


def test_an_endpoint_that_had_answered_and_is_away_is_waited_for():
    async def scenario(timeline):
        engine = make_engine(timeline, concurrency=1)
        engine.submit(Call("first", takes(timeline, 1)))
        await timeline.run(2)
        engine.submit(Call("second", fails([Away("refused")] * 20)))
        outcomes = await everything(engine, timeline)
        assert [one.key for one in outcomes if isinstance(one, Answered)] == ["first", "second"]
        assert all(one.error.patient for one in outcomes if isinstance(one, Retried))
        # What never reached it costs no call.
        assert engine._budget.spent.calls == 2

    play(scenario)


def test_an_endpoint_that_never_answered_is_given_up_soon():
    async def scenario(timeline):
        engine = make_engine(timeline, proven=True)
        engine.submit(Call("a", fails([Away("refused")] * 20)))
        outcomes = await everything(engine, timeline)
        assert isinstance(outcomes[-1], Failed) and outcomes[-1].tries == 3

    play(scenario)


@pytest.mark.parametrize("stall", [None, 5.0])
def test_a_connection_that_was_not_made_sent_nothing_and_one_that_broke_perhaps_did(stall):
    async def error_at(url):
        chat = OpenAIChat(base_url=url, key="k", timeout_seconds=5.0, reach=HERE)
        try:
            with pytest.raises(Unreachable) as raised:
                await chat.complete(Request("m", [{"role": "user", "content": "?"}], stall_seconds=stall))
        finally:
            await chat.close()
        return raised.value

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert asyncio.run(error_at(f"http://127.0.0.1:{bound.getsockname()[1]}/v1")).unsent
    with HostileServer(lambda request, n: says_or_streams(request, "A river.", cut=10)) as server:
        assert not asyncio.run(error_at(server.base_url)).unsent


class Clock:
    now = timezone.now()

    def __call__(self):
        return self.now


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["judging", "generation"])
def test_the_runs_page_says_that_calls_are_put_off_for_as_long_as_they_are(kind):
    clock = Clock()
    with HostileServer(lambda request, n: completion("x")) as server:
        if kind == "judging":
            run = make_run(server)
            queue = JudgeQueue(run, "w", clock)
        else:
            run = started(server)
            model = run.items.first().model
            queue = GenerationQueue(run, model.endpoint, "w", clock, models=(model.pk,))
    asked, _more = queue.next_calls(1)

    def message():
        run.refresh_from_db()
        return run.message

    def delayed():
        queue.take([Retried(asked[0].key, RateLimited("429: slow down"), 1.0)])
        assert queue.still_running()

    delayed()
    assert message() == ""
    clock.now += NOTICE_AFTER
    delayed()
    assert "delayed" in message() and message().endswith("429: slow down")
    queue.throttling.answered()
    queue.still_running()
    assert message() == ""
    delayed()
    clock.now += NOTICE_AFTER
    delayed()
    assert message() != ""
    queue.leave()
    assert message() == ""


@pytest.mark.django_db
def test_what_else_a_run_says_stays():
    clock = Clock()
    with HostileServer(lambda request, n: completion("x")) as server:
        run = started(server)
    model = run.items.first().model
    queue = GenerationQueue(run, model.endpoint, "w", clock, models=(model.pk,))
    queue.throttling.delayed("429")
    clock.now += NOTICE_AFTER + timedelta(seconds=1)
    queue.throttling.report()
    pause_run(run, "Over.", clock=clock)
    queue.leave()
    run.refresh_from_db()
    assert (run.status, run.message) == (GenerationRun.Status.PAUSED, "Over.")
    assert not JudgeRun.objects.exists()


@pytest.mark.django_db
def test_what_a_worker_said_that_was_killed_goes_with_the_next():
    clock = Clock()
    with HostileServer(lambda request, n: completion("x")) as server:
        run = started(server)
    Throttling(run, clock).report()
    dead, other = Throttling(run, clock), Throttling(run, clock)
    dead.delayed("429")
    clock.now += NOTICE_AFTER
    dead.report()
    run.refresh_from_db()
    assert run.message == "Calls are being delayed and will be sent again: 429"
    other.report()
    run.refresh_from_db()
    assert run.message == ""

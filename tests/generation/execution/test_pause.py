"""A pause sends nothing more, wherever a call waits; the page says how many calls are under way, and how long a rate
limit holds the next one back."""

import threading
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from generation.execution.engine import NEWS_SECONDS, Call, Retry, Traffic, Withheld
from generation.execution.messages import calls_in_words
from generation.execution.progress import CallsNow
from generation.execution.worker import LOOK_SECONDS, WorkerOptions
from generation.llm.protocol.call_limits import Pace
from generation.models import Endpoint, GenerationRun, LanguageModel, Response
from generation.responses import batch as batch_transport
from generation.responses.batch import advance
from generation.responses.worker import work_on as generate
from generation.web.responses.run_page import generation_panel
from judging.judges.making import create_judge, create_rule_judge
from judging.models import JudgeRun, Reply
from judging.runs.life_cycle import progress_of, start_run
from judging.runs.worker import work_on as judge
from judging.web.runs.run_page import run_panel
from tests.factories import plan_run
from tests.generation.execution.test_engine import Later, everything, make_engine, play, takes
from tests.generation.hostile_server import Act, HostileServer, fails, good_answer, says, says_or_streams
from tests.generation.responses.test_batch import BatchServer, make_run as make_batch_run
from tests.generation.responses.test_sampling import TEXT, make_benchmark, make_model, make_run as make_generation
from tests.judging.runs.test_methods_run import make_pair_study
from tests.judging.runs.test_runs import make_run, make_study

AT_ONCE = 3


class HeldServer(HostileServer):
    """Answers nobody before `release` is called."""

    def __init__(self, answer):
        self._released = threading.Event()
        self.release = self._released.set

        def held(request, n):
            assert self._released.wait(30)
            return answer(request)

        super().__init__(held)


class PausesWhenBusy:
    """As a shift's watch: pauses once `calls` have come, notes what the page says, and lets go after two more looks."""

    def __init__(self, server, run, calls, page):
        self.server, self.run, self.calls, self.page = server, run, calls, page
        self.looks = 0
        self.panels = []

    def __call__(self):
        if len(self.server.requests) < self.calls:
            return
        self.looks += 1
        if 1 < self.looks <= 4:
            self.run.refresh_from_db()
            self.panels.append(self.page(self.run, clock=timezone.now))
        if self.looks == 2:
            type(self.run).objects.filter(pk=self.run.pk).update(status="paused")
        if self.looks == 4:
            self.server.release()


def begun(kind, server):
    """A run of 12 calls, its worker and its page."""
    if kind == "judging":
        return make_run(server, make_study(instructions=6), max_concurrent=AT_ONCE), judge, run_panel
    model = make_model(server, max_concurrent=AT_ONCE)
    return make_generation(make_benchmark(12), model), generate, generation_panel


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["judging", "generation"])
def test_a_pause_sends_none_of_the_calls_in_the_queue_and_keeps_those_under_way(kind):
    answer = good_answer if kind == "judging" else lambda request: says_or_streams(request, TEXT)
    with HeldServer(answer) as server:
        run, work, page = begun(kind, server)
        watch = PausesWhenBusy(server, run, AT_ONCE, page)
        run = work(run, options=WorkerOptions(watch=watch))
    assert run.status == "paused"
    # What waited in the engine's queue when the run was paused was never sent.
    assert len(server.requests) == server.most_at_once == AT_ONCE
    kept = Reply.objects.filter(error="") if kind == "judging" else Response.objects.filter(run=run)
    assert kept.count() == AT_ONCE
    assert not run.items.exclude(leased_by="").exists()
    # More are in hand than the endpoint takes at once, so that a reply is followed by the next call.
    assert watch.panels[0].progress.busy > AT_ONCE
    assert {panel.progress.calls_now.under_way for panel in watch.panels} == {AT_ONCE}
    assert f"{AT_ONCE} calls were in progress" in watch.panels[-1].calls
    assert page(run, clock=timezone.now).progress.calls_now == CallsNow()


@pytest.mark.django_db
def test_two_judges_of_a_jury_at_one_endpoint_keep_to_its_limit_together():
    def slow(request, n):
        return Act(body=good_answer(request).body, seconds=0.05)

    with HostileServer(slow) as server:
        run = make_run(server, make_study(instructions=6), max_concurrent=2)
        run.delete()
        where = Endpoint.objects.get()
        jury = [
            create_judge(model=LanguageModel.objects.create(workspace=where.workspace, name=name, endpoint=where))
            for name in ("one", "two")
        ]
        run = plan_run(judge=jury[0], study=run.study, jurors=(jury[1],))
        start_run(run, clock=timezone.now)
        run = judge(run, options=WorkerOptions(concurrency=16))
    assert run.status == "finished"
    assert len(server.requests) == 24
    # Neither the jury's second engine nor a wish for more calls at once exceeds what the endpoint is said to take.
    assert server.most_at_once == 2


@pytest.mark.django_db
def test_a_likelihood_that_waits_for_a_rate_limit_is_not_sent_after_a_pause(monkeypatch):
    """A question there is four calls, of which the engine sends none itself."""
    monkeypatch.setattr("judging.judges.log_probabilities.LOOK_SECONDS", 0.05)
    study = make_pair_study(instructions=3)
    run_judge = create_rule_judge(workspace=study.workspace, method="perplexity")
    with HostileServer(lambda request, n: says("", read=3)) as server:
        # Two calls to a writer take two minutes of this allowance: the first pair is sent, the second waits.
        where = Endpoint.objects.create(
            workspace=study.workspace, name="writers", base_url=server.base_url, requests_per_minute=1
        )
        LanguageModel.objects.filter(name__startswith="writer").update(endpoint=where)
        run = plan_run(judge=run_judge, study=study)
        start_run(run, clock=timezone.now)
        said = []

        def watch():
            if server.requests:
                panel = run_panel(run, clock=timezone.now)
                if panel.calls:
                    said.append(panel)
                    JudgeRun.objects.filter(pk=run.pk).update(status="paused")

        began = time.monotonic()
        run = judge(run, options=WorkerOptions(watch=watch, seconds=120, retry=Retry(tries=1)))
    assert run.status == "paused"
    assert len(server.requests) <= 2
    assert time.monotonic() - began < 60
    assert said[0].progress.calls_now.under_way == 0
    assert "The next call is sent in" in said[0].calls


@pytest.mark.django_db
@pytest.mark.parametrize("moment", ["before the part is chosen", "before the file is sent", "after it was sent"])
def test_no_batch_is_begun_once_the_run_is_paused(monkeypatch, moment):
    with BatchServer() as server:
        run = make_batch_run(server)

        def pausing(whole):
            def paused(*given, **named):
                found = whole(*given, **named)
                GenerationRun.objects.filter(pk=run.pk).update(status="paused")
                return found

            return paused

        if moment == "before the part is chosen":
            monkeypatch.setattr(batch_transport, "models_of", pausing(batch_transport.models_of))
        elif moment == "before the file is sent":
            monkeypatch.setattr(batch_transport, "_next_part", pausing(batch_transport._next_part))
        else:
            asked = []

            def goes_on(found):
                asked.append(found)
                return server.uploads == 0

            monkeypatch.setattr(batch_transport, "_goes_on", goes_on)
        done = advance(run)
    assert (done.submitted, server.batches) == (0, {})
    assert server.uploads == (1 if moment == "after it was sent" else 0)
    assert not run.items.exclude(leased_by="").exists()


def test_nothing_is_sent_on_old_news_that_the_run_goes_on():
    """Where nobody could look for a while, as where the database is busy."""

    async def scenario(timeline):
        engine, sent = make_engine(timeline, concurrency=1), []
        engine.goes_on()
        for key in "abc":
            engine.submit(Call(key, takes(timeline, NEWS_SECONDS / 2 + 0.5, log=sent)))
        await timeline.run(4 * NEWS_SECONDS)
        assert len(sent) == 2  # the third would have gone out on news of more than two seconds
        engine.goes_on()
        await timeline.run(6 * NEWS_SECONDS)
        assert len(sent) == 3

        engine.submit(Call("d", takes(timeline, 1, log=sent)))
        await timeline.run(7 * NEWS_SECONDS)
        engine.stop()
        outcomes = await everything(engine, timeline)
        assert len(sent) == 3 and any(isinstance(one, Withheld) for one in outcomes)

    play(scenario)


def test_a_look_is_taken_at_least_twice_a_second():
    assert LOOK_SECONDS <= 0.5 < NEWS_SECONDS


def test_the_engine_says_how_long_a_rate_limit_holds_the_next_call_back():
    async def scenario(timeline):
        # One call a minute: after the first, the next waits for the limit that is set here.
        engine = make_engine(timeline, concurrency=2, pace=Pace(requests_per_minute=1))
        for key in "ab":
            engine.submit(Call(key, takes(timeline, 1)))
        await timeline.run(0.5)
        assert engine.traffic == Traffic(under_way=1, wait=59.5, asked=False)
        await timeline.run(20)
        assert engine.traffic == Traffic(under_way=0, wait=40, asked=False)
        await engine.cancel()

        asked = make_engine(timeline, concurrency=2)

        async def later():
            raise Later(30)

        for key in "ab":
            asked.submit(Call(key, later))
        begun = timeline.now
        await timeline.run(begun + 10)
        assert asked.traffic == Traffic(under_way=0, wait=20, asked=True)
        asked.stop()
        assert asked.traffic == Traffic()
        await asked.cancel()

    play(scenario)


@pytest.mark.django_db
def test_the_page_says_that_an_endpoint_asked_to_wait_and_for_how_long():
    def busy(request, n):
        return fails(429, "slow down", Retry_After="90")

    with HostileServer(busy) as server:
        run = make_run(server, max_concurrent=2)
        said = []

        def watch():
            if words := run_panel(run, clock=timezone.now).calls:
                said.append(words)
                JudgeRun.objects.filter(pk=run.pk).update(status="paused")

        run = judge(run, options=WorkerOptions(watch=watch))
    assert run.status == "paused"
    assert "asked Plumbline to wait" in said[0]
    assert any(f"in {n} seconds." in said[0] for n in range(60, 91))
    # The two that were refused were the last: nothing went out while the run waited, or after it was paused.
    assert len(server.requests) <= 2
    assert progress_of(run, clock=timezone.now).waiting == 8


@pytest.mark.parametrize(
    ("status", "now", "said"),
    [
        ("running", CallsNow(3), ""),
        ("running", CallsNow(0, timezone.now() + timedelta(seconds=42), True), "in 42 seconds"),
        ("running", CallsNow(0, timezone.now() + timedelta(seconds=600), False), "in 10 minutes"),
        ("paused", CallsNow(1), "1 call was in progress"),
        ("paused", CallsNow(), ""),
    ],
)
def test_what_is_said_of_calls(status, now, said):
    at = now.next_call_at
    clock = (lambda: at - timedelta(seconds=42 if "42" in said else 600)) if at else timezone.now
    words = calls_in_words(status, now, clock=clock)
    assert said in words and bool(said) == bool(words)

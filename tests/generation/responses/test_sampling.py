"""A whole generation run against a real socket: what is planned, sent, stored and counted, and what goes wrong."""

import threading
import time
from decimal import Decimal

import pytest
from django.db import IntegrityError
from django.utils import timezone

from accounts.models import Event
from generation.execution.engine import Retry
from generation.execution.work_queue import REFUSED_IN_A_ROW
from generation.execution.worker import WorkerOptions
from generation.library.search import note_texts
from generation.llm.protocol.prices import UNLIMITED, Ceiling, Prices, Spend
from generation.llm.requests import Reply
from generation.models import (
    Benchmark,
    Category,
    Endpoint,
    GenerationRun,
    Instruction,
    LanguageModel,
    Response,
    SurplusReply,
)
from generation.responses.plan import GenerationRequest, NothingToGenerate, plan_generation
from generation.responses.recording import record_response, spent_of
from generation.responses.runs import NotPossible, cancel_run, pause_run, progress_of, retry_failed, start_run
from generation.responses.worker import work_on
from generation.tasks import sweep
from tests.factories import make_workspace
from tests.generation.hostile_server import HostileServer, fails, says_or_streams, streams

pytestmark = pytest.mark.django_db
QUICK = WorkerOptions(retry=Retry(tries=3, first_wait=0.01, longest_wait=0.05, try_seconds=5.0))
TEXT = "A river ran past the house. It was early."


def make_benchmark(instructions=3, slug="essays", **fields):
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug=slug)
    for number in range(instructions):
        Instruction.objects.create(
            benchmark=benchmark,
            external_id=f"{slug}-{number}",
            messages=[{"role": "user", "content": f"Write about topic {number}."}],
            **fields,
        )
    note_texts(benchmark.instructions.all())
    return benchmark


def make_model(server, name="m", *, model=None, **endpoint):
    workspace = make_workspace()
    where, _ = Endpoint.objects.get_or_create(
        workspace=workspace, name=endpoint.pop("at", "local"), defaults={"base_url": server.base_url, **endpoint}
    )
    return LanguageModel.objects.create(workspace=workspace, name=name, endpoint=where, **(model or {}))


def make_run(benchmark, *models, budget=UNLIMITED, **wanted):
    run = plan_generation(GenerationRequest(benchmark, models=models, **wanted, budget=budget))
    start_run(run, clock=timezone.now)
    return run


def good(request, n):
    return says_or_streams(request, TEXT, read=50, written=10)


def statuses(run):
    return [item.status for item in run.items.order_by("position")]


def test_every_instruction_model_and_sample_gets_one_response_with_its_measures():
    with HostileServer(good) as server:
        prices = {"input_price": Decimal(2), "output_price": Decimal(10)}
        models = [make_model(server, "one", **prices), make_model(server, "two", model={"served_name": "second"})]
        run = work_on(make_run(make_benchmark(), *models, samples=2), options=QUICK)
    assert run.status == "finished"
    assert Response.objects.filter(run=run).count() == 3 * 2 * 2
    response = Response.objects.filter(run=run).first()
    # 9 words and 2 full stops are 11 tokens of word_tokenize
    assert (response.text, response.words, response.finish_reason) == (TEXT, 11, "stop")
    assert (response.input_tokens, response.tokens) == (50, 10)
    # 50 tokens at 2 and 10 at 10 a million
    assert response.cost == Decimal("0.0002")
    assert 0 < response.seconds < 5
    assert {request["model"] for request in server.requests} == {"one", "second"}
    progress = progress_of(run, clock=timezone.now)
    assert (progress.done, progress.calls, progress.input_tokens, progress.money) == (12, 12, 600, Decimal("0.0024"))
    assert run.manifest["asked"]["items"] == 12
    assert run.manifest["asked"]["samples"] == 2
    assert [row["model__name"] for row in run.manifest["came"]["models"]] == ["one", "two"]
    assert run.manifest["came"]["models"][0]["finish_reasons"] == {"stop": 6}
    assert Event.objects.filter(verb="generation run finished", object_id=run.public_id).count() == 1


def test_the_defaults_are_hellobenchs_and_href_is_greedy():
    with HostileServer(good) as server:
        model = make_model(server)
        work_on(make_run(make_benchmark(1), model), options=QUICK)
        work_on(make_run(make_benchmark(1, "href"), model), options=QUICK)
        work_on(make_run(make_benchmark(1, "own"), model, parameters={"temperature": 0.3}, seed=5), options=QUICK)
    assert [(r["temperature"], r["max_tokens"]) for r in server.requests] == [(0.8, 16384), (0.0, 16384), (0.3, 16384)]
    assert all(request["stream"] for request in server.requests)
    assert [request.get("seed") for request in server.requests] == [None, None, 5]


def test_a_models_own_parameters_go_first_and_null_leaves_one_out():
    own = {"temperature": None, "max_completion_tokens": 900, "top_p": 0.9}
    with HostileServer(good) as server:
        work_on(make_run(make_benchmark(1), make_model(server, model={"parameters": own})), options=QUICK)
    sent = server.requests[0]
    assert "temperature" not in sent and "max_tokens" not in sent
    assert (sent["max_completion_tokens"], sent["top_p"]) == (900, 0.9)


def test_a_known_context_bounds_the_new_tokens():
    with HostileServer(good) as server:
        work_on(make_run(make_benchmark(1), make_model(server, context_tokens=4096)), options=QUICK)
    # the prompt's 20 characters are guessed at 6 tokens and 8 for the message, with 16 to spare
    assert server.requests[0]["max_tokens"] == 4096 - 14 - 16


def test_a_server_that_has_less_room_is_asked_for_less_and_remembered():
    words = "max_tokens=16384 cannot be greater than max_model_len=1024. Please request fewer output tokens."

    def play(request, n):
        return good(request, n) if request["max_tokens"] <= 1024 else fails(400, words)

    with HostileServer(play) as server:
        model = make_model(server, max_concurrent=1)
        run = work_on(make_run(make_benchmark(3), model), options=QUICK)
    assert run.status == "finished" and statuses(run) == ["done"] * 3
    model.endpoint.refresh_from_db()
    assert model.endpoint.capabilities["contexts"] == {"m": 1024}
    assert sum(request["max_tokens"] > 1024 for request in server.requests) <= 2


def test_a_short_model_does_not_shorten_another_at_the_same_endpoint():
    words = "maximum context length is 1024 tokens"

    def play(request, n):
        short = request["model"] == "short" and request["max_tokens"] > 1024
        return fails(400, words) if short else good(request, n)

    with HostileServer(play) as server:
        models = [make_model(server, name, max_concurrent=1) for name in ("short", "long")]
        work_on(make_run(make_benchmark(1), models[0]), options=QUICK)
        work_on(make_run(make_benchmark(1, "others"), *models), options=QUICK)
    asked = [(request["model"], request["max_tokens"]) for request in server.requests]
    # "Write about topic 0.": 14 tokens at most, 16 to spare
    assert asked[0] == ("short", 16384)
    assert set(asked[1:]) == {("short", 1024 - 14 - 16), ("long", 16384)}


def test_a_prompt_that_is_refused_fails_alone_whenever_it_is_asked():
    def play(request, n):
        filtered = "topic 0" in request["messages"][0]["content"]
        return fails(400, "filtered", "content_filter") if filtered else good(request, n)

    with HostileServer(play) as server:
        run = work_on(make_run(make_benchmark(4), make_model(server, max_concurrent=2)), options=QUICK)
        assert run.status == "finished" and statuses(run) == ["failed", "done", "done", "done"]
        # Alone, when another was answered before.
        assert retry_failed(run, clock=timezone.now) == 1
        start_run(run, clock=timezone.now)
        run = work_on(run, options=QUICK)
    assert run.status == "finished" and statuses(run) == ["failed", "done", "done", "done"]
    assert run.items.get(position=0).error == "400: filtered"


def test_a_stretch_of_refused_prompts_stops_the_run_and_is_closed():
    def play(request, n):
        return good(request, n) if n == 0 else fails(400, "filtered", "content_filter")

    with HostileServer(play) as server:
        run = work_on(make_run(make_benchmark(70), make_model(server, max_concurrent=1)), options=QUICK)
    assert (run.status, run.message) == ("failed", "400: filtered")
    assert statuses(run).count("failed") == REFUSED_IN_A_ROW


def test_a_prompt_beyond_the_context_fails_alone():
    words = "maximum context length is 1024 tokens. However, your prompt contains at least 1025 input tokens"

    def play(request, n):
        return fails(400, words) if "topic 1" in request["messages"][0]["content"] else good(request, n)

    with HostileServer(play) as server:
        run = work_on(make_run(make_benchmark(3), make_model(server)), options=QUICK)
    assert run.status == "finished" and statuses(run) == ["done", "failed", "done"]
    assert words in run.items.get(position=1).error


def test_a_chat_history_is_sent_whole_and_a_length_is_asked_for_at_its_end():
    benchmark = make_benchmark(1)
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "A story, please."},
    ]
    benchmark.instructions.update(messages=history)
    with HostileServer(good) as server:
        model = make_model(server)
        work_on(make_run(benchmark, model), options=QUICK)
        run = work_on(make_run(benchmark, model, experiment="length-2k"), options=QUICK)
    assert server.requests[0]["messages"] == history
    sent = server.requests[1]["messages"]
    assert sent[:2] == history[:2] and "2,000 words" in sent[2]["content"]
    assert run.experiment == "length-2k"
    # 11 words where 2,000 were asked for
    assert run.manifest["came"]["models"][0]["length_error"] == 1989


def test_what_was_asked_is_held_against_each_instructions_own_length():
    benchmark = make_benchmark(2)
    benchmark.instructions.filter(external_id="essays-0").update(words_asked=15)
    with HostileServer(good) as server:
        run = work_on(make_run(benchmark, make_model(server)), options=QUICK)
    assert run.manifest["came"]["models"][0]["length_error"] == 4


def test_a_stalled_text_is_asked_for_again():
    def play(request, n):
        return streams(TEXT, silent_after=250, silent_seconds=1.5) if n == 0 else good(request, n)

    with HostileServer(play) as server:
        run = make_run(make_benchmark(1), make_model(server))
        run.manifest["settings"]["stall_seconds"] = 0.3
        run.save()
        run = work_on(run, options=QUICK)
    assert statuses(run) == ["done"]
    item = run.items.get()
    assert (item.attempts, item.error, item.response.text) == (2, "", TEXT)


def test_what_came_of_a_text_that_broke_off_is_paid_for_and_counts_against_the_budget():
    def play(request, n):
        return streams(TEXT, finish_reason="") if n == 0 else good(request, n)

    prices = {"input_price": Decimal(100), "output_price": Decimal(1000)}
    with HostileServer(play) as server:
        model = make_model(server, max_concurrent=1, **prices)
        # "Write about topic 0.": 14 tokens; what came has 41 characters, 21 tokens. A whole text may cost 14 + 100.
        asked = {"parameters": {"max_tokens": 100}, "budget": Ceiling(tokens=14 + 21 + 60 + 114 - 1)}
        run = work_on(make_run(make_benchmark(2), model, **asked), options=QUICK)
    # One text broke off, another was written for 50 + 10; a third call has no room beside both.
    assert (run.status, sorted(statuses(run))) == ("paused", ["done", "waiting"])
    # 14 + 50 tokens read at 100 a million, 21 + 10 written at 1,000
    assert spent_of(run) == Spend(2, 14 + 21 + 60, Decimal("0.0374"))
    assert SurplusReply.objects.get().text == TEXT
    progress = progress_of(run, clock=timezone.now)
    assert (progress.broken_off, progress.words) == (1, 11)


def test_an_unknown_key_stops_the_run_with_the_endpoints_words_and_it_can_be_resumed():
    allowed = threading.Event()

    def play(request, n):
        return good(request, n) if allowed.is_set() else fails(401, "no such key")

    with HostileServer(play) as server:
        run = work_on(make_run(make_benchmark(4), make_model(server)), options=QUICK)
        assert (run.status, statuses(run)) == ("failed", ["waiting"] * 4)
        assert "no such key" in run.message
        allowed.set()
        start_run(run, clock=timezone.now)
        run = work_on(run, options=QUICK)
    assert run.status == "finished" and run.message == ""


def test_one_endpoint_that_is_down_does_not_keep_the_other_from_its_work():
    with HostileServer(good) as server, HostileServer(lambda request, n: fails(401, "closed")) as closed:
        models = [make_model(server, "up"), make_model(closed, "down", at="closed")]
        run = work_on(make_run(make_benchmark(3), *models), options=QUICK)
    assert run.status == "failed" and "closed" in run.message
    assert Response.objects.filter(run=run).count() == 3
    progress = progress_of(run, clock=timezone.now)
    assert [(model.name, model.done, model.waiting) for model in progress.models] == [("down", 0, 3), ("up", 3, 0)]


def test_a_response_that_never_comes_has_failed_and_can_be_tried_again():
    healed = threading.Event()

    def play(request, n):
        broken = "topic 1" in request["messages"][0]["content"] and not healed.is_set()
        return fails(500, "out of memory") if broken else good(request, n)

    with HostileServer(play) as server:
        run = work_on(make_run(make_benchmark(3), make_model(server)), options=QUICK)
        assert (run.status, statuses(run)) == ("finished", ["done", "failed", "done"])
        assert "out of memory" in run.items.get(position=1).error
        assert run.items.get(position=1).attempts == 3
        healed.set()
        assert retry_failed(run, clock=timezone.now) == 1
        start_run(run, clock=timezone.now)
        run = work_on(run, options=QUICK)
    assert (run.status, statuses(run)) == ("finished", ["done"] * 3)
    assert Response.objects.filter(run=run).count() == 3


def test_a_budget_of_calls_is_never_crossed_also_over_two_endpoints():
    with HostileServer(good) as server, HostileServer(good) as other:
        models = [make_model(server, "a"), make_model(other, "b", at="other")]
        run = work_on(make_run(make_benchmark(5), *models, budget=Ceiling(calls=7)), options=QUICK)
        assert run.status == "paused" and "budget" in run.message
        assert len(server.requests) + len(other.requests) == 7
        assert Response.objects.filter(run=run).count() == 7
        run.budget_calls = 10
        run.save()
        start_run(run, clock=timezone.now)
        run = work_on(run, options=QUICK)
        assert run.status == "finished"
        assert len(server.requests) + len(other.requests) == 10


def test_a_pause_keeps_what_is_on_its_way_and_a_cancelled_run_stays_so():
    def play(request, n):
        return streams(TEXT, seconds=0.2)

    with HostileServer(play) as server:
        run = make_run(make_benchmark(12), make_model(server, max_concurrent=2))

        def watch():
            run.refresh_from_db()
            if run.status == "running":
                pause_run(run, clock=timezone.now)

        started = time.monotonic()
        run = work_on(run, options=WorkerOptions(watch=watch, retry=QUICK.retry))
        assert time.monotonic() - started < 5
        assert run.status == "paused"
        assert Response.objects.filter(run=run).count() == len(server.requests) < 12
        assert not run.items.exclude(leased_by="").exists()
        cancel_run(run, clock=timezone.now)
        with pytest.raises(NotPossible, match="cancelled"):
            start_run(run, clock=timezone.now)


def test_an_item_answered_twice_has_one_response_and_both_are_paid_for():
    prices = Prices(Decimal(2), Decimal(10))
    with HostileServer(good) as server:
        run = make_run(make_benchmark(1), make_model(server))
        item = run.items.get()
        assert record_response(item, Reply("first", "stop", 100, 20, 0.1), prices)
        assert record_response(item, Reply("second", "stop", 50, 10, 0.2), prices)
        for reply in (Reply("first", "stop", 100, 20, 0.1), Reply("second", "stop", 50, 10, 0.2)):
            assert not record_response(item, reply, prices)
        work_on(run, options=QUICK)
    assert [response.text for response in Response.objects.filter(run=run)] == ["first"]
    assert server.requests == []
    # 100 tokens read at 2 and 20 written at 10 for a million, then 50 and 10: 0.0004 and 0.0002
    assert spent_of(run) == Spend(2, 180, Decimal("0.0006"))
    progress = progress_of(run, clock=timezone.now)
    assert (progress.calls, progress.input_tokens, progress.output_tokens) == (2, 150, 30)
    assert (progress.money, progress.words, progress.done) == (Decimal("0.0006"), 1, 1)
    run.refresh_from_db()
    assert (run.manifest["came"]["calls"], Decimal(run.manifest["came"]["money"])) == (2, Decimal("0.0006"))
    with pytest.raises(IntegrityError):
        Response.objects.create(run=run, instruction=item.instruction, model=item.model, sample=0)


def test_a_batch_file_read_by_two_workers_is_paid_for_once():
    with HostileServer(good) as server:
        item = make_run(make_benchmark(1), make_model(server)).items.get()
    assert record_response(item, Reply("text", "stop", 10, 5, 0.0), Prices(), timed=False)
    assert not record_response(item, Reply("text", "stop", 10, 5, 0.0), Prices(), timed=False)
    assert spent_of(item.run).calls == 1


def test_characters_no_database_stores_are_replaced():
    with HostileServer(lambda request, n: says_or_streams(request, "a\x00b")) as server:
        run = work_on(make_run(make_benchmark(1), make_model(server)), options=QUICK)
    assert Response.objects.get(run=run).text == "a\ufffdb"


def test_the_sweep_finishes_and_frees_what_died(django_capture_on_commit_callbacks):
    with HostileServer(good) as server:
        run = make_run(make_benchmark(2), make_model(server))
        past = timezone.now() - timezone.timedelta(minutes=5)
        run.items.update(leased_by="elsewhere:1:x", leased_until=past)
        work_on(run, options=QUICK)
    run.refresh_from_db()
    assert run.status == "finished"
    GenerationRun.objects.filter(pk=run.pk).update(status="running")
    sweep()
    run.refresh_from_db()
    assert run.status == "finished"


def test_plans_that_make_no_sense_are_refused_in_words():
    benchmark = make_benchmark(2)
    with HostileServer(good) as server:
        model = make_model(server)
    with pytest.raises(NothingToGenerate, match="No model"):
        plan_generation(GenerationRequest(benchmark, models=()))
    with pytest.raises(NothingToGenerate, match="no experiment 'length-3k'"):
        plan_generation(GenerationRequest(benchmark, models=(model,), experiment="length-3k"))
    with pytest.raises(NothingToGenerate, match="no instruction in poems"):
        plan_generation(GenerationRequest(benchmark, models=(model,), categories=("poems",)))
    benchmark.instructions.update(messages=None)
    with pytest.raises(NothingToGenerate, match="load its instructions first"):
        plan_generation(GenerationRequest(benchmark, models=(model,)))


def test_a_category_takes_those_below_it_along_and_the_limit_counts_instructions():
    benchmark = make_benchmark(4)
    writing = Category.objects.create(benchmark=benchmark, key="writing")
    essay = Category.objects.create(benchmark=benchmark, parent=writing, key="essay")
    benchmark.instructions.filter(external_id__in=["essays-1", "essays-3"]).update(category=essay)
    with HostileServer(good) as server:
        model = make_model(server)
    run = plan_generation(GenerationRequest(benchmark, models=(model,), categories=("writing",), samples=2))
    assert {item.instruction.external_id for item in run.items.all()} == {"essays-1", "essays-3"}
    run = plan_generation(GenerationRequest(benchmark, models=(model,), limit=3, samples=2))
    assert (run.items.count(), run.name) == (6, "main 2")

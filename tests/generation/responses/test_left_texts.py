"""A worker killed between a text's coming and its storing: the next one stores it and asks only for the rest."""

import asyncio
import subprocess
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone

from generation import tasks
from generation.endpoints.clients import endpoint_of, open_chat
from generation.endpoints.grants import read_grants
from generation.execution.engine import Answered
from generation.execution.leases import new_worker_name
from generation.execution.worker import WorkerOptions
from generation.llm.protocol.prices import UNLIMITED, Ceiling, Prices, Spend
from generation.llm.requests import Reply
from generation.models import GenerationItem, LanguageModel, Response, SurplusReply
from generation.responses.queue import GenerationQueue
from generation.responses.recording import record_response, spent_of
from generation.responses.runs import cancel_run, start_run
from generation.responses.worker import work_on
from tests.factories import make_user
from tests.generation.hostile_server import HostileServer, says_or_streams
from tests.generation.responses.test_sampling import make_benchmark, make_model, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.JOURNAL_DIR = tmp_path / "journal"
    return settings.JOURNAL_DIR


def started(server, budget=UNLIMITED):
    model = make_model(server, input_price=Decimal(2), output_price=Decimal(10))
    run = make_run(make_benchmark(instructions=6), model, budget=budget)
    start_run(run, clock=timezone.now)
    return run


def killed(run, calls):
    """A worker whose process has ended, after so many texts of which it had stored none."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    place, _mine, draw = new_worker_name().split(":")
    model = run.items.first().model
    queue = GenerationQueue(run, endpoint_of(model), f"{place}:{ended.pid}:{draw}", timezone.now)
    queue.models = (model.pk,)
    read_grants(endpoint_of(model))
    asked, _more = queue.next_calls(calls)

    async def send_all():
        chat = open_chat(model)
        replies = [await chat.complete(one.request) for one in asked]
        await chat.close()
        return replies

    for one, reply in zip(asked, asyncio.run(send_all()), strict=True):
        queue.append(one.key, reply)


def lapsed(run):
    """Their worker took so long that others may take the items."""
    run.items.update(leased_until=timezone.now() - timedelta(minutes=1))


def river(request, number):
    return says_or_streams(request, f"River number {number}.")


def test_a_text_that_had_come_is_not_asked_for_again(folder):
    with HostileServer(river) as server:
        run = started(server)
        killed(run, 4)
        assert not Response.objects.exists()
        assert work_on(run).status == "finished"
        assert len(server.requests) == 6
    assert sorted(Response.objects.values_list("text", flat=True)) == [f"River number {n}." for n in range(6)]
    assert spent_of(run).calls == 6
    # 100 tokens read at 2 and 20 written at 10 for a million: 0.0004 each
    assert spent_of(run).money == 6 * Decimal("0.0004")
    assert not list(folder.iterdir())


def test_a_budget_counts_what_had_come():
    with HostileServer(river) as server:
        run = started(server, Ceiling(calls=5))
        killed(run, 4)
        assert work_on(run).status == "paused"
        assert len(server.requests) == spent_of(run).calls == 5


def test_the_sweep_stores_what_came_for_a_run_that_nobody_resumes(folder):
    with HostileServer(river) as server:
        run = started(server)
        killed(run, 3)
    cancel_run(run, clock=timezone.now)
    tasks.sweep()
    assert run.items.filter(status=GenerationItem.Status.DONE).count() == 3
    assert not list(folder.iterdir())


def test_a_page_that_asks_too_late_for_a_run_to_go_on_loses_no_text(client, folder):
    with HostileServer(river) as server:
        run = started(server)
        killed(run, 3)
    cancel_run(run, clock=timezone.now)
    client.force_login(make_user("lead"))
    client.post(reverse("generation:control_run", args=[run.public_id]), {"action": "resume"})
    assert Response.objects.filter(run=run).count() == 3
    assert not list(folder.iterdir())


def test_a_journal_that_cannot_be_written_stops_the_run_in_words_and_loses_nothing(folder):
    folder.write_text("a file where the folder should be")
    with HostileServer(river) as server:
        run = work_on(started(server))
        assert run.status == "failed"
        assert "make it writable" in run.message
        assert Response.objects.count() == len(server.requests) > 0
        folder.unlink()
        start_run(run, clock=timezone.now)
        assert work_on(run).status == "finished"
        assert len(server.requests) == 6


def test_a_text_that_came_for_an_item_answered_meanwhile_is_paid_for_and_not_read(folder):
    with HostileServer(river) as server:
        run = started(server)
        killed(run, 2)
        kept = [path.rename(path.with_suffix(".away")) for path in folder.iterdir()]
        lapsed(run)
        assert work_on(run).status == "finished"
        assert (len(server.requests), spent_of(run).calls) == (8, 6)
        for path in kept:
            path.rename(path.with_suffix(".jsonl"))
        tasks.sweep()
    assert len(server.requests) == spent_of(run).calls == 8
    assert spent_of(run).money == 8 * Decimal("0.0004")
    assert sorted(Response.objects.values_list("text", flat=True)) == [f"River number {n}." for n in range(2, 8)]
    assert sorted(SurplusReply.objects.values_list("text", flat=True)) == ["River number 0.", "River number 1."]
    assert not list(folder.iterdir())


def test_what_was_stored_before_its_file_was_deleted_is_paid_for_once(folder):
    with HostileServer(river) as server:
        run = started(server)
        killed(run, 2)
        kept = {path: path.read_bytes() for path in folder.iterdir()}
        for _ in range(2):
            tasks.sweep()
            for path, lines in kept.items():
                path.write_bytes(lines)
        tasks.sweep()
        assert spent_of(run).calls == 2
        assert not SurplusReply.objects.exists()


def test_two_workers_that_had_the_same_item_in_hand_are_both_counted():
    """The first one's lease ran out while its calls went on."""
    with HostileServer(river) as server:
        run = started(server)
        model = run.items.first().model
        workers = []
        for name in ("one", "two"):
            queue = GenerationQueue(run, endpoint_of(model), f"{name}:1:x", timezone.now)
            queue.models = (model.pk,)
            asked, _more = queue.next_calls(6)
            workers.append((queue, asked))
            lapsed(run)
        assert [one.key for one in workers[0][1]] == [one.key for one in workers[1][1]]
        for number, (queue, asked) in enumerate(workers):
            replies = [Answered(one.key, Reply(f"Text {number}.", "stop", 100, 20, 1.5 + number), 1) for one in asked]
            queue.take(replies)
        assert work_on(run).status == "finished"
    assert set(Response.objects.values_list("text", flat=True)) == {"Text 0."}
    assert Response.objects.count() == 6
    # Twelve replies of 120 tokens, 0.0004 each.
    assert spent_of(run) == Spend(12, 12 * 120, 12 * Decimal("0.0004"))


def test_surplus_texts_count_against_the_budget():
    with HostileServer(river) as server:
        run = started(server, Ceiling(calls=5))
        item = run.items.first()
        for number in range(3):
            record_response(item, Reply(f"Text {number}.", "stop", 1, 1, 1.0), Prices())
        assert work_on(run).status == "paused"
        assert len(server.requests) == 2
    assert spent_of(run).calls == 5


def test_a_text_is_stored_though_its_model_is_served_nowhere_any_more(folder):
    with HostileServer(river) as server:
        run = started(server)
        killed(run, 3)
    LanguageModel.objects.update(endpoint=None)
    tasks.sweep()
    assert spent_of(run).money == 3 * Decimal("0.0004")


def test_what_came_while_the_database_was_away_is_stored_by_the_next_shift_of_the_same_process(folder, monkeypatch):
    def away(*arguments, **more):
        raise OperationalError("the server closed the connection")

    with HostileServer(river) as server:
        run = started(server)
        with monkeypatch.context() as patched:
            patched.setattr(GenerationQueue, "take", away)
            patched.setattr("generation.execution.work_queue.release", away)
            with pytest.raises(OperationalError):
                work_on(run, options=WorkerOptions(concurrency=1))
        assert len(server.requests) == 1
        assert len(list(folder.iterdir())) == 1
        run.items.update(leased_until=timezone.now() - timedelta(minutes=1))
        assert work_on(run, options=WorkerOptions(concurrency=1)).status == "finished"
        assert len(server.requests) == 6
    assert spent_of(run).calls == 6
    assert not list(folder.iterdir())

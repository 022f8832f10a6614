"""A worker killed between a reply's coming and its storing: the next one stores it and asks only for the rest."""

import asyncio
import subprocess
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone

from generation.endpoints.clients import open_chat
from generation.execution.leases import new_worker_name
from generation.execution.recovery import store_logged
from generation.execution.worker import WorkerOptions
from generation.execution.write_ahead_log import LogUnusable
from generation.llm.protocol.prices import Ceiling
from judging import tasks
from judging.models import Reply
from judging.runs.life_cycle import cancel_run, start_run
from judging.runs.queue import JudgeQueue
from judging.runs.recording import spent_of, store_replies
from judging.runs.worker import work_on
from tests.factories import make_user
from tests.generation.hostile_server import HostileServer, good_answer, says
from tests.judging.runs.test_runs import QUICK, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.JOURNAL_DIR = tmp_path / "journal"
    return settings.JOURNAL_DIR


def dead_worker():
    ended = subprocess.Popen(["true"])
    ended.wait()
    place, _mine, draw = new_worker_name().split(":")
    return f"{place}:{ended.pid}:{draw}"


def killed(run, calls, *, stored=0):
    """A worker whose process has ended, after `calls` replies of which it had stored the first few."""
    queue = JudgeQueue(run, dead_worker(), timezone.now)
    asked, _more = queue.next_calls(calls)

    async def send_all():
        queue.open(open_chat)
        replies = [await queue.send(one) for one in asked]
        await queue.close()
        return replies

    replies = asyncio.run(send_all())
    for one, reply in zip(asked, replies, strict=True):
        queue.append(one.key, reply)
    for one, reply in list(zip(asked, replies, strict=True))[:stored]:
        queue._answered(one, reply)
    queue.ledger.write()


def test_what_had_come_is_not_asked_again(folder):
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = make_run(server, input_price=Decimal(2), output_price=Decimal(10))
        killed(run, 3)
        assert not Reply.objects.exists()
        run = work_on(run, options=QUICK)
        assert run.status == "finished"
        assert len(server.requests) == 8
    assert list(Reply.objects.values_list("attempt", flat=True)) == [0] * 8
    # 100 tokens read at 2 and 20 written at 10 for a million: 0.0004 each
    assert spent_of(run).money == 8 * Decimal("0.0004")
    assert not list(folder.iterdir())


def test_what_was_stored_before_the_kill_is_not_stored_twice():
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = make_run(server)
        killed(run, 3, stored=2)
        assert Reply.objects.count() == 2
        assert store_logged(run, store_replies) == 1
        assert work_on(run, options=QUICK).status == "finished"
        assert len(server.requests) == Reply.objects.count() == 8


def test_a_budget_counts_what_had_come():
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = make_run(server, budget=Ceiling(calls=6))
        killed(run, 3)
        run = work_on(run, options=QUICK)
        assert run.status == "paused"
        assert len(server.requests) == spent_of(run).calls == 6


def test_a_reply_of_no_use_is_one_of_the_tries():
    with HostileServer(lambda request, n: says("no answer") if n < 2 else good_answer(request)) as server:
        run = make_run(server)
        killed(run, 2)
        run = work_on(run, options=QUICK)
        assert run.status == "finished"
        assert len(server.requests) == 10
        # What was wrong with it is told to the model, as it would have been.
        assert sum(len(request["messages"]) > 2 for request in server.requests) == 2


def test_an_item_answered_elsewhere_meanwhile_keeps_its_answer_and_the_reply_counts():
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = make_run(server)
        killed(run, 1)
        item = run.items.get(leased_by__gt="")
        Reply.objects.create(item=item, attempt=0, request_hash="elsewhere", text="{}")
        assert store_logged(run, store_replies) == 1
    assert item.replies.get(attempt=0).request_hash == "elsewhere"
    assert spent_of(run).calls == 2


def test_the_sweep_stores_what_came_for_a_run_that_nobody_resumes(folder):
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = make_run(server)
        killed(run, 3)
    cancel_run(run, clock=timezone.now)
    tasks.sweep()
    assert spent_of(run).calls == 3
    assert not list(folder.iterdir())


def test_a_journal_that_cannot_be_written_stops_the_run_in_words_and_loses_nothing(folder):
    folder.write_text("a file where the folder should be")
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = work_on(make_run(server), options=QUICK)
        assert run.status == "failed"
        assert "make it writable" in run.message
        assert Reply.objects.count() == len(server.requests) > 0
        folder.unlink()
        start_run(run, clock=timezone.now)
        assert work_on(run, options=QUICK).status == "finished"
        assert len(server.requests) == 8


def test_a_journal_that_cannot_be_read_stops_the_run_in_words(monkeypatch):
    def refuse(run, by):
        raise LogUnusable("The folder x cannot be used.")

    monkeypatch.setattr("generation.execution.recovery.logs_left_by_others", refuse)
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = work_on(make_run(server), options=QUICK)
        assert (run.status, run.message) == ("failed", "The folder x cannot be used.")
        assert not server.requests


def test_what_came_while_the_database_was_away_is_stored_by_the_next_shift_of_the_same_process(folder, monkeypatch):
    def away(*arguments, **more):
        raise OperationalError("the server closed the connection")

    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = make_run(server)
        with monkeypatch.context() as patched:
            patched.setattr(JudgeQueue, "take", away)
            patched.setattr("generation.execution.work_queue.release", away)
            with pytest.raises(OperationalError):
                work_on(run, options=WorkerOptions(concurrency=1))
        assert len(server.requests) == 1
        assert len(list(folder.iterdir())) == 1
        run.items.update(leased_until=timezone.now() - timedelta(minutes=1))
        assert work_on(run, options=WorkerOptions(concurrency=1)).status == "finished"
        assert len(server.requests) == 8
    assert spent_of(run).calls == 8
    assert not list(folder.iterdir())


@pytest.mark.parametrize("way", ["page", "api"])
def test_what_came_is_kept_though_the_run_can_no_longer_be_resumed(folder, client, way):
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = make_run(server)
        killed(run, 3)
    cancel_run(run, clock=timezone.now)
    client.force_login(make_user("lead"))
    if way == "page":
        client.post(reverse("judging:control_run", args=[run.public_id]), {"action": "resume"})
    else:
        client.post(f"/api/v1/runs/{run.public_id}/start/")
    assert spent_of(run).calls == 3
    assert not list(folder.iterdir())

"""Background work is asked for in rows: a broker that is away, restarted or stalled costs no page and no work."""

import socket
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from celery.exceptions import Ignore
from django.db import OperationalError
from django.utils import timezone

from core import background
from core.models import RequestedTask, ScheduledTurn, WorkerProcess
from core.workers import attendant, requests, schedule

pytestmark = pytest.mark.django_db

TASK = "annotation.scan_self_naming"
NOW = timezone.now()


def at(**later):
    return lambda: NOW + timedelta(**later)


@pytest.fixture
def celery_app():
    from config.celery import app

    app.loader.import_default_modules()
    return app


@pytest.fixture
def broker(celery_app):
    """Point the program at a broker's address, for this test."""
    before, options = celery_app.conf.broker_url, celery_app.conf.broker_transport_options

    def point(url):
        celery_app.conf.broker_url, celery_app.conf.broker_transport_options = url, {}
        background._sender.cache_clear()

    yield point
    celery_app.conf.broker_url, celery_app.conf.broker_transport_options = before, options
    background._sender.cache_clear()


@pytest.fixture
def closed_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        yield found.getsockname()[1]  # bound and not listening: a connection is refused


@pytest.fixture
def silent_port():
    """Takes connections and never says anything, as a broker that is stalled."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen(64)
        yield found.getsockname()[1]


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
@pytest.mark.parametrize("port", ["closed_port", "silent_port"])
@pytest.mark.django_db(transaction=True)
def test_without_a_broker_a_page_goes_on_within_about_a_second(broker, request, scheme, port):
    broker(f"{scheme}://127.0.0.1:{request.getfixturevalue(port)}//")
    begun = time.monotonic()
    background.send_after_commit(TASK, 7)
    # It gives up after a second; a machine under load adds to that, an attempt without a limit takes far longer.
    assert time.monotonic() - begun < 4
    assert RequestedTask.objects.get().arguments == [7]
    # The next request does not wait again.
    begun = time.monotonic()
    assert background.send(TASK, 8) is False
    assert time.monotonic() - begun < 0.2
    assert background.broker_answers() is False


@pytest.mark.django_db(transaction=True)
def test_every_page_that_asks_for_work_leaves_a_row_from_which_it_is_sent_again(monkeypatch):
    sent = []
    monkeypatch.setattr("annotation.tasks.scan_self_naming.delay", lambda *given: sent.append(given))
    background.send_after_commit(TASK, 7)
    RequestedTask.objects.update(sent_at=NOW)
    background.send_waiting(at(seconds=30))
    assert sent == [(7,)]  # what was sent a moment ago may still wait in line
    background.send_waiting(at(seconds=60))
    background.send_waiting(at(seconds=70))
    assert sent == [(7,), (7,)]
    background.send_waiting(at(seconds=160))
    assert len(sent) == 3  # and ever more seldom


def test_work_that_is_asked_for_twice_is_done_once():
    key = requests.keep(TASK, [1], clock=at())
    assert requests.keep(TASK, [1], clock=at(seconds=1)) == key
    beat_of("w1"), beat_of("w2")
    assert requests.claim(key, worker="w1", clock=at(seconds=2))
    assert not requests.claim(key, worker="w2", clock=at(seconds=3))
    assert requests.done(key, worker="w1")
    assert not requests.claim(key, worker="w2", clock=at(seconds=4))


def test_work_asked_for_while_it_is_done_is_done_once_more():
    key = requests.keep(TASK, [1], clock=at())
    requests.claim(key, worker="w1", clock=at(seconds=1))
    requests.keep(TASK, [1], clock=at(seconds=2))
    assert not requests.done(key, worker="w1")
    assert requests.claim(key, worker="w2", clock=at(seconds=3))
    assert requests.done(key, worker="w2")


def beat_of(name, seen=NOW):
    WorkerProcess.objects.create(name=name, started_at=seen, seen_at=seen)


def test_work_of_a_dead_worker_is_sent_again_and_given_up_in_the_end():
    key = requests.keep(TASK, [1], clock=at())
    beat_of("dies")
    for minutes in range(0, 100, 5):
        WorkerProcess.objects.filter(name="dies").update(seen_at=NOW + timedelta(minutes=minutes))
        if not requests.claim(key, worker="dies", clock=at(minutes=minutes)):
            break
        assert list(requests.waiting(at(minutes=minutes, seconds=50))) == []
        list(requests.waiting(at(minutes=minutes + 2)))
    assert minutes == 5 * requests.MOST_FAILURES
    assert not RequestedTask.objects.exists()


class Delivered:
    """A task as a worker meets it, with the header of its message."""

    def __init__(self, app, run, key):
        self.task = app.task(run, name=f"test.{id(self)}", base=background.Work)
        self.task.push_request(headers={background.KEPT: key}, called_directly=False)

    def __call__(self, *arguments):
        return self.task(*arguments)


def test_a_message_that_comes_twice_is_carried_out_once(celery_app):
    done = []

    def work(number):
        done.append(number)

    key = requests.keep(TASK, [1])
    beat_of(requests.process_name, timezone.now())
    task = Delivered(celery_app, work, key)
    task(1)
    with pytest.raises(Ignore):
        task(1)
    assert done == [1] and not RequestedTask.objects.exists()


@pytest.mark.parametrize(("error", "stays"), [(OperationalError("away"), True), (ValueError("wrong"), False)])
def test_work_waits_for_a_database_that_went_away_and_ends_with_a_fault(celery_app, error, stays):
    def work(_number):
        raise error

    key = requests.keep(TASK, [1])
    with pytest.raises(type(error)):
        Delivered(celery_app, work, key)(1)
    assert RequestedTask.objects.filter(worker="").exists() == stays


@pytest.fixture
def scheduled(celery_app):
    ran = []

    def work():
        ran.append(1)

    celery_app.tasks.pop("test.scheduled", None)
    celery_app.task(work, name="test.scheduled", base=background.Work).name
    before = celery_app.conf.beat_schedule
    celery_app.conf.beat_schedule = {"one": {"task": "test.scheduled", "schedule": 60}}
    yield ran
    celery_app.conf.beat_schedule = before


def test_a_scheduled_task_runs_once_an_interval_whichever_worker_looks(scheduled):
    for seconds, times in ((0, 1), (5, 1), (30, 1), (60, 2), (61, 2), (300, 3)):
        schedule.run_due(clock=at(seconds=seconds))
        schedule.run_due(clock=at(seconds=seconds))
        assert len(scheduled) == times, seconds
    assert schedule.overdue(at(seconds=301)) == []
    assert schedule.overdue(at(seconds=301 + 241)) == ["test.scheduled"]


def test_of_two_workers_that_look_at_once_one_runs_the_task(scheduled, monkeypatch):
    schedule.run_due(clock=at())
    rows = ScheduledTurn.objects.filter

    def slower(**chosen):
        if "begun_at" in chosen:  # the other worker was faster after this one had looked
            rows(name="test.scheduled").update(begun_at=NOW + timedelta(seconds=60))
        return rows(**chosen)

    monkeypatch.setattr(ScheduledTurn.objects, "filter", slower)
    schedule.run_due(clock=at(seconds=61))
    assert len(scheduled) == 1


def test_a_message_of_a_beat_process_counts_as_another_look(celery_app, scheduled):
    task = celery_app.tasks["test.scheduled"]
    task.push_request(called_directly=False)
    task()
    task()
    assert len(scheduled) == 1


def test_a_worker_that_grew_too_large_ends_after_what_it_has(settings, monkeypatch):
    settings.WORKER_MEMORY = 300
    assert not attendant.is_too_large(299 * 1024 * 1024)
    assert attendant.is_too_large(301 * 1024 * 1024)
    settings.WORKER_MEMORY = 0
    assert not attendant.is_too_large(10**12)
    assert attendant.resident_memory() > 10**7
    state = SimpleNamespace(should_stop=None)
    monkeypatch.setattr(attendant, "state", state)
    try:
        attendant.leave()
        assert state.should_stop == attendant.TOO_LARGE and attendant.leaving.is_set()
    finally:
        attendant.leaving.clear()


def test_a_worker_says_that_it_lives():
    attendant.beat(at())
    attendant.beat(at(seconds=10))
    assert [row.seen_at for row in WorkerProcess.objects.all()] == [NOW + timedelta(seconds=10)]
    beat_of("gone", NOW - timedelta(days=2))
    attendant.beat(at(seconds=20))
    assert WorkerProcess.objects.count() == 1

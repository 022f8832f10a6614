"""Redis and RabbitMQ, each cut off in the middle: pages go on, workers come back by themselves, and no work is lost."""

import secrets
import shutil
import socket
import subprocess
import sys
import time

import pytest

from tests.services.cut_off import CutOff
from tests.services.test_runs import (
    ROOT,
    SET_UP,
    absent,
    asked,
    environment_of,
    free_port,
    python,
    start_redis,
    start_worker,
    wait_until,
)

pytestmark = pytest.mark.services

ITEMS = 400
ASK = """
import time
import django; django.setup()
from celery import current_app
from annotation.models import Study
from core.background import send_after_commit
current_app.loader.import_default_modules()
study = Study.objects.get()
begun = time.monotonic()
send_after_commit("annotation.scan_self_naming", study.pk)
print(time.monotonic() - begun)
"""


@pytest.fixture(params=["redis", "amqp"])
def broker(request, processes):
    """The address of a broker of this test alone, behind a way that can be cut off."""
    if request.param == "redis":
        port = free_port()
        start_redis(processes, port)
        way = CutOff(port)
        yield f"redis://127.0.0.1:{way.port}/0", way
        way.cut()
        return
    control = shutil.which("rabbitmqctl") or absent("rabbitmqctl")
    with socket.socket() as tried:
        if tried.connect_ex(("127.0.0.1", 5672)):
            absent("RabbitMQ at 127.0.0.1:5672")
    name = f"plumbline_{secrets.token_hex(4)}"

    def say(*words):
        subprocess.run([control, "-q", *words], check=True, capture_output=True)

    say("add_vhost", name)
    try:
        say("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
        way = CutOff(5672)
        yield f"amqp://guest:guest@127.0.0.1:{way.port}/{name}", way
        way.cut()
    finally:
        say("delete_vhost", name)


def ask(environment):
    """Ask for work as a page does; return the seconds that it took."""
    said = subprocess.run(
        [sys.executable, "-c", ASK], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return float(said.stdout)


def test_a_broker_that_is_cut_off_delays_nothing_and_loses_nothing(tmp_path, processes, database, rows, server, broker):
    address, way = broker
    environment = environment_of(database, 0, tmp_path)
    del environment["REDIS_URL"]
    environment["CELERY_BROKER_URL"] = address
    python(environment, "manage.py", "migrate", "--verbosity", "0")
    # No beat: each worker looks what is due.
    one, other = start_worker(processes, "one", environment), start_worker(processes, "other", environment)
    python(environment, "-c", SET_UP.format(items=ITEMS, url=server.base_url, calls=None))
    wait_until(
        lambda: rows.items("scored") >= 20 and (rows.held_by(one) or rows.held_by(other)),
        "the run is in the middle",
        120.0,
    )
    dying, staying = (one, other) if rows.held_by(one) else (other, one)

    way.cut()
    processes.kill(dying)
    assert ask(environment) < 3.0  # one second, on a machine that is busy with all of this
    assert rows.one("SELECT count(*) FROM core_requestedtask") == 1
    # Workers do not need the broker for what is due, nor for what they have begun.
    swept = rows.one("SELECT max(ended_at) FROM core_scheduledturn")
    wait_until(
        lambda: rows.one("SELECT max(ended_at) FROM core_scheduledturn") > swept, "a sweep runs without it", 60.0
    )
    way.mend()

    rows.rows.execute("UPDATE core_requestedtask SET sent_at = sent_at - interval '1 hour'")
    wait_until(
        lambda: not rows.one("SELECT count(*) FROM core_requestedtask"), "what the page asked for is done", 150.0
    )
    wait_until(lambda: rows.run_status() == "finished", "the run ends", 90.0)
    assert staying.poll() is None
    assert rows.items("scored") == ITEMS == rows.one("SELECT count(*) FROM judging_reply")
    assert sum(asked(server).values()) - ITEMS <= 8  # at most what the killed worker had under way


def test_a_worker_beyond_its_memory_ends_and_another_goes_on(tmp_path, processes, database, rows, server):
    """Over the broker of files, and with a limit that every worker exceeds at once."""
    environment = environment_of(database, 0, tmp_path)
    del environment["REDIS_URL"]
    python(environment, "manage.py", "migrate", "--verbosity", "0")
    python(environment, "-c", SET_UP.format(items=200, url=server.base_url, calls=None))
    large = start_worker(processes, "large", {**environment, "PLUMBLINE_WORKER_MEMORY": "20"})
    begun = time.monotonic()
    assert large.wait(timeout=60) == 75
    assert time.monotonic() - begun < 60
    assert rows.held_by(large) == 0  # it gave back what it had
    assert rows.one("SELECT count(*) FROM core_workerprocess") == 0
    start_worker(processes, "fresh", environment)
    wait_until(lambda: rows.run_status() == "finished", "another worker ends the run", 60.0)
    assert len(server.requests) == 200

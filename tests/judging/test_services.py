"""Celery workers as processes on Redis and PostgreSQL, with a worker and then Redis killed with -9 in the middle.

Redis keeps nothing on disk here, so its death loses every message: the rows alone bring the run to its end.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import redis

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parents[2]
POSTGRES = "postgres://postgres@127.0.0.1:5432"
ITEMS = 600
ENDS_WITHIN = 120.0
"""A dead worker's lease runs out after 90 seconds, the sweep comes every 2, and the rest is work."""
SET_UP = """
import sys; sys.path.insert(0, "tests")
import django; django.setup()
from django.db import transaction
from django.utils import timezone
from factories import make_checklist_study
from generation.models import Endpoint, LanguageModel, Response
from judging.judges import create_judge
from judging.plans import plan_run
from judging.runs import start_run
from judging.tasks import enqueue
with transaction.atomic():
    study = make_checklist_study(instructions=300, models=2)
    responses = list(Response.objects.all())
    for response in responses:
        response.text += f" Number {response.pk}."
    Response.objects.bulk_update(responses, ["text"])
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(
        workspace=study.workspace, name="judge", endpoint=endpoint, parameters={"script": {"seconds": 0.02}}
    )
    run = plan_run(judge=create_judge(model=model), study=study, concurrency=2)
start_run(run, clock=timezone.now)
# As many messages as two workers with two threads each take: all of them work on the run.
for _ in range(4):
    enqueue(run)
"""


def absent(what):
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must have {what}")
    pytest.skip(f"{what} is not here")


def wait_until(condition, what, seconds=30.0):
    ends_at = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends_at:
            pytest.fail(f"in {seconds:.0f} seconds it did not happen that {what}")
        time.sleep(0.02)


class Processes:
    """What the test starts, each in a process group of its own, so that nothing outlives the test."""

    def __init__(self, folder):
        self.folder = folder
        self.started = []

    def start(self, name, *command, env=None):
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.started.append(process)
        return process

    def kill(self, process):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def processes(tmp_path):
    started = Processes(tmp_path)
    yield started
    for process in started.started:
        started.kill(process)


@pytest.fixture
def database():
    """The address of a new PostgreSQL database, dropped at the end whoever is still connected."""
    name = f"plumbline_services_{secrets.token_hex(4)}"
    try:
        server = psycopg.connect(f"{POSTGRES}/postgres", autocommit=True, connect_timeout=3)
    except psycopg.OperationalError:
        absent("PostgreSQL at 127.0.0.1:5432")
    with server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{POSTGRES}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def start_redis(processes, port):
    binary = shutil.which("redis-server") or absent("redis-server")
    command = f"--bind 127.0.0.1 --port {port} --appendonly no --dir {processes.folder}".split()
    process = processes.start("redis", binary, *command, "--save", "")

    def answers():
        with suppress(redis.ConnectionError), redis.Redis(port=port) as client:
            return client.ping()

    wait_until(answers, "Redis answers")
    return process


def start_worker(processes, name, environment, *options):
    celery = (sys.executable, "-m", "celery", "-A", "config.celery", "worker", "--pool", "threads")
    return processes.start(
        name, *celery, "--concurrency", "2", "--hostname", f"{name}@%h", *options, env=environment
    )


def test_a_worker_and_redis_killed_in_the_middle_lose_nothing_and_pay_for_nothing_twice(
    tmp_path, processes, database
):
    port = free_port()
    broker = start_redis(processes, port)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database,
        "REDIS_URL": f"redis://127.0.0.1:{port}/0",
        "PLUMBLINE_DATA_DIR": str(tmp_path),
        "PLUMBLINE_SWEEP_SECONDS": "2",
    }
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
    beat = ("--beat", "--schedule", str(tmp_path / "schedule"))
    staying = start_worker(processes, "staying", environment, *beat)
    dying = start_worker(processes, "dying", environment)
    subprocess.run([sys.executable, "-c", SET_UP], cwd=ROOT, env=environment, check=True)

    with psycopg.connect(database, autocommit=True) as rows:

        def one(query, *values):
            return rows.execute(query, values).fetchone()[0]

        def items(status):
            return one("SELECT count(*) FROM judging_planneditem WHERE status = %s", status)

        def held_by(process):
            return one(
                "SELECT count(*) FROM judging_planneditem WHERE status = 'waiting' AND leased_by LIKE %s",
                f"%:{process.pid}:%",
            )

        def run_status():
            return one("SELECT status FROM judging_judgerun")

        wait_until(lambda: held_by(staying) and held_by(dying), "both workers hold items", 60.0)
        wait_until(lambda: items("scored") >= 50 and held_by(dying), "the run is in the middle")
        processes.kill(dying)
        left_behind = held_by(dying)
        assert left_behind > 0
        assert items("waiting") > left_behind

        processes.kill(broker)
        assert items("waiting") > left_behind
        start_redis(processes, port)
        start_worker(processes, "fresh", environment)
        wait_until(lambda: run_status() != "running", "the run ends", ENDS_WITHIN)

        assert run_status() == "finished"
        assert staying.poll() is None
        assert items("scored") == ITEMS
        answers = rows.execute(
            "SELECT status, count(*), count(DISTINCT (task_id, rater_id)) FROM annotation_assignment GROUP BY 1"
        ).fetchall()
        assert answers == [("submitted", ITEMS, ITEMS)]
        assert one("SELECT count(*) FROM annotation_score") == 3 * ITEMS
        # A reply is stored in one transaction with its verdict, and a lease keeps others away while its call is on
        # the way: what was in flight at the kill left no row, so not one item has a second reply.
        billed = "SELECT count(*) FROM judging_reply WHERE reused_from_id IS NULL AND error = ''"
        assert one(billed) == one("SELECT count(*) FROM judging_reply") == ITEMS
        assert one("SELECT count(DISTINCT item_id) FROM judging_reply") == ITEMS

"""Celery workers as processes on Redis and PostgreSQL, with a worker and then Redis killed with -9 in the middle.

Redis keeps nothing on disk here, so its death loses every message: the rows alone bring the run to its end. The
judge is a server on a real socket that counts what it is asked.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import redis

from tests.generation.hostile_server import Act, HostileServer, good_answer

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parents[2]
POSTGRES = "postgres://postgres@127.0.0.1:5432"
ITEMS = 5_000
ENDS_WITHIN = 200.0
SET_UP = """
import sys; sys.path.insert(0, "tests")
import django; django.setup()
from django.db import transaction
from django.utils import timezone
from factories import make_checklist_study, plan_run
from generation.models import Endpoint, LanguageModel, Response
from generation.llm.protocol.prices import Ceiling
from judging.judges.making import create_judge
from judging.runs.life_cycle import JUDGING, start_run
with transaction.atomic():
    study = make_checklist_study(instructions={items} // 2, models=2)
    responses = list(Response.objects.all())
    for response in responses:
        response.text += f" Number {{response.pk}}."
    Response.objects.bulk_update(responses, ["text"])
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="server", base_url="{url}")
    model = LanguageModel.objects.create(workspace=study.workspace, name="judge", endpoint=endpoint)
    run = plan_run(
        judge=create_judge(model=model), study=study, concurrency=4, budget=Ceiling(calls={calls})
    )
start_run(run, clock=timezone.now)
# As many messages as two workers with two threads each take: all of them work on the run.
for _ in range(4):
    JUDGING.hand_over(run)
"""


RAISED = """
import django; django.setup()
from django.utils import timezone
from generation.llm.protocol.prices import Ceiling
from judging.models import JudgeRun
from judging.runs.life_cycle import JUDGING, raise_budget, start_run
run = JudgeRun.objects.get(public_id="{run}")
raise_budget(run, Ceiling(calls={calls}))
start_run(run, clock=timezone.now)
for _ in range(4):
    JUDGING.hand_over(run)
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
    return processes.start(name, *celery, "--concurrency", "2", "--hostname", f"{name}@%h", *options, env=environment)


class Rows:
    """What the database says, asked without the program."""

    def __init__(self, connection):
        self.rows = connection

    def one(self, query, *values):
        return self.rows.execute(query, values).fetchone()[0]

    def items(self, status):
        return self.one("SELECT count(*) FROM judging_planneditem WHERE status = %s", status)

    def held_by(self, process):
        return self.one(
            "SELECT count(*) FROM judging_planneditem WHERE status = 'waiting' AND leased_by LIKE %s",
            f"%:{process.pid}:%",
        )

    def run_status(self):
        return self.one("SELECT status FROM judging_judgerun")


@pytest.fixture
def rows(database):
    with psycopg.connect(database, autocommit=True) as connection:
        yield Rows(connection)


@pytest.fixture
def server():
    """Answers after 20 ms, well."""
    with HostileServer(lambda request, n: Act(body=good_answer(request).body, seconds=0.02)) as listening:
        yield listening


def asked(server):
    """How often each question came."""
    return Counter(str(request["messages"]) for request in list(server.requests))


def environment_of(database, port, folder):
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database,
        "REDIS_URL": f"redis://127.0.0.1:{port}/0",
        "PLUMBLINE_DATA_DIR": str(folder),
        "PLUMBLINE_SWEEP_SECONDS": "2",
    }


def python(environment, *arguments):
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, check=True)


def test_a_worker_and_redis_killed_in_the_middle_lose_nothing_and_pay_for_nothing_twice(
    tmp_path, processes, database, rows, server
):
    port = free_port()
    broker = start_redis(processes, port)
    environment = environment_of(database, port, tmp_path)
    python(environment, "manage.py", "migrate", "--verbosity", "0")
    beat = ("--beat", "--schedule", str(tmp_path / "schedule"))
    staying = start_worker(processes, "staying", environment, *beat)
    dying = start_worker(processes, "dying", environment)
    python(environment, "-c", SET_UP.format(items=ITEMS, url=server.base_url, calls=None))

    wait_until(lambda: rows.held_by(staying) and rows.held_by(dying), "both workers hold items", 60.0)
    wait_until(lambda: rows.items("scored") >= 500 and rows.held_by(dying), "the run is in the middle", 60.0)
    processes.kill(dying)
    left_behind = rows.held_by(dying)
    assert left_behind > 0
    assert rows.items("waiting") > left_behind

    processes.kill(broker)
    assert rows.items("waiting") > left_behind
    start_redis(processes, port)
    start_worker(processes, "fresh", environment)
    wait_until(lambda: rows.run_status() != "running", "the run ends", ENDS_WITHIN)

    assert rows.run_status() == "finished"
    assert staying.poll() is None
    assert rows.items("scored") == ITEMS
    answers = rows.rows.execute(
        "SELECT status, count(*), count(DISTINCT (task_id, rater_id)) FROM annotation_assignment GROUP BY 1"
    ).fetchall()
    assert answers == [("submitted", ITEMS, ITEMS)]
    assert rows.one("SELECT count(*) FROM annotation_score") == 3 * ITEMS
    billed = "SELECT count(*) FROM judging_reply WHERE reused_from_id IS NULL AND error = ''"
    assert rows.one(billed) == rows.one("SELECT count(*) FROM judging_reply") == ITEMS
    assert rows.one("SELECT count(DISTINCT item_id) FROM judging_reply") == ITEMS
    # The server saw again at most what the dead worker held, and nothing a third time.
    again = [times for times in asked(server).values() if times > 1]
    assert len(asked(server)) == ITEMS
    assert len(again) <= left_behind and set(again) <= {2}


def test_a_budget_holds_for_worker_processes_together_and_can_be_raised(tmp_path, processes, database, rows, server):
    port = free_port()
    start_redis(processes, port)
    environment = environment_of(database, port, tmp_path)
    python(environment, "manage.py", "migrate", "--verbosity", "0")
    beat = ("--beat", "--schedule", str(tmp_path / "schedule"))
    workers = [start_worker(processes, "first", environment, *beat)]
    workers += [start_worker(processes, f"other{n}", environment) for n in range(2)]
    python(environment, "-c", SET_UP.format(items=900, url=server.base_url, calls=500))
    wait_until(lambda: rows.run_status() != "running", "the budget ends the run", 90.0)
    assert rows.run_status() == "paused"
    assert len(server.requests) == rows.one("SELECT count(*) FROM judging_reply") == 500
    assert rows.items("scored") == 500 and rows.items("waiting") == 400
    wait_until(lambda: not rows.one("SELECT count(*) FROM judging_budgetshare"), "all shares are given back")

    run = rows.one("SELECT public_id FROM judging_judgerun")
    python(environment, "-c", RAISED.format(run=run, calls=900))
    wait_until(lambda: rows.run_status() != "running", "the run ends", 90.0)
    assert rows.run_status() == "finished"
    assert len(server.requests) == 900 == len(asked(server))
    assert all(worker.poll() is None for worker in workers)


def test_two_loads_of_the_same_table_at_once_take_turns(database, tmp_path):
    rows = "".join(f"item{n},r{r},c,{1 + (n + r) % 6}\n" for n in range(600) for r in range(4))
    table = tmp_path / "r.csv"
    table.write_text("item,rater,criterion,value\n" + rows)
    words = [sys.executable, "manage.py", "load_table", "ratings", str(table), "--study", "s", "--scale", "*=1:6"]
    words += [part for name in ("item", "rater", "criterion", "value") for part in ("--column", f"{name}={name}")]
    environment = os.environ | {"DATABASE_URL": database, "PLUMBLINE_DATA_DIR": str(tmp_path / "data")}
    main = "from accounts.models import Workspace; Workspace.objects.create(slug='main', name='Main')"
    for command in (["migrate", "-v0"], ["shell", "-v0", "-c", main]):
        subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=environment, check=True)
    loads = [
        subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    lines = [line for load in loads for line in load.communicate(timeout=120)[0].splitlines()]
    # A load that takes longer than two seconds also says how far it is.
    said = sorted(line for line in lines if line.startswith("Study s: 2,400"))
    assert said == ["Study s: 2,400 already there (answers).", "Study s: 2,400 created (answers)."]

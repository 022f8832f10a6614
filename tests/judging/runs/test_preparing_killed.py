"""A process killed with -9 while it prepares a large run: taken up again the plan is whole; two starts double nothing."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.generation.hostile_server import HostileServer, good_answer
from tests.judging.runs.test_killed import ROOT, judge, python, wait_until

RESPONSES = 120
SET_UP = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
import sys; sys.path.insert(0, "tests")
from factories import make_checklist_study
make_checklist_study(instructions={instructions}, models=2)
"""
# Ten at a time and slowly, so that there is a middle in which to be killed.
SLOWLY = """
import sys, time
import django; django.setup()
from django.core.management import call_command
from judging.runs.planning import plan as plans, preparation as preparing
preparing.AT_ONCE = preparing.BATCH = plans.BATCH = 10
def slow(real):
    def called(*arguments):
        time.sleep(0.1)
        return real(*arguments)
    return called
preparing.make_tasks, plans._store = slow(preparing.make_tasks), slow(plans._store)
call_command("judge", "essays-benchmark", *sys.argv[1:])
"""
SWEPT = """
import django; django.setup()
from judging import tasks
sent = []
tasks.work.delay = sent.append
tasks.sweep()
for run in sent:
    tasks.work(run)
"""
COUNT = """
import django; django.setup()
from annotation.models import Assignment, Task
from judging.models import JudgeRun, PlannedItem, Preparation
print(Preparation.objects.count(), Task.objects.filter(study__slug="essays-benchmark-judged").count())
for run in JudgeRun.objects.order_by("pk"):
    places = list(run.items.order_by("position").values_list("position", flat=True))
    print(run.status, len(places), run.items.values("task").distinct().count(), places == list(range(len(places))),
          run.manifest["asked"]["items"], run.items.filter(status="scored").count())
"""


def slowly(data, server, model="m"):
    options = ["--model", model, "--base-url", server.base_url, "--no-canaries"]
    environment = {**os.environ, "PLUMBLINE_DATA_DIR": str(data), "DJANGO_SETTINGS_MODULE": "config.settings"}
    environment.pop("DATABASE_URL", None)
    return subprocess.Popen(
        [sys.executable, "-c", SLOWLY, *options],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def stored(data, question):
    """One number, asked of the database file."""
    with closing(sqlite3.connect(data / "plumbline.sqlite3", timeout=20)) as database:
        return database.execute(question).fetchone()[0]


MADE = (
    "SELECT count(*) FROM annotation_task t JOIN annotation_study s ON s.id = t.study_id WHERE s.slug LIKE '%-judged'"
)
LAID_OUT = "SELECT count(*) FROM judging_planneditem"


@pytest.mark.parametrize(("where", "by_sweep"), [(MADE, False), (LAID_OUT, True)])
def test_killed_while_it_prepares_it_is_taken_up_where_it_was(tmp_path, where, by_sweep):
    python(SET_UP.format(instructions=RESPONSES // 2), tmp_path)
    with HostileServer(lambda request, n: good_answer(request)) as server:
        process = slowly(tmp_path, server)
        wait_until(lambda: stored(tmp_path, where) >= 30, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        made, laid_out = stored(tmp_path, MADE), stored(tmp_path, LAID_OUT)
        assert 30 <= (laid_out if where is LAID_OUT else made) < RESPONSES
        assert made % 10 == laid_out % 10 == 0
        assert stored(tmp_path, "SELECT done FROM judging_preparation") == made + laid_out
        assert stored(tmp_path, "SELECT status FROM judging_judgerun") == "running"
        assert not server.requests
        if by_sweep:
            python(SWEPT, tmp_path)
        else:
            run = stored(tmp_path, "SELECT public_id FROM judging_judgerun")
            resumed = judge(tmp_path, "--resume", run)
            shown, _ = resumed.communicate(timeout=180)
            assert resumed.returncode == 0, shown
        assert python(COUNT, tmp_path) == ["0", "120", "finished", "120", "120", "True", "120", "120"]


def test_two_starts_at_once_of_the_same_benchmark_double_nothing(tmp_path):
    python(SET_UP.format(instructions=RESPONSES // 2), tmp_path)
    with HostileServer(lambda request, n: good_answer(request)) as server:
        processes = [slowly(tmp_path, server, model) for model in ("m", "n")]
        for process in processes:
            shown, _ = process.communicate(timeout=240)
            assert process.returncode == 0, shown
        whole = ["finished", "120", "120", "True", "120", "120"]
        assert python(COUNT, tmp_path) == ["0", "120", *whole, *whole]

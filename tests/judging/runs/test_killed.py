"""A judging process killed with -9 in the middle: resumed, it asks only what was not answered."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.generation.hostile_server import Act, HostileServer, good_answer

ROOT = Path(__file__).resolve().parents[3]
SET_UP = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
import sys; sys.path.insert(0, "tests")
from factories import make_checklist_study
study = make_checklist_study(instructions={instructions}, models=2)
for task in study.tasks.select_related("response_a"):
    task.response_a.text += f" Number {{task.pk}}."
    task.response_a.save()
"""
COUNT = """
import django; django.setup()
from annotation.models import Assignment, Score
from judging.models import JudgeRun, Reply
run = JudgeRun.objects.get()
print(run.public_id, run.status, Assignment.objects.filter(status="submitted").count(), Score.objects.count(),
      Reply.objects.count(), Reply.objects.values("item").distinct().count())
"""


def python(code, data):
    environment = {**os.environ, "PLUMBLINE_DATA_DIR": str(data), "DJANGO_SETTINGS_MODULE": "config.settings"}
    environment.pop("DATABASE_URL", None)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout.split()


def judge(data, *arguments):
    environment = {**os.environ, "PLUMBLINE_DATA_DIR": str(data)}
    environment.pop("DATABASE_URL", None)
    return subprocess.Popen(
        [sys.executable, "manage.py", "judge", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_until(condition, process, seconds=180.0):
    ends_at = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None:
            pytest.fail(f"the command ended early: {process.stdout.read()}")
        if time.monotonic() > ends_at:
            pytest.fail("it did not happen in time")
        time.sleep(0.05)


def test_killed_and_resumed_it_answers_each_response_once(tmp_path):
    python(SET_UP.format(instructions=15), tmp_path)
    with HostileServer(lambda request, n: Act(body=good_answer(request).body, seconds=0.25)) as server:
        process = judge(
            tmp_path, "essays", "--model", "m", "--base-url", server.base_url, "--concurrency", "3", "--no-canaries"
        )
        wait_until(lambda: len(server.requests) >= 10, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        run, status, answers, scores, replies, asked = python(COUNT, tmp_path)
        assert status == "running"
        assert 0 < int(answers) < 30
        assert int(replies) == int(answers) == int(asked)
        assert int(scores) == 3 * int(answers)
        sent = len(server.requests)
        resumed = judge(tmp_path, "--resume", run)
        shown, _ = resumed.communicate(timeout=60)
        assert resumed.returncode == 0, shown
        _, status, final, scores, replies, asked = python(COUNT, tmp_path)
        assert (status, final, scores, replies, asked) == ("finished", "30", "90", "30", "30")
        # What was on its way when the process died is asked again; what had come is not, stored or not.
        assert len(server.requests) - sent <= 30 - int(answers)
        texts = Counter(str(request["messages"]) for request in server.requests)
        assert len(texts) == 30
        # Where replies come slowly, the next call is sent when the last reply is stored: three were on their way.
        assert sum(count - 1 for count in texts.values()) <= 3


def test_killed_while_replies_come_fast_it_pays_again_for_nothing_that_had_come(tmp_path):
    """Replies are gathered before they are stored; what was gathered when the process died is in its journal."""
    python(SET_UP.format(instructions=300), tmp_path)
    options = ["--model", "m", "--concurrency", "8", "--no-canaries"]
    with HostileServer(lambda request, n: Act(body=good_answer(request).body, seconds=0.01)) as server:
        process = judge(tmp_path, "essays", "--base-url", server.base_url, *options)
        wait_until(lambda: len(server.requests) >= 150, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        files = list((tmp_path / "journal").iterdir())
        lines = [line for path in files for line in path.read_bytes().splitlines()]
        run, _status, _answers, _scores, replies, _asked = python(COUNT, tmp_path)
        # Each reply that came is in the journal, or stored, or both.
        assert len(lines) + int(replies) >= 142
        resumed = judge(tmp_path, "--resume", run)
        shown, _ = resumed.communicate(timeout=120)
        assert resumed.returncode == 0, shown
        _, status, final, scores, replies, asked = python(COUNT, tmp_path)
        assert (status, final, scores, replies, asked) == ("finished", "600", "1800", "600", "600")
        texts = Counter(str(request["messages"]) for request in server.requests)
        assert len(texts) == 600
        assert sum(count - 1 for count in texts.values()) <= 8
    assert not list((tmp_path / "journal").iterdir())


def test_interrupted_from_the_keyboard_it_stores_what_comes_and_says_how_to_go_on(tmp_path):
    python(SET_UP.format(instructions=15), tmp_path)
    with HostileServer(lambda request, n: Act(body=good_answer(request).body, seconds=0.25)) as server:
        process = judge(
            tmp_path, "essays", "--model", "m", "--base-url", server.base_url, "--concurrency", "2", "--no-canaries"
        )
        wait_until(lambda: len(server.requests) >= 4, process)
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate(timeout=30)
        run, status, answers, _, replies, _ = python(COUNT, tmp_path)
        assert status == "paused"
        assert f"--resume {run}" in shown
        assert int(answers) == int(replies) == len(server.requests) < 30

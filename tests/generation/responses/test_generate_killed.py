"""A generating process killed with -9, and two at once: every text is written once."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from tests.generation.hostile_server import HostileServer, streams
from tests.judging.runs.test_killed import python, wait_until

ROOT = Path(__file__).resolve().parents[3]
SET_UP = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from accounts.models import Workspace
from generation.models import Benchmark, Instruction
benchmark = Benchmark.objects.create(workspace=Workspace.objects.create(slug="lab", name="Lab"), slug="essays")
Instruction.objects.bulk_create(
    Instruction(benchmark=benchmark, external_id=str(n), messages=[{"role": "user", "content": f"Topic {n}."}])
    for n in range(30)
)
"""
COUNT = """
import django; django.setup()
from generation.models import GenerationRun, Response
run = GenerationRun.objects.get()
print(run.public_id, run.status, Response.objects.count(), run.items.filter(status="done").count(),
      run.items.exclude(leased_by="").count())
"""


def generate(data, *arguments, database=""):
    environment = {**os.environ, "PLUMBLINE_DATA_DIR": str(data), "DATABASE_URL": database}
    if not database:
        environment.pop("DATABASE_URL")
    return subprocess.Popen(
        [sys.executable, "manage.py", "generate", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def slow(request, n):
    return streams("A river ran past the house.", seconds=0.25)


def test_killed_and_resumed_it_writes_each_text_once(tmp_path):
    python(SET_UP, tmp_path)
    with HostileServer(slow) as server:
        process = generate(tmp_path, "essays", "--model", "m", "--base-url", server.base_url, "--concurrency", "3")
        wait_until(lambda: len(server.requests) >= 10, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        run, status, responses, done, held = python(COUNT, tmp_path)
        assert status == "running" and responses == done and 0 < int(done) < 30 and int(held) > 0
        sent = len(server.requests)
        resumed = generate(tmp_path, "--resume", run)
        shown, _ = resumed.communicate(timeout=80)
        assert resumed.returncode == 0, shown
        assert python(COUNT, tmp_path) == [run, "finished", "30", "30", "0"]
        # What was on its way when the process died is asked again; what had come is not, stored or not.
        assert len(server.requests) - sent <= 30 - int(done)
        texts = Counter(str(request["messages"]) for request in server.requests)
        assert len(texts) == 30 and sum(count - 1 for count in texts.values()) <= 3


def test_two_processes_at_one_run_share_it(tmp_path):
    python(SET_UP, tmp_path)
    both = threading.Event()

    def play(request, n):
        """The first process asks twice at once, so the third question is the other's; until then nothing ends."""
        if n == 2:
            both.set()
        both.wait(150)
        return streams("A river ran.", seconds=0.2)

    with HostileServer(play) as server:
        first = generate(tmp_path, "essays", "--model", "m", "--base-url", server.base_url, "--concurrency", "2")
        wait_until(lambda: len(server.requests) >= 2, first)
        run = python(COUNT, tmp_path)[0]
        second = generate(tmp_path, "--resume", run, "--concurrency", "2")
        for process in (first, second):
            shown, _ = process.communicate(timeout=200)
            assert process.returncode == 0, shown
        assert python(COUNT, tmp_path) == [run, "finished", "30", "30", "0"]
        assert len(server.requests) == 30
        assert server.most_at_once > 2

"""Four workers at two endpoints share the budget of one generation run on PostgreSQL."""

import os
import subprocess
import sys

import pytest

from tests.generation.hostile_server import HostileServer, streams
from tests.generation.responses.test_generate_killed import ROOT, SET_UP

pytestmark = pytest.mark.services
WORKERS = """
import threading
from django.db import connections
from django.utils import timezone
from generation.models import Endpoint, LanguageModel
from generation.responses.runs import start_run
from generation.responses.plan import GenerationRequest, plan_generation
from generation.execution.worker import WorkerOptions
from generation.llm.protocol.prices import Ceiling
from generation.responses.recording import spent_of
from generation.responses.worker import work_on
models = []
for name, url in (("a", "{one}"), ("b", "{two}")):
    endpoint = Endpoint.objects.create(workspace=benchmark.workspace, name=name, base_url=url)
    models.append(LanguageModel.objects.create(workspace=benchmark.workspace, name=name, endpoint=endpoint))
request = GenerationRequest(
    benchmark, models=tuple(models), parameters={{"max_tokens": 200}}, budget=Ceiling(tokens=12_100)
)
run = plan_generation(request)
start_run(run, clock=timezone.now)
states = []
def work():
    states.append(work_on(run, options=WorkerOptions(wait=True, concurrency=4)).status)
    connections.close_all()
workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
assert len(states) == 4, "a worker broke down"
# A worker that leaves while another may still give back budget finds the run going on; the last one pauses it.
assert set(states) <= {{"running", "paused"}}, states
run.refresh_from_db()
spent = spent_of(run)
print(run.status, spent.calls, spent.tokens, run.shares.count(), run.items.exclude(leased_by="").count())
"""


def test_four_workers_at_two_endpoints_on_postgresql_never_cross_a_budget_of_tokens(tmp_path, database):
    """Every call may cost some 230 tokens and costs 120, so that shares are set aside, spared and taken all the time."""
    environment = {
        **os.environ,
        "PLUMBLINE_DATA_DIR": str(tmp_path),
        "DATABASE_URL": database,
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }

    def play(request, n):
        return streams("A river ran.", seconds=0.05)

    with HostileServer(play) as server, HostileServer(play) as other:
        code = SET_UP.replace("range(30)", "range(150)") + WORKERS.format(one=server.base_url, two=other.base_url)
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=500,
        )
        sent = len(server.requests) + len(other.requests)
    state, calls, tokens, shares, held = done.stdout.split()
    assert (state, shares, held) == ("paused", "0", "0")
    assert int(calls) == sent and int(tokens) == 120 * sent <= 12_100
    assert server.requests and other.requests
    # No more is left than the next call might cost: 200 tokens written and its prompt.
    assert 12_100 - int(tokens) < 230

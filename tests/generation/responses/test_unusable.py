"""A generation run whose replies are all empty stops, as a judge run does whose replies cannot be read."""

import pytest
from django.utils import timezone

from generation.execution import work_queue
from generation.execution.work_queue import UNUSABLE_IN_A_ROW
from generation.execution.worker import WorkerOptions
from generation.models import Response
from generation.responses.runs import start_run
from generation.responses.worker import work_on
from tests.generation.hostile_server import HostileServer, says_or_streams
from tests.generation.responses.test_sampling import TEXT, make_benchmark, make_model, make_run, statuses

pytestmark = pytest.mark.django_db
ONE_BY_ONE = WorkerOptions(concurrency=1)


def test_empty_replies_in_a_row_stop_a_run_that_can_be_started_again():
    full = 2

    def play(request, n):
        return says_or_streams(request, TEXT if n < full else "  \n")

    with HostileServer(play) as server:
        run = work_on(make_run(make_benchmark(2 * UNUSABLE_IN_A_ROW), make_model(server)), options=ONE_BY_ONE)
        asked = len(server.requests)
        assert run.status == "failed"
        assert run.message.startswith(f"The last {UNUSABLE_IN_A_ROW} replies could not be used, so the run stopped;")
        assert "it has no text (finish reason: stop)" in run.message
        assert full + UNUSABLE_IN_A_ROW <= asked <= full + UNUSABLE_IN_A_ROW + 4
        # What was paid for is stored, empty as it is, and what was not asked waits.
        assert Response.objects.count() == statuses(run).count("done") == asked
        assert statuses(run).count("waiting") == 2 * UNUSABLE_IN_A_ROW - asked
        full = 10**6
        start_run(run, clock=timezone.now)
        run = work_on(run, options=ONE_BY_ONE)
    assert run.status == "finished" and statuses(run).count("done") == 2 * UNUSABLE_IN_A_ROW


def test_texts_in_between_let_a_run_go_on(monkeypatch):
    monkeypatch.setattr(work_queue, "UNUSABLE_IN_A_ROW", 4)
    with HostileServer(lambda request, n: says_or_streams(request, TEXT if n % 4 == 3 else "")) as server:
        run = work_on(make_run(make_benchmark(20), make_model(server)), options=ONE_BY_ONE)
    assert run.status == "finished" and statuses(run).count("done") == 20

"""An endpoint's limits shared by all workers: turns are given out one after the other, to two processes too."""

import sqlite3
import time
from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import Workspace
from generation.execution.rate_limit import claim, hold
from generation.models import Endpoint
from tests.generation.hostile_server import Act, HostileServer, good_answer
from tests.judging.runs.test_killed import SET_UP, judge, python

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAN = """
from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge
from factories import plan_run
endpoint = Endpoint.objects.create(
    workspace=study.workspace, name="limited", base_url="{url}", requests_per_minute=300
)
model = LanguageModel.objects.create(workspace=study.workspace, name="m", endpoint=endpoint)
print(plan_run(judge=create_judge(model=model), study=study).public_id)
"""
HOLDERS = "SELECT DISTINCT leased_by FROM judging_planneditem WHERE leased_by <> ''"


def seconds(count):
    return timedelta(seconds=count)


@pytest.mark.django_db
def test_turns_follow_each_other_and_an_idle_endpoint_is_open_at_once():
    workspace = Workspace.objects.create(slug="w", name="W")
    endpoint = Endpoint.objects.create(workspace=workspace, name="e")
    other = Endpoint.objects.create(workspace=workspace, name="f")
    assert claim(endpoint, 2.0, lambda: NOW) == NOW
    assert claim(endpoint, 0.5, lambda: NOW) == NOW + seconds(2)
    assert claim(other, 9.0, lambda: NOW) == NOW
    # Nothing is saved up: who comes later begins then.
    assert claim(endpoint, 1.0, lambda: NOW + seconds(60)) == NOW + seconds(60)
    hold(endpoint, 30.0, lambda: NOW + seconds(60))
    assert claim(endpoint, 1.0, lambda: NOW + seconds(61)) == NOW + seconds(90)
    hold(endpoint, 1.0, lambda: NOW + seconds(61))
    assert claim(endpoint, 1.0, lambda: NOW + seconds(62)) == NOW + seconds(91)


def test_two_processes_keep_one_endpoints_limit_together(tmp_path):
    sent = []

    def play(request, n):
        sent.append(time.monotonic())
        return Act(body=good_answer(request).body, seconds=0.05)

    with HostileServer(play) as server:
        (run,) = python(SET_UP.format(instructions=15) + PLAN.format(url=server.base_url), tmp_path)
        both = [judge(tmp_path, "--resume", run, "--concurrency", "2") for _ in range(2)]
        holders = set()
        with sqlite3.connect(f"file:{tmp_path}/plumbline.sqlite3?mode=ro", uri=True) as rows:
            while any(process.poll() is None for process in both):
                holders |= set(rows.execute(HOLDERS).fetchall())
                time.sleep(0.1)
        for process in both:
            shown, _ = process.communicate()
            assert process.returncode == 0, shown
    assert len(holders) == 2, "only one of the two had work"
    assert len(sent) == 30
    # Five a second in all, where two that know nothing of each other would make ten; a busy machine wakes late.
    for begun in sent:
        assert sum(begun <= other < begun + 2.0 for other in sent) <= 12

"""Health checks name the part that fails, and say nothing that is secret."""

import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import OperationalError
from django.utils import timezone

from config import health
from core.models import ScheduledTurn, WorkerProcess
from core.workers import schedule

pytestmark = pytest.mark.django_db


@pytest.fixture
def sound(monkeypatch, settings):
    """Everything is as it should be."""
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    health._found.clear()
    settings.DISK_FREE = 0
    now = timezone.now()
    WorkerProcess.objects.create(name="w", started_at=now, seen_at=now)
    for task in schedule.names_of_tasks():
        ScheduledTurn.objects.create(name=task, begun_at=now, ended_at=now)


def raising(*_arguments, **_options):
    raise OperationalError("password=secret host=db.internal")


FAULTS = {
    "database": lambda patch: patch.setattr(health, "connection", SimpleNamespace(cursor=raising)),
    "migrations": lambda patch: (
        health._migrated.clear(),
        patch.setattr(health.MigrationExecutor, "migration_plan", lambda *_: ["one"]),
    ),
    "broker": lambda patch: patch.setattr(health, "broker_answers", lambda: False),
    "worker": lambda patch: WorkerProcess.objects.update(seen_at=timezone.now() - timedelta(minutes=2)),
    "beat": lambda patch: ScheduledTurn.objects.update(ended_at=timezone.now() - timedelta(hours=1)),
    "disk": lambda patch: patch.setattr(health.shutil, "disk_usage", lambda _: SimpleNamespace(free=-1)),
}


def test_it_is_ready_where_every_part_is(client, sound):
    answer = client.get("/health/ready/")
    assert answer.json() == {"status": "ok", **dict.fromkeys(FAULTS, "ok")}
    assert answer.status_code == 200


@pytest.mark.parametrize("part", FAULTS)
def test_it_names_the_part_that_fails(client, sound, monkeypatch, part):
    FAULTS[part](monkeypatch)
    answer = client.get("/health/ready/")
    assert answer.status_code == 503
    assert [name for name, word in answer.json().items() if word != "ok"] == ["status", part]
    assert "secret" not in answer.content.decode() and "internal" not in answer.content.decode()
    assert client.get(f"/health/ready/?without={part}").status_code == 200
    assert client.get("/health/live/").json() == {"status": "ok"}


def test_asking_often_costs_nothing(client, sound, monkeypatch, django_assert_num_queries):
    client.get("/health/ready/")
    monkeypatch.setattr(health, "KEPT_SECONDS", 60.0)
    health._found["database"] = (time.monotonic(), "ok")
    with django_assert_num_queries(0):
        assert client.get("/health/ready/").status_code == 200

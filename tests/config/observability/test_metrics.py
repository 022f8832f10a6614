"""Metrics are for whoever is allowed to read them, and are counted from rows and over the processes of a server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import RequestFactory
from django.utils import timezone

from config.observability import metrics
from config.observability.requests import RequestMiddleware
from core.models import WorkerProcess

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]
TOKEN = "t" * 24


@pytest.fixture
def allowed(settings):
    settings.METRICS, settings.METRICS_TOKEN, settings.METRICS_FROM = True, TOKEN, ["10.1.0.0/16"]


def read(address="203.0.113.9", **headers):
    return metrics.metrics(RequestFactory().get("/metrics", REMOTE_ADDR=address, headers=headers))


def test_there_is_no_such_page_unless_it_is_set_up(client):
    assert client.get("/metrics").status_code == 404


@pytest.mark.parametrize(
    ("address", "header", "status"),
    [
        ("203.0.113.9", "", 404),
        ("203.0.113.9", "Bearer wrong", 404),
        ("203.0.113.9", f"Bearer {TOKEN}", 200),
        ("203.0.113.9", f"Basic {TOKEN}", 404),
        ("10.1.7.7", "", 200),
        ("10.2.0.1", "", 404),
    ],
)
def test_only_the_token_or_an_allowed_address_reads_them(allowed, address, header, status):
    assert read(address, Authorization=header).status_code == status


def test_a_stranger_cannot_claim_an_allowed_address(allowed):
    assert read("203.0.113.9", **{"X-Forwarded-For": "10.1.7.7"}).status_code == 404


def test_without_a_token_an_empty_one_opens_nothing(allowed, settings):
    settings.METRICS_TOKEN = ""
    assert read(Authorization="Bearer ").status_code == 404


def test_they_say_what_rows_say(allowed, monkeypatch):
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)
    now = timezone.now()
    WorkerProcess.objects.create(name="w", started_at=now, seen_at=now, memory=7)
    text = read(Authorization=f"Bearer {TOKEN}").content.decode()
    for line in (
        "plumbline_workers 1.0",
        "plumbline_worker_memory_bytes 7.0",
        "plumbline_raters_active 0.0",
        'plumbline_items_waiting{kind="judging"} 0.0',
        "plumbline_requested_tasks 0.0",
        'plumbline_spending{kind="generation"} 0.0',
    ):
        assert line in text


def test_requests_are_counted_by_view_and_never_by_address(allowed, client):
    from django.http import HttpResponse

    def answer(request):
        request.resolver_match = type("Match", (), {"view_name": "annotation:join", "kwargs": {"token": "secret"}})()
        return HttpResponse(status=403)

    RequestMiddleware(answer)(RequestFactory().get("/join/secret/"))
    text = read(Authorization=f"Bearer {TOKEN}").content.decode()
    assert 'plumbline_requests_total{method="GET",status="403",view="annotation:join"} 1.0' in text
    assert "secret" not in text


SCRIPT = """
import os, sys
from pathlib import Path
from config.observability.processes import share_between_processes
share_between_processes(Path(sys.argv[1]))
import django; django.setup()
from config.observability import metrics
metrics.count_request("home", "GET", 200, 0.1)
if sys.argv[2] == "read":
    from prometheus_client import CollectorRegistry, generate_latest
    registry = CollectorRegistry()
    metrics.MultiProcessCollector(registry)
    print(generate_latest(registry).decode())
"""


def test_the_processes_of_a_server_are_added_up_and_those_of_an_earlier_one_forgotten(tmp_path):
    (tmp_path / "metrics" / "999999999").mkdir(parents=True)
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "PLUMBLINE_DATA_DIR": str(tmp_path)}
    for what in ("count", "read"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path), what],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    assert 'plumbline_requests_total{method="GET",status="200",view="home"} 2.0' in done.stdout
    assert not (tmp_path / "metrics" / "999999999").exists()

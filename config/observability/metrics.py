"""Metrics for Prometheus: requests as they are answered, and what the rows and the broker say when they are asked for.

Each process of a web server counts into files of its own, which any of them adds up; see config/wsgi.py.
"""

import hmac
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

from celery import current_app
from django.conf import settings
from django.db.models import Count, Max, Min, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from accounts.sign_in.client_address import client_address
from annotation.models import Seat
from config.observability.processes import FOLDER
from core.models import RequestedTask, ScheduledTurn, WorkerProcess
from generation.models import EndpointSlots, GenerationItem, GenerationRun, Response
from judging.models import JudgeRun, PlannedItem, Reply

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REQUESTS = Counter("plumbline_requests_total", "Requests answered.", ["view", "method", "status"])
DURATIONS = Histogram("plumbline_request_seconds", "Time of a request.", ["view"], buckets=SECONDS)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
KEPT_SECONDS = 10.0
"""Rows are counted at most this often by each process, however often it is asked."""
RUNNING = "running"

_counted: tuple[float, list[GaugeMetricFamily]] = (-KEPT_SECONDS, [])


def count_request(view: str, method: str, status: int, seconds: float) -> None:
    REQUESTS.labels(view, method if method in METHODS else "other", str(status)).inc()
    DURATIONS.labels(view).observe(seconds)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics, for whoever is allowed to read them; for anybody else there is no such address."""
    if not is_allowed(request):
        return HttpResponseNotFound()
    registry = CollectorRegistry()
    if os.environ.get(FOLDER):
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REQUESTS)
        registry.register(DURATIONS)
    registry.register(RowsCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def is_allowed(request: HttpRequest) -> bool:
    """Whether the request brings the token, or comes from one of the allowed addresses."""
    kind, _space, token = request.headers.get("Authorization", "").partition(" ")
    expected = settings.METRICS_TOKEN
    if expected and kind.lower() == "bearer" and hmac.compare_digest(token.encode(), expected.encode()):
        return True
    address = client_address(request)
    if not address or not settings.METRICS_FROM:
        return False
    network = ip_network(address)
    allowed = [ip_network(listed) for listed in settings.METRICS_FROM]
    return any(one.version == network.version and network.subnet_of(one) for one in allowed)  # type: ignore[arg-type]


class RowsCollector:
    """What the database and the broker say now."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        global _counted
        if time.monotonic() - _counted[0] >= KEPT_SECONDS:
            _counted = (time.monotonic(), list(_families()))
        yield from _counted[1]


def _gauge(name: str, words: str, labels: list[str], rows: Any) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"plumbline_{name}", words, labels=labels)
    for *values, number in rows:
        family.add_metric([str(value) for value in values], float(number or 0))
    return family


def _families() -> Iterator[GaugeMetricFamily]:
    """Only rows of running runs are counted, over indexes, so that a scrape costs the same after ten million items."""
    now = timezone.now()
    runs, waiting, spent = [], [], []
    for kind, model in (("generation", GenerationRun), ("judging", JudgeRun)):
        counts = model._default_manager.order_by().values_list("status").annotate(number=Count("pk"))
        runs += [(kind, status, number) for status, number in counts]
    going: Any = GenerationRun.objects.filter(status=RUNNING).order_by().values("pk")
    waiting.append(("generation", GenerationItem.objects.filter(run__in=going, status="waiting").count()))
    made = Response.objects.filter(run__in=going).aggregate(money=Sum("cost"))
    spent.append(("generation", made["money"]))
    going = JudgeRun.objects.filter(status=RUNNING).order_by().values("pk")
    waiting.append(("judging", PlannedItem.objects.filter(run__in=going, status="waiting").count()))
    said = Reply.objects.filter(item__run__in=going, reused_from=None).aggregate(money=Sum("cost"))
    spent.append(("judging", said["money"]))
    yield _gauge("runs", "Runs by state.", ["kind", "status"], runs)
    yield _gauge("items_waiting", "Items of running runs that wait.", ["kind"], waiting)
    yield _gauge("spending", "What running runs have cost, in the currency of their prices.", ["kind"], spent)
    held = EndpointSlots.objects.filter(leased_until__gte=now).values_list("endpoint_id").annotate(number=Sum("held"))
    yield _gauge("endpoint_slots_held", "Calls at once that workers hold.", ["endpoint"], held.order_by())
    active = Seat.objects.filter(state=Seat.State.HELD, leased_until__gte=now).aggregate(
        n=Count("holder", distinct=True)
    )
    yield _gauge("raters_active", "Raters with a task in hand.", [], [(active["n"],)])
    alive = WorkerProcess.objects.filter(seen_at__gte=now - timedelta(seconds=60))
    workers = alive.aggregate(n=Count("pk"), memory=Max("memory"))
    yield _gauge("workers", "Workers that live.", [], [(workers["n"],)])
    yield _gauge("worker_memory_bytes", "Memory of the largest worker.", [], [(workers["memory"],)])
    asked = RequestedTask.objects.aggregate(n=Count("pk"), first=Min("requested_at"))
    age = (now - asked["first"]).total_seconds() if asked["first"] else 0
    yield _gauge("requested_tasks", "Requested work that is not done.", [], [(asked["n"],)])
    yield _gauge("requested_task_age_seconds", "Age of the oldest requested work.", [], [(age,)])
    ended = ScheduledTurn.objects.exclude(ended_at=None).values_list("name", "ended_at")
    turns = ((name, (now - at).total_seconds()) for name, at in ended if at)
    yield _gauge("scheduled_task_age_seconds", "Time since a scheduled task ended.", ["task"], turns)
    yield _gauge("queue_messages", "Messages that wait in the broker.", ["queue"], _queue_lengths())


def _queue_lengths() -> list[tuple[str, int]]:
    """Return nothing where the broker does not answer."""
    from core.background import queue_lengths

    with suppress(Exception):
        return sorted(queue_lengths(current_app.amqp.queues).items())
    return []

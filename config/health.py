"""Health checks for load balancers and monitoring: short words about each part, and nothing that is secret."""

import shutil
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.background import broker_answers
from core.models import WorkerProcess
from core.workers import schedule
from core.workers.requests import SEEN_WITHIN

OK = "ok"
KEPT_SECONDS = 3.0
"""How long a process remembers what it found, so that asking often costs nothing."""
MEGABYTE = 1024 * 1024

_found: dict[str, tuple[float, str]] = {}
_migrated: set[str] = set()


@require_safe
@never_cache
def health(request: HttpRequest) -> JsonResponse:
    """Return {"status": "ok" or "failing", "database": "ok" or "unreachable"}; 503 if the database does not answer."""
    found = database()
    return JsonResponse(
        {"status": OK if found == OK else "failing", "database": found}, status=200 if found == OK else 503
    )


@require_safe
@never_cache
def live(request: HttpRequest) -> JsonResponse:
    """Return status 200 as long as this process answers; it looks at nothing else."""
    return JsonResponse({"status": OK})


@require_safe
@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    """Return a word for each part, and status 503 if one is not "ok". ?without=worker,beat leaves parts out."""
    without = request.GET.get("without", "").split(",")
    parts = {name: _remembered(name, check) for name, check in CHECKS.items() if name not in without}
    good = all(word == OK for word in parts.values())
    return JsonResponse({"status": OK if good else "failing", **parts}, status=200 if good else 503)


def _remembered(name: str, check: Callable[[], str]) -> str:
    at, word = _found.get(name, (-KEPT_SECONDS, ""))
    if time.monotonic() - at >= KEPT_SECONDS:
        try:
            word = check()
        except DatabaseError:
            word = "unknown"
        _found[name] = (time.monotonic(), word)
    return word


def database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError:
        return "unreachable"
    return OK


def migrations() -> str:
    """What is applied stays applied, so it is looked up until it is complete."""
    if not _migrated:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return "missing"
        _migrated.add("all")
    return OK


def broker() -> str:
    return OK if broker_answers() else "unreachable"


def worker() -> str:
    alive = WorkerProcess.objects.filter(seen_at__gte=timezone.now() - SEEN_WITHIN)
    return OK if alive.exists() else "none"


def beat() -> str:
    return "late" if schedule.overdue(timezone.now) else OK


def disk() -> str:
    try:
        free = shutil.disk_usage(settings.DATA_DIR).free
    except OSError:
        return "unreadable"
    return OK if free >= settings.DISK_FREE * MEGABYTE else "full"


CHECKS = {
    "database": database,
    "migrations": migrations,
    "broker": broker,
    "worker": worker,
    "beat": beat,
    "disk": disk,
}

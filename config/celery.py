"""The Celery app: `celery -A config.celery worker`. A message only says which run to work on; the rows hold the state."""

import os
import sys
from pathlib import Path
from typing import Any

from celery import Celery, signals
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
TRANSPORT_ALIASES["files"] = "config.broker:Transport"
app = Celery("plumbline", task_cls="core.background:Work")
# That has put the current folder first on the path, where another core or config may lie; ours belongs there.
sys.path[0] = str(Path(__file__).resolve().parent.parent)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.worker_ready.connect  # type: ignore[untyped-decorator]
def attend(**_more: Any) -> None:
    """Beside its tasks, each worker says that it lives, watches its memory and runs what is due."""
    from core.workers.attendant import Attendant

    attendant = Attendant()
    signals.worker_shutdown.connect(lambda **_more: attendant.end(), weak=False)
    attendant.start()


@signals.worker_shutting_down.connect  # type: ignore[untyped-decorator]
def stop_soon(**_more: Any) -> None:
    """Let long work stop at its next good moment instead of at the end of the worker's patience."""
    from core.workers.leaving import leaving

    leaving.set()

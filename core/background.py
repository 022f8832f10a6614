"""Sending work to Celery by the name of its task, so that a page need not import the code of the task."""

from typing import Any

from celery import current_app
from django.db import transaction


def send(task: str, *args: Any) -> None:
    """Send the work to a worker now. `task` is the registered name of the task; raises KeyError for any other name."""
    if task not in current_app.tasks:
        current_app.loader.import_default_modules()
    current_app.tasks[task].delay(*args)


def send_after_commit(task: str, *args: Any) -> None:
    """Send the work to a worker after the current transaction commits; send nothing if it is rolled back."""
    transaction.on_commit(lambda: send(task, *args))

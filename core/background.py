"""Work handed to Celery by the name of its task, so that a page need not import what the task does."""

from typing import Any

from celery import current_app
from django.db import transaction


def send(task: str, *args: Any) -> None:
    """Hand the work to a worker now. `task` is the name that the task is registered under; KeyError for any other."""
    if task not in current_app.tasks:
        current_app.loader.import_default_modules()
    current_app.tasks[task].delay(*args)


def send_after_commit(task: str, *args: Any) -> None:
    """Hand the work to a worker once the present transaction is committed, and not at all where it is rolled back."""
    transaction.on_commit(lambda: send(task, *args))

"""Celery tasks of the background work itself."""

from celery import shared_task

from core.background import send_waiting


@shared_task(name="core.send_waiting")  # type: ignore[untyped-decorator]
def send_waiting_tasks() -> None:
    """Send requests again whose message was lost, or whose worker died."""
    send_waiting()

"""The schedule: every worker looks which scheduled tasks are due, and a row decides which of them runs one.

So no single process holds the clock: while one worker lives, sweeps go on, with or without the broker. A beat process may
send the same tasks; its messages count as another look.
"""

from datetime import datetime
from typing import Any

from celery import current_app
from celery.schedules import maybe_schedule
from django.utils import timezone

from core.clock import Clock
from core.models import ScheduledTurn


def names_of_tasks() -> set[str]:
    """Return the names of the tasks that run by schedule."""
    return {entry["task"] for entry in current_app.conf.beat_schedule.values()}


def run_due(task: str = "", *, clock: Clock = timezone.now) -> list[str]:
    """Run the tasks that are due, only this `task` if one is named, and return their names.

    A fault of one is raised after the others have run.
    """
    ran, fault = [], None
    for entry in current_app.conf.beat_schedule.values():
        name = entry["task"]
        if task not in ("", name) or not _taken(name, maybe_schedule(entry["schedule"], app=current_app), clock):
            continue
        try:
            current_app.tasks[name].run(*entry.get("args", ()), **entry.get("kwargs", {}))
            ScheduledTurn.objects.filter(name=name).update(ended_at=clock())
            ran.append(name)
        except Exception as error:
            fault = error
    if fault is not None:
        raise fault
    return ran


def overdue(clock: Clock) -> list[str]:
    """Return the scheduled tasks that have not ended for three intervals and a minute, or never."""
    ended: dict[str, datetime | None] = dict(ScheduledTurn.objects.values_list("name", "ended_at"))
    late = []
    for entry in current_app.conf.beat_schedule.values():
        interval = getattr(maybe_schedule(entry["schedule"], app=current_app), "run_every", None)
        last = ended.get(entry["task"])
        allowed = 3 * interval.total_seconds() + 60 if interval else 26 * 3600
        if last is None or (clock() - last).total_seconds() > allowed:
            late.append(entry["task"])
    return late


def _taken(name: str, schedule: Any, clock: Clock) -> bool:
    """Whether the task is due and this process is the one that runs it now."""
    now = clock()
    last = ScheduledTurn.objects.filter(name=name).values_list("begun_at", flat=True).first()
    if last is None:
        return ScheduledTurn.objects.get_or_create(name=name, defaults={"begun_at": now})[1]
    every = getattr(schedule, "run_every", None)
    due = (now - last).total_seconds() >= 0.95 * every.total_seconds() if every else schedule.is_due(last).is_due
    return bool(due and ScheduledTurn.objects.filter(name=name, begun_at=last).update(begun_at=now))

"""Requested work in rows: kept in the transaction that asks for it, claimed by one worker, and deleted when it is done.

The message only says that there is work. If it is lost, `waiting` finds the row, and the sweep sends it again.
"""

import hashlib
import json
import os
import secrets
import socket
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import F, Q
from django.utils import timezone

from core.clock import Clock
from core.models import RequestedTask, WorkerProcess

SEEN_WITHIN = timedelta(seconds=60)
"""A worker that was not seen for this long counts as dead."""
FIRST_WAIT = timedelta(seconds=45)
LONGEST_WAIT = timedelta(minutes=30)
MOST_FAILURES = 5
"""How often work is begun again whose worker died or lost the database, before it is given up."""
LONGEST_WORK = timedelta(hours=6)

process_name = f"{socket.gethostname()[:40]}:{os.getpid()}:{secrets.token_hex(4)}"
"""The name of this process in rows."""


def key_of(task: str, arguments: Sequence[Any]) -> str:
    text = json.dumps([task, list(arguments)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def keep(task: str, arguments: Sequence[Any], *, clock: Clock = timezone.now) -> str:
    """Store the request in the present transaction; return its key. Asking again for what waits changes nothing."""
    key, now = key_of(task, arguments), clock()
    row = RequestedTask(key=key, task=task, arguments=list(arguments), requested_at=now, sent_at=now, sent=1)
    RequestedTask.objects.bulk_create([row], ignore_conflicts=True)
    # What is being carried out may have read the rows before this request, so it is carried out once more.
    RequestedTask.objects.filter(key=key, begun_at__lt=now).update(requested_at=now)
    return key


def claim(key: str, *, worker: str = process_name, clock: Clock = timezone.now) -> bool:
    """Whether this worker is to do the work: it is not done yet, and no living worker is busy with it."""
    now = clock()
    return bool(_free(clock).filter(key=key).update(worker=worker, begun_at=now))


def done(key: str, *, worker: str = process_name) -> bool:
    """Forget the request; return False if it came again since the work began, and is to be sent once more."""
    mine = RequestedTask.objects.filter(key=key, worker=worker)
    if mine.filter(requested_at__lte=F("begun_at")).delete()[0]:
        return True
    return not mine.update(worker="", begun_at=None)


def put_back(key: str, *, worker: str = process_name) -> None:
    """Leave the work for later, because the database went away in the middle of it."""
    mine = RequestedTask.objects.filter(key=key, worker=worker)
    mine.update(worker="", begun_at=None, failures=F("failures") + 1)


def waiting(clock: Clock) -> Iterator[RequestedTask]:
    """Yield the requests to send again: each the longer after its last message the more were sent.

    Requests whose workers died again and again are deleted, and yielded no more.
    """
    now = clock()
    dead = _free(clock).exclude(worker="")
    dead.update(worker="", begun_at=None, failures=F("failures") + 1, sent_at=now - LONGEST_WAIT)
    RequestedTask.objects.filter(failures__gte=MOST_FAILURES).delete()
    for row in RequestedTask.objects.filter(worker="", sent_at__lt=now - FIRST_WAIT):
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(10, max(0, row.sent - 1)))
        if row.sent_at is None or now - row.sent_at >= wait:
            RequestedTask.objects.filter(pk=row.pk).update(sent_at=now, sent=F("sent") + 1)
            yield row


def _free(clock: Clock) -> Any:
    """The requests that no living worker carries out."""
    now = clock()
    alive = WorkerProcess.objects.filter(seen_at__gte=now - SEEN_WITHIN).values("name")
    return RequestedTask.objects.filter(Q(worker="") | ~Q(worker__in=alive) | Q(begun_at__lt=now - LONGEST_WORK))

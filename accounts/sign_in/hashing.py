"""A bound on password hashing, which is slow by design: however many people sign in at once, other pages still answer.

The bound holds over all processes of a machine. A few requests more may wait for a moment; all others are told at once to
come back. Commands are not bounded.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from core.errors import UserError

WAITING = 2
"""Requests of one process that may wait for each hashing that may run."""
WAIT_SECONDS = 2.0
LOOK_EVERY_SECONDS = 0.02
RETRY_SECONDS = 2

serving: ContextVar[bool] = ContextVar("serving", default=False)
"""Whether this thread answers a request."""
_holding: ContextVar[bool] = ContextVar("_holding", default=False)
"""Whether this thread holds a slot already."""


class HashingBusy(UserError):
    """As many passwords are being hashed as the server allows; nothing was checked or changed."""


class BoundedHasher(PBKDF2PasswordHasher):
    """Django's own hasher, in its format, which hashes while there is a slot. Raises HashingBusy inside a request."""

    def encode(self, *args: Any, **options: Any) -> str:
        with hashing_slot():
            return super().encode(*args, **options)


@contextmanager
def hashing_slot() -> Iterator[None]:
    """Hold one of the machine's slots. Raises HashingBusy, at once if enough requests of the process wait already."""
    if not serving.get() or _holding.get():
        yield
        return
    entrance = _entrance(settings.PASSWORD_HASHINGS)
    if not entrance.acquire(blocking=False):
        raise HashingBusy
    try:
        slot = _free_slot(settings.HASHING_DIR, settings.PASSWORD_HASHINGS)
        held = _holding.set(True)
        try:
            yield
        finally:
            _holding.reset(held)
            os.close(slot)
    finally:
        entrance.release()


def _free_slot(folder: Path, slots: int) -> int:
    """Return an open file whose lock is this hashing's slot; the system frees the lock of a process that dies."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    until = time.monotonic() + WAIT_SECONDS
    while True:
        for number in range(slots):
            file = os.open(folder / f"slot{number}", os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
            else:
                return file
        if time.monotonic() > until:
            raise HashingBusy
        time.sleep(LOOK_EVERY_SECONDS)


@cache
def _entrance(slots: int) -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(slots * (1 + WAITING))

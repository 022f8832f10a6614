"""Sending work to Celery by the name of its task, so that a page need not import the code of the task.

A page never waits for the broker and never fails because of it: what it asks for is in a row first, and the sweep sends
it again while the row is there.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, TimeoutError as TookTooLong
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from celery import Task, current_app
from celery.exceptions import Ignore
from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone
from kombu.exceptions import ChannelError, KombuError, OperationalError as BrokerError

from core.clock import Clock
from core.workers import requests, schedule

logger = logging.getLogger(__name__)

LONGEST_SENDING = 1.0
"""Seconds after which a message counts as not sent; the request that sends it goes on."""
REST_SECONDS = 5.0
"""How long nothing is sent after the broker did not take a message, so that not every page waits for it."""
QUICK_OPTIONS = {
    "redis": {"socket_connect_timeout": 0.8, "socket_timeout": 0.8, "retry_on_timeout": False},
    "rediss": {"socket_connect_timeout": 0.8, "socket_timeout": 0.8, "retry_on_timeout": False},
    # Without a confirmation, a message written to a connection that is gone counts as sent.
    "amqp": {"connect_timeout": 0.8, "read_timeout": 0.8, "write_timeout": 0.8, "confirm_publish": True},
    "amqps": {"connect_timeout": 0.8, "read_timeout": 0.8, "write_timeout": 0.8, "confirm_publish": True},
}
KEPT = "plumbline_kept"
"""The header with the key of the row that keeps a request."""

_kept: ContextVar[str] = ContextVar("kept", default="")


class BrokerAway(Exception):
    """The broker did not take the message in time."""


class Work(Task):  # type: ignore[misc]
    """The class of every task: it is sent quickly or not at all, done once for each row that asks for it, and a scheduled
    one runs when it is due, whoever says so."""

    def apply_async(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        """Send the message. Raises BrokerAway."""
        if current_app.conf.task_always_eager:
            return super().apply_async(args, kwargs, **options)
        headers = dict(options.pop("headers", None) or {})
        if key := _kept.get():
            headers[KEPT] = key
        send = super().apply_async
        return _sender().send(lambda **more: send(args, kwargs, headers=headers, **{**options, **more}))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.request.called_directly:
            return super().__call__(*args, **kwargs)
        if self.name in schedule.names_of_tasks():
            return schedule.run_due(self.name)
        key = (self.request.headers or {}).get(KEPT) or self.request.get(KEPT)
        if not key:
            return super().__call__(*args, **kwargs)
        if not requests.claim(key):
            raise Ignore
        with _kept_until_done(key, self.name, args):
            return super().__call__(*args, **kwargs)


@contextmanager
def _kept_until_done(key: str, task: str, args: Any) -> Iterator[None]:
    """Keep the row if the database goes away, so that the work is done later; a fault of the work ends it."""
    try:
        yield
    except (OperationalError, InterfaceError):
        requests.put_back(key)
        raise
    except Exception:
        requests.done(key)
        raise
    if not requests.done(key):
        send(task, *args, key=key)


class _Sender:
    """Sends messages over connections of its own, which give up after a second, and rests while the broker is away."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="sending")
        self._of_thread = threading.local()
        # What is loaded for the first message is loaded here, so that its time does not count as the broker's.
        with _new_connection() as connection:
            assert connection.transport and current_app.amqp.queues is not None
        self._away_until = 0.0

    def send(self, send: Callable[..., Any]) -> Any:
        """Raises BrokerAway."""
        if time.monotonic() < self._away_until:
            raise BrokerAway("it did not answer a moment ago")
        try:
            return self._within(lambda: self._publish(send))
        except BrokerAway:
            self._away_until = time.monotonic() + REST_SECONDS
            raise

    def answers(self) -> bool:
        """Whether the broker accepts a new connection."""
        with suppress(BrokerAway):
            self._within(self._connect)
            return True
        return False

    def _within(self, act: Callable[[], Any]) -> Any:
        """Raises BrokerAway, also where a name cannot be resolved in time or a library tries again by itself."""
        try:
            return self._threads.submit(act).result(LONGEST_SENDING)
        except TookTooLong as error:
            raise BrokerAway(f"it did not answer within {LONGEST_SENDING:g} s") from error
        except (BrokerError, KombuError, OSError) as error:
            raise BrokerAway(type(error.__cause__ or error).__name__) from error

    def _publish(self, send: Callable[..., Any]) -> Any:
        """Send over this thread's connection; where it is older than the broker, once more over a new one."""
        producer = getattr(self._of_thread, "producer", None)
        is_new = producer is None
        try:
            if producer is None:
                producer = self._of_thread.producer = current_app.amqp.Producer(_new_connection(), auto_declare=False)
            with producer.connection._reraise_as_library_errors():
                return send(producer=producer, retry=False)
        except (BrokerError, KombuError, OSError):
            self._of_thread.producer = None
            if producer is not None:
                with suppress(Exception):
                    producer.connection.collapse()
            if is_new:
                raise
        return self._publish(send)

    def lengths(self, queues: Iterable[str]) -> dict[str, int]:
        """Raises BrokerAway."""
        found: dict[str, int] = self._within(lambda: self._lengths(list(queues)))
        return found

    @staticmethod
    def _lengths(queues: list[str]) -> dict[str, int]:
        found = {}
        with _new_connection() as connection, connection._reraise_as_library_errors():
            for name in queues:
                with suppress(ChannelError), connection.channel() as channel:
                    found[name] = channel.queue_declare(name, passive=True).message_count
        return found

    @staticmethod
    def _connect() -> None:
        with _new_connection() as connection, connection._reraise_as_library_errors():
            connection.connect()


def _new_connection() -> Any:
    options = QUICK_OPTIONS.get(urlsplit(str(current_app.conf.broker_url)).scheme, {})
    return current_app.connection_for_write(connect_timeout=0.8, transport_options=options)


@cache
def _sender() -> _Sender:
    return _Sender()


def broker_answers() -> bool:
    """Whether the broker accepts a connection within about a second."""
    return _sender().answers()


def queue_lengths(queues: Iterable[str]) -> dict[str, int]:
    """Return how many messages wait in each queue that the broker has. Raises BrokerAway."""
    return _sender().lengths(queues)


def send(task: str, *args: Any, key: str = "") -> bool:
    """Send the work to a worker now, and return whether the broker took the message.

    `task` is the registered name of the task; raises KeyError for any other name. Only for work that some row asks for,
    from which a sweep sends it again; `key` names the row of a kept request.
    """
    if task not in current_app.tasks:
        current_app.loader.import_default_modules()
    before = _kept.set(key)
    try:
        current_app.tasks[task].delay(*args)
    except BrokerAway as error:
        logger.warning("%s is sent later: the broker is away (%s)", task, error)
        return False
    finally:
        _kept.reset(before)
    return True


def send_after_commit(task: str, *args: Any, kept: bool = True) -> None:
    """Send the work to a worker after the current transaction commits; send nothing if it is rolled back.

    The request is kept in a row until it is done. `kept` is False for work of which other rows say what is left to do.
    """
    key = requests.keep(task, args) if kept else ""
    transaction.on_commit(lambda: send(task, *args, key=key) and None)


def send_waiting(clock: Clock = timezone.now) -> None:
    """Send requests again whose message was lost, or whose worker died."""
    for row in requests.waiting(clock):
        try:
            send(row.task, *row.arguments, key=row.key)
        except KeyError:
            logger.error("No task is called %s; what was asked of it is given up", row.task)
            row.delete()

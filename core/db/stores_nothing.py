"""Functions that look at what a study would be without storing any of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from django.db import connection, transaction

P = ParamSpec("P")
R = TypeVar("R")


def stores_nothing(function: Callable[P, R]) -> Callable[P, R]:
    """Take back what the function writes, such as the rubric that a study of reviews is given at its launch."""

    @wraps(function)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        with _transaction_that_may_only_read():
            result = function(*args, **kwargs)
            transaction.set_rollback(True)
        return result

    return within


@contextmanager
def _transaction_that_may_only_read() -> Iterator[None]:
    """A transaction that takes SQLite's one write lock with its first write: one that only reads waits for nobody."""
    database = cast(Any, connection)
    mode = getattr(database, "transaction_mode", None)
    if mode is not None:
        database.transaction_mode = "DEFERRED"
    try:
        with transaction.atomic():
            if mode is not None:
                database.transaction_mode = mode
            yield
    finally:
        if mode is not None:
            database.transaction_mode = mode

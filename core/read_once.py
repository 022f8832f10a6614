"""What one page asks for several times is read once: a page asks who its visitor is, and what a study asks, everywhere."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

T = TypeVar("T")
_known: ContextVar[dict[Hashable, Any] | None] = ContextVar("read_once", default=None)


@contextmanager
def read_once() -> Iterator[None]:
    """Within this block, which changes nothing that `once` reads, each of these is read at most once."""
    before = _known.set({})
    try:
        yield
    finally:
        _known.reset(before)


def once(key: Hashable, read: Callable[[], T]) -> T:
    """Return what `read` returns; within read_once, what it returned the first time under this key."""
    known = _known.get()
    if known is None:
        return read()
    if key not in known:
        known[key] = read()
    return cast(T, known[key])

"""Dotted paths into objects read from JSON or Parquet: data.prompt, messages[0].content, results.0.score. PURE."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

BRACKETS = re.compile(r"\[(\d{1,9})\]")
DEEPEST = 20
"""Steps of a path that are followed."""


def value_at(value: object, path: str) -> Any:
    """Return what the path leads to, None where it leads nowhere.

    A key that contains dots itself is found before the steps that it could be read as.
    """
    if isinstance(value, Mapping) and path in value:
        return value[path]
    return _follow(value, _steps(path))


def _follow(value: object, steps: Sequence[str]) -> Any:
    if not steps:
        return value
    if isinstance(value, Mapping):
        for taken in range(len(steps), 0, -1):
            key = ".".join(steps[:taken])
            if key in value:
                return _follow(value[key], steps[taken:])
    if isinstance(value, list) and steps[0].isdecimal() and int(steps[0]) < len(value):
        return _follow(value[int(steps[0])], steps[1:])
    return None


def _steps(path: str) -> list[str]:
    return BRACKETS.sub(r".\1", path).split(".")[:DEEPEST]


def beginnings(path: str) -> Iterator[str]:
    """Yield each shorter path on the way to this one: a and a.b of a.b.c."""
    steps = _steps(path)
    for taken in range(1, len(steps)):
        yield ".".join(steps[:taken])


def may_lead(path: str, known: Collection[str]) -> bool:
    """Whether a path of several steps begins with one of the known keys."""
    return any(beginning in known for beginning in beginnings(path))

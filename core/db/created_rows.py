"""Which rows a block of code creates or completes, as the code that writes them says; ids are kept as ranges."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db.models import Model

Ranges = list[list[int]]


class CreatedRows:
    """The ids of created rows by model label, and the former values of rows that were there and have been changed."""

    def __init__(self) -> None:
        self.created: dict[str, set[int]] = {}
        self.changed: dict[tuple[str, int], dict[str, Any]] = {}
        self._earlier: dict[str, Ranges] = {}

    def ranges(self) -> dict[str, Ranges]:
        labels = sorted({*self._earlier, *(label for label, ids in self.created.items() if ids)})
        return {label: merged(self._earlier.get(label, []), ranges_of(self.created.get(label, ()))) for label in labels}

    def count(self, label: str) -> int:
        """How many rows of the model have been created."""
        return sum(high - low + 1 for low, high in self.ranges().get(label, ()))

    def changed_count(self, label: str) -> int:
        """How many rows of the model were there and have been changed."""
        return sum(one == label for one, _pk in self.changed)

    def has(self, label: str, pk: int) -> bool:
        """Whether this row has been created."""
        if pk in self.created.get(label, ()):
            return True
        ranges = self._earlier.get(label, [])
        place = bisect_right(ranges, pk, key=lambda one: one[0])
        return place > 0 and pk <= ranges[place - 1][1]

    def include(self, later: "CreatedRows") -> None:
        """Add what a later block created and changed; only ranges of its ids are kept."""
        for label, ranges in later.ranges().items():
            self._earlier[label] = merged(self._earlier.get(label, []), ranges)
        for (label, pk), fields in later.changed.items():
            if not self.has(label, pk):
                self.changed[label, pk] = {**fields, **self.changed.get((label, pk), {})}

    def former(self) -> list[dict[str, Any]]:
        """The changed rows, those with the same former values together: [{"model", "ids", "fields"}, ...]."""
        alike: dict[str, dict[str, Any]] = {}
        for (label, pk), fields in self.changed.items():
            group = alike.setdefault(f"{label} {fields!r}", {"model": label, "ids": [], "fields": fields})
            group["ids"].append(pk)
        return [{**group, "ids": ranges_of(group["ids"])} for group in alike.values()]


_current: ContextVar[CreatedRows | None] = ContextVar("created_rows", default=None)


@contextmanager
def collecting() -> Iterator[CreatedRows]:
    """Collect what the block's code reports with `note_created`, `note_ids` and `note_changed`."""
    found = CreatedRows()
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


def is_collecting() -> bool:
    return _current.get() is not None


def note_created(rows: Iterable[Model]) -> None:
    """Report rows that have just been inserted; nothing is kept outside `collecting`."""
    if (found := _current.get()) is not None:
        for row in rows:
            found.created.setdefault(row._meta.label, set()).add(row.pk)


def note_ids(model: type[Model], ids: Iterable[int]) -> None:
    if (found := _current.get()) is not None:
        found.created.setdefault(model._meta.label, set()).update(ids)


def note_changed(row: Model, former: Mapping[str, Any]) -> None:
    """Report a row whose fields had these values before; of a row that the block itself created nothing is kept."""
    found = _current.get()
    if found is not None and not found.has(row._meta.label, row.pk):
        known = found.changed.setdefault((row._meta.label, row.pk), {})
        found.changed[row._meta.label, row.pk] = {**former, **known}


def ranges_of(ids: Collection[int]) -> Ranges:
    """[1, 2, 3, 7] as [[1, 3], [7, 7]]."""
    ranges: Ranges = []
    for pk in sorted(ids):
        if ranges and pk == ranges[-1][1] + 1:
            ranges[-1][1] = pk
        else:
            ranges.append([pk, pk])
    return ranges


def merged(first: Ranges, second: Ranges) -> Ranges:
    """[[1, 3]] and [[4, 4], [9, 9]] as [[1, 4], [9, 9]]."""
    ranges: Ranges = []
    for low, high in sorted([*first, *second]):
        if ranges and low <= ranges[-1][1] + 1:
            ranges[-1][1] = max(ranges[-1][1], high)
        else:
            ranges.append([low, high])
    return ranges


def ids_in(ranges: Iterable[Iterable[int]]) -> set[int]:
    """[[1, 3], [7, 7]] as {1, 2, 3, 7}."""
    return {pk for low, high in ranges for pk in range(low, high + 1)}

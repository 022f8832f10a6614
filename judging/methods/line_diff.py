"""Two texts line by line: what was taken away, what was added, and a little of what stands around it. PURE."""

from collections.abc import Iterator
from typing import NamedTuple

from annotation.rules.alignment import Work, steps_between

AROUND = 2


class Line(NamedTuple):
    """`kind` is 'same', 'removed', 'added' or 'gap', whose `text` is the number of equal lines left out."""

    kind: str
    text: str


def line_diff(before: str, after: str, *, around: int = AROUND) -> list[Line]:
    """From `before` to `after`; [] where no line differs. Of equal lines only `around` next to a change are kept.

    Where the lines are too many to be compared, all between the first and the last that differ are given as changed.
    """
    old, new = before.strip().splitlines(), after.strip().splitlines()
    if old == new:
        return []
    steps = steps_between(old, new, Work())
    found: list[Line] = []
    for place, (kind, (first, last), (start, stop)) in enumerate(steps):
        if kind == "equal":
            found += _shortened(old[first:last], around if place else 0, around if place + 1 < len(steps) else 0)
        else:
            found += [Line("removed", text) for text in old[first:last]]
            found += [Line("added", text) for text in new[start:stop]]
    return found


def _shortened(lines: list[str], head: int, tail: int) -> Iterator[Line]:
    if len(lines) <= head + tail + 1:
        yield from (Line("same", text) for text in lines)
        return
    yield from (Line("same", text) for text in lines[:head])
    yield Line("gap", str(len(lines) - head - tail))
    yield from (Line("same", text) for text in lines[len(lines) - tail :])

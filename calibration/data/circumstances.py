"""The circumstances of each answer of a study: when it was given, how long it took, which side was shown first."""

from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter

import numpy as np
from django.db.models import Q
from django.db.models.functions import Length

from annotation.assignment.haste import words_shown
from annotation.models import Assignment, Rater, Study, Task, counting
from calibration.data.frames import Floats, Ints
from generation.models import Response

SIDES = {"": 0, "a": 1, "b": 2}


@dataclass(frozen=True)
class Circumstances:
    """One entry a submitted answer, arrays (n,) in ascending order of `assignment` (its pk).

    seconds: active time on the task, or where no browser measured it, what passed from hand-out to answer; words: of the
    texts shown; place: grows through a rater's session; each NaN where unknown. first: 1 the task's response A stood
    first, 2 response B, 0 unknown. played: its place among all answers of the study, by time where every answer has
    one, else by pk.
    """

    assignment: Ints
    task: Ints
    rater: Ints
    repeat: Ints
    seconds: Floats
    words: Floats
    place: Floats
    first: Ints
    played: Ints

    def rows(self, assignments: Ints) -> Ints:
        """The entries of these assignments, all of which must be in."""
        return np.searchsorted(self.assignment, assignments).astype(np.int64)


def circumstances(study: Study, *, people: bool = True, judges: bool = True) -> Circumstances:
    """Of every submitted or derived answer of the study, repeats included; three queries and a pass over the rows."""
    kinds = [Rater.Kind.PERSON, Rater.Kind.SLOT] * people + [Rater.Kind.JUDGE] * judges
    found = Assignment.objects.filter(
        counting() | Q(status=Assignment.Status.DERIVED), task__study=study, rater__kind__in=kinds
    )
    columns = (
        "pk",
        "task_id",
        "rater_id",
        "repeat",
        "active_seconds",
        "shown_first",
        "order",
        "submitted_at",
        "shown_at",
    )
    rows = list(found.order_by("pk").values_list(*columns))
    words = words_shown(Task.objects.filter(study=study))
    unknown = float("nan")
    numbers = np.array([row[:4] for row in rows], dtype=np.int64).reshape(-1, 4)
    times = np.array([row[7].timestamp() if row[7] else unknown for row in rows], dtype=np.float64)
    by_time = times if np.isfinite(times).all() else np.arange(len(rows), dtype=np.float64)
    return Circumstances(
        assignment=numbers[:, 0],
        task=numbers[:, 1],
        rater=numbers[:, 2],
        repeat=numbers[:, 3],
        seconds=np.array([_seconds(row[4], row[8], row[7]) for row in rows], dtype=np.float64),
        words=np.array([words.get(row[1], unknown) for row in rows], dtype=np.float64),
        place=_places(numbers[:, 2], [row[6] for row in rows], times),
        first=np.array([SIDES.get(row[5], 0) for row in rows], dtype=np.int64),
        played=np.argsort(np.argsort(by_time, kind="stable"), kind="stable").astype(np.int64),
    )


def _seconds(active: float | None, shown: datetime | None, submitted: datetime | None) -> float:
    if active:
        return active
    if shown is not None and submitted is not None:
        return (submitted - shown).total_seconds()
    return float("nan") if active is None else active


def _places(rater: Ints, orders: list[int | None], times: Floats) -> Floats:
    """Each rater's stated order where all its answers have one, else the time, else NaN."""
    places = np.full(len(orders), np.nan)
    for _, group in groupby(sorted(zip(rater.tolist(), range(len(orders)), strict=True)), key=itemgetter(0)):
        own = [index for _, index in group]
        stated = [orders[index] for index in own]
        if all(order is not None for order in stated):
            places[own] = stated
        elif np.isfinite(times[own]).all():
            places[own] = times[own]
    return places


def response_characters(responses: Ints) -> dict[int, int]:
    """Lengths of the texts that are stored, in characters, by response pk."""
    found: dict[int, int] = {}
    wanted = np.unique(responses[responses > 0]).tolist()
    for start in range(0, len(wanted), 5000):
        part = Response.objects.filter(pk__in=wanted[start : start + 5000], text__isnull=False)
        found |= dict(part.annotate(characters=Length("text")).values_list("pk", "characters"))
    return found

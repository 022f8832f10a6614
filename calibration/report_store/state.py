"""The state of the rows on which a study's reports rest: values that change whenever an answer or a category does."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from django.core.cache import cache
from django.db import connection
from django.db.models import Count, Max, Q

from annotation.counters.counts import StudyCounts, counts_of
from annotation.models import Assignment, Score, Study, Task
from calibration.data.verdicts import judged_elsewhere
from generation.models import Category, Instruction, Response

SUBMITTED = Count("pk", filter=Q(status="submitted"))
DISCREDITED = Count("pk", filter=Q(discredited=True))
REMEMBERED_SECONDS = 3600
T = TypeVar("T")


ReadCounts = Callable[[Study], StudyCounts | None]


@dataclass(frozen=True)
class State:
    """The state as JSON values, and the number of answers that it counts."""

    values: list[Any]
    answers: int


def state_of(study: Study, read: ReadCounts = counts_of) -> State:
    """Read the state of a study.

    Its own answers are counted by the database (annotation.counters). What judges answered elsewhere and the categories
    are read again only after one of them has changed, as far as this process knows what they were.
    """
    counts = read(study)
    if counts is None:
        return _from_rows(study)
    others = f"{study.pk}-{counts.tasks}-{counts.judged_elsewhere}"
    return State(
        [
            {"changes": counts.changes},
            *(_remembered(f"judged-elsewhere-{others}", partial(_elsewhere, study)) if counts.judged_elsewhere else []),
            _remembered(f"filed-{study.pk}-{counts.tasks}-{counts.filed}", partial(_filed, study)),
        ],
        counts.answers,
    )


def _remembered(key: str, read: Callable[[], T]) -> T:
    """Return what was read under this key. Not within a transaction, of which nothing would remain after a rollback."""
    if connection.in_atomic_block:
        return read()
    found = cache.get(key)
    if found is None:
        found = read()
        cache.set(key, found, REMEMBERED_SECONDS)
    return cast(T, found)


def _from_rows(study: Study) -> State:
    """Read the state while nothing is counted, between migrations.

    Scores are append-only, so counts and maxima are enough; categories can be edited, so a hash of them is included.
    """
    own = Assignment.objects.filter(task__study=study)
    answered = own.aggregate(n=Count("pk"), submitted=SUBMITTED, discredited=DISCREDITED)
    scores = Score.objects.filter(assignment__task__study=study).aggregate(n=Count("pk"), last=Max("pk"))
    return State([answered, scores, *_elsewhere(study), _filed(study)], answered["submitted"])


def _elsewhere(study: Study) -> list[dict[str, object]]:
    judged = judged_elsewhere(study)
    return [
        judged.aggregate(n=Count("pk"), submitted=SUBMITTED, discredited=DISCREDITED),
        Score.objects.filter(assignment__in=judged).aggregate(n=Count("pk"), last=Max("pk")),
    ]


def scores_of(study: Study, read: ReadCounts = counts_of) -> int:
    """Return how many scores a study has."""
    counts = read(study)
    return Score.objects.filter(assignment__task__study=study).count() if counts is None else counts.scores


def _filed(study: Study) -> str:
    """SHA-256 over the category of each instruction of the study and over the names of these categories."""
    responses = Response.objects.filter(pk__in=Task.objects.filter(study=study).values("response_a"))
    instructions = Instruction.objects.filter(pk__in=responses.values("instruction"))
    filed = list(instructions.order_by("pk").values_list("pk", "category"))
    leaves = {category for _, category in filed if category is not None}
    named = Category.objects.filter(pk__in=leaves).order_by("pk")
    called = list(named.values_list("pk", "key", "names", "parent", "parent__key", "parent__names"))
    return hashlib.sha256(json.dumps([filed, called], sort_keys=True).encode()).hexdigest()

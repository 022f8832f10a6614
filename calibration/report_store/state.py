"""The state of the rows on which a study's reports rest: values that change whenever an answer or a category does."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q

from annotation.models import Assignment, Score, Study, Task
from calibration.data.verdicts import judged_elsewhere
from generation.models import Category, Instruction, Response

SUBMITTED = Count("pk", filter=Q(status="submitted"))
DISCREDITED = Count("pk", filter=Q(discredited=True))


@dataclass(frozen=True)
class State:
    """The state as JSON values, and the number of answers that it counts."""

    values: list[Any]
    answers: int


def state_of(study: Study) -> State:
    """Read the state of a study.

    Scores are append-only, so counts and maxima are enough; categories can be edited, so a hash of them is included.
    """
    own = Assignment.objects.filter(task__study=study)
    judged = judged_elsewhere(study)
    answered = own.aggregate(n=Count("pk"), submitted=SUBMITTED, discredited=DISCREDITED)
    values = [
        answered,
        Score.objects.filter(assignment__task__study=study).aggregate(n=Count("pk"), last=Max("pk")),
        judged.aggregate(n=Count("pk"), submitted=SUBMITTED, discredited=DISCREDITED),
        Score.objects.filter(assignment__in=judged).aggregate(n=Count("pk"), last=Max("pk")),
        {"categories": _filed(study)},
    ]
    return State(values, answered["submitted"])


def scores_of(study: Study) -> int:
    """Count the scores of a study."""
    return Score.objects.filter(assignment__task__study=study).count()


def _filed(study: Study) -> str:
    """SHA-256 over the category of each instruction of the study and over the names of these categories."""
    responses = Response.objects.filter(pk__in=Task.objects.filter(study=study).values("response_a"))
    instructions = Instruction.objects.filter(pk__in=responses.values("instruction"))
    filed = list(instructions.order_by("pk").values_list("pk", "category"))
    leaves = {category for _, category in filed if category is not None}
    named = Category.objects.filter(pk__in=leaves).order_by("pk")
    called = list(named.values_list("pk", "key", "names", "parent", "parent__key", "parent__names"))
    return hashlib.sha256(json.dumps([filed, called], sort_keys=True).encode()).hexdigest()

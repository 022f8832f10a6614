"""The questions of a study as the planner simulates them: how many, on which scale, and of what kind."""

from dataclasses import dataclass
from math import ceil, sqrt

from annotation.models import Criterion, Rubric, Study
from calibration.statistics.design.planner import LEVELS, PREFERENCES

MOST_LEVELS = 21
"""A finer scale is simulated with this many levels."""
MOST_ITEMS = 40


@dataclass(frozen=True)
class PlannedQuestions:
    """`items` questions (0 without a rubric), with `levels` as shares of their scale, and an `overall` score.

    `pairs`: the study compares pairs of responses.
    """

    items: int
    levels: tuple[float, ...]
    overall: bool
    pairs: bool

    def pairs_of(self, models: int) -> int:
        """The number of pairs of an instruction's responses by so many models; 0 in a study of single responses."""
        return models * (models - 1) // 2 if self.pairs else 0


def questions_of(study: Study) -> PlannedQuestions:
    """Read the study's rubric, or that of its first task; of several rubrics the tasks use, the first stands for all."""
    pairs = study.kind == Study.Kind.PAIR
    criteria = list(rubric.criteria.all()) if (rubric := _rubric_of(study)) else []
    role = Criterion.Role.PREFERENCE if pairs else Criterion.Role.ITEM
    items = [one for one in criteria if one.role == role]
    overall = [one for one in criteria if one.role == Criterion.Role.OVERALL]
    asked = items or overall
    usual = PREFERENCES if pairs else LEVELS
    return PlannedQuestions(
        items=min(MOST_ITEMS, len(asked)),
        levels=levels_of(asked[0]) if asked else usual,
        overall=not pairs and (not criteria or bool(items and overall)),
        pairs=pairs,
    )


def models_for(pairs: int) -> int:
    """The smallest number of models with this many different pairs."""
    return max(2, ceil((1 + sqrt(1 + 8 * pairs)) / 2))


def levels_of(criterion: Criterion) -> tuple[float, ...]:
    """The scale's levels as shares of it, ascending; a range without a step, or with a fine one, has MOST_LEVELS."""
    low, high = criterion.ends
    if criterion.levels:
        values = sorted({float(level["value"]) for level in criterion.levels})
        shares = [(value - low) / (high - low) for value in values] if high > low else []
    else:
        number = min(MOST_LEVELS, round((high - low) / criterion.step) + 1 if criterion.step else MOST_LEVELS)
        shares = [place / (number - 1) for place in range(number)] if number > 1 else []
    return tuple(shares) if len(shares) > 1 else LEVELS


def _rubric_of(study: Study) -> Rubric | None:
    if study.rubric is not None:
        return study.rubric
    task = study.tasks.filter(gold__isnull=True).select_related("answer_rubric").order_by("position", "pk").first()
    return task.answer_rubric if task else None

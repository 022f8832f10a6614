"""Models ranked by a judge's verdicts: rows to scores by way of judging.scoring."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from annotation.models import Assignment, Rater
from calibration.datasets import ROLES, Floats, Ints, ScoreFrame, score_frame, unscored_counts
from calibration.resampling import IntervalKind
from generation.models import MAIN_EXPERIMENT, Benchmark, Category
from judging.scoring import (
    Interval,
    ModelScores,
    NoVerdicts,
    Points,
    average_intervals,
    model_scores,
    response_points,
)
from judging.weightings import Weighting, weighting_named

ITEM = ROLES.index("item")


class UnknownJudge(LookupError):
    """No judge has this name here; the sentence says which there are."""


@dataclass(frozen=True)
class JudgedResponses:
    """One entry a judged response, arrays of shape (n,); category is the top one's pk, points 0..100."""

    response: Ints
    instruction: Ints
    model: Ints
    category: Ints
    points: Floats


@dataclass(frozen=True)
class Leaderboard:
    """`models` best first; `categories` the keys of the top categories, in the benchmark's order."""

    benchmark: Benchmark
    judge: Rater
    weighting: Weighting
    experiment: str
    categories: Mapping[int, str]
    models: tuple[ModelScores, ...]
    judged: JudgedResponses
    model_names: Mapping[int, str]

    @cached_property
    def intervals(self) -> tuple[dict[str, Interval], IntervalKind, int]:
        """By model name; how they were made; over how many instructions."""
        found, kind, clusters = average_intervals(
            model=self.judged.model,
            category=self.judged.category,
            instruction=self.judged.instruction,
            points=self.judged.points,
        )
        return {self.model_names[pk]: ends for pk, ends in found.items()}, kind, clusters

    def as_json(self) -> dict[str, Any]:
        return {
            "models": [
                {
                    "model": one.model,
                    "categories": {
                        key: {"score": cell.score, "n": cell.n, "unscored": cell.unscored}
                        for key, cell in one.categories.items()
                    },
                    "average": one.average,
                }
                for one in self.models
            ]
        }


def judges_of(benchmark: Benchmark) -> list[Rater]:
    """Judges that have answered about this benchmark's responses, by name."""
    judged = Assignment.objects.filter(
        task__response_a__instruction__benchmark=benchmark, rater__kind="judge"
    )
    return list(Rater.objects.filter(pk__in=judged.values("rater").distinct()).order_by("label"))


def judge_named(benchmark: Benchmark, name: str) -> Rater:
    """Raises UnknownJudge."""
    known = judges_of(benchmark)
    found = next((judge for judge in known if name in (judge.label, judge.name, judge.public_id)), None)
    if found is None:
        names = ", ".join(judge.label for judge in known) or "none yet"
        raise UnknownJudge(f"No judge {name!r} has judged benchmark {benchmark.slug}; judges there: {names}.")
    return found


def leaderboard(
    benchmark: Benchmark, judge: Rater, weights: str | Weighting, *, experiment: str = MAIN_EXPERIMENT
) -> Leaderboard:
    """Raises NoVerdicts, UnknownWeights, MissingWeights, WithoutWeight.

    A response judged in several studies counts once, with the mean of its points.
    """
    weighting = weighting_named(benchmark, weights) if isinstance(weights, str) else weights
    frame = score_frame(benchmark=benchmark, raters=[judge.pk], people=False, experiment=experiment)
    frame = frame.select((frame.role == ITEM) & frame.applicable & (frame.model > 0) & (frame.parent > 0))
    if not len(frame):
        raise NoVerdicts(
            f"{judge} has no usable verdict on benchmark {benchmark.slug}, experiment {experiment or 'any'}."
        )
    leaves = {
        category.pk: category
        for category in Category.objects.filter(benchmark=benchmark).select_related("parent")
    }
    points = weighted_points(frame, weighting, leaves)
    judged = _judged(frame, points)
    unscored = _unscored(benchmark, judge, experiment, leaves)
    tops = _top_categories(leaves, judged, unscored)
    models = model_scores(
        model=judged.model,
        category=judged.category,
        points=judged.points,
        unscored=unscored,
        model_names=_names(benchmark, frame, unscored),
        category_keys=tops,
    )
    return Leaderboard(
        benchmark,
        judge,
        weighting,
        experiment,
        tops,
        tuple(models),
        judged,
        _names(benchmark, frame, unscored),
    )


def weighted_points(frame: ScoreFrame, weighting: Weighting, leaves: Mapping[int, Category]) -> Points:
    """Points of each response of item scores: answers mapped to 0..1 from their scale's own ends."""
    weight = np.empty(len(frame))
    for category in np.unique(frame.category):
        mask = frame.category == category
        codes, first = np.unique(frame.criterion[mask], return_index=True)
        positions = frame.position[mask][first]
        keys = [frame.criterion_keys[code] for code in codes]
        found = weighting.weights(leaves.get(int(category)), keys, [int(position) for position in positions])
        weight[mask] = np.array(found)[np.searchsorted(codes, frame.criterion[mask])]
    answer = (frame.value - frame.low) / (frame.high - frame.low)
    return response_points(frame.response, answer, weight)


def _judged(frame: ScoreFrame, points: Points) -> JudgedResponses:
    _, first = np.unique(frame.response, return_index=True)
    return JudgedResponses(
        points.response, frame.instruction[first], frame.model[first], frame.parent[first], points.points
    )


def _unscored(
    benchmark: Benchmark, judge: Rater, experiment: str, leaves: Mapping[int, Category]
) -> dict[tuple[int, int], int]:
    """By (model, top category); what belongs to no model or category is on no board."""
    counts = unscored_counts(benchmark=benchmark, experiment=experiment).get(judge.pk, {})
    found: dict[tuple[int, int], int] = {}
    for (leaf, model), number in counts.items():
        if leaf in leaves and model:
            place = (model, leaves[leaf].parent_id or leaf)
            found[place] = found.get(place, 0) + number
    return found


def _top_categories(
    leaves: Mapping[int, Category], judged: JudgedResponses, unscored: Mapping[tuple[int, int], int]
) -> dict[int, str]:
    """Those in which anything was judged, in the benchmark's order."""
    seen = set(judged.category.tolist()) | {category for _, category in unscored}
    tops = sorted((leaves[pk] for pk in seen), key=lambda category: (category.position, category.pk))
    return {category.pk: category.key for category in tops}


def _names(
    benchmark: Benchmark, frame: ScoreFrame, unscored: Mapping[tuple[int, int], int]
) -> dict[int, str]:
    missing = {model for model, _ in unscored} - set(frame.model_names)
    others = benchmark.workspace.language_models.filter(pk__in=missing).values_list("pk", "name")
    return {**frame.model_names, **dict(others)}

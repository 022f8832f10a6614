"""Which models of a board are ranked, those judged on enough instructions to be compared, and the order of all."""

from collections.abc import Mapping, Sequence

import numpy as np

from calibration.statistics.ranking.coverage import Unranked, unranked
from calibration.statistics.ties import settle_ties
from judging.leaderboards.filters import MODEL, WORDS, Filters
from judging.leaderboards.observations import Observations
from judging.scores.points import ModelScores

EVEN = 1e-9
"""Scores closer than this are equal: they differ only by the rounding of sums."""


def instructions_of(observations: Observations) -> dict[int, int]:
    """Return the number of different instructions on which each model was judged, by the model's pk."""
    judged = observations.response > 0
    pairs = np.unique(np.column_stack([observations.model[judged], observations.instruction[judged]]), axis=0)
    models, counts = np.unique(pairs[:, 0], return_counts=True)
    return {int(model): int(n) for model, n in zip(models, counts, strict=True)}


def unranked_models(observations: Observations, names: Mapping[int, str]) -> dict[str, Unranked]:
    """Return the models that are not ranked, by name, and why."""
    return {names[model]: why for model, why in unranked(instructions_of(observations)).items()}


def score_ranks(scores: Mapping[str, float]) -> dict[str, int]:
    """Return the ranks of scores by model, 1 for the best; equal scores share a rank."""
    return {model: 1 + sum(other > score + EVEN for other in scores.values()) for model, score in scores.items()}


def in_order(
    models: Sequence[ModelScores],
    filters: Filters,
    words: Mapping[tuple[str, str], float],
    columns: Mapping[int, str],
    without_rank: Mapping[str, Unranked],
) -> tuple[ModelScores, ...]:
    """Sort as the filters ask; models without such a value come last, and before them, by score, unranked ones."""
    if filters.sort == MODEL:
        return tuple(sorted(models, key=lambda row: row.model.lower(), reverse=filters.rising))

    def value(row: ModelScores) -> float | None:
        if filters.sort == WORDS:
            return words.get((row.model, ""))
        if filters.sort in row.categories:
            return row.categories[filters.sort].score
        return row.average if filters.sort not in columns.values() else None

    sign = 1 if filters.rising else -1
    values = [value(row) for row in models]
    settled = settle_ties(np.array([sign * (score or 0.0) for score in values])).tolist()
    by_score = filters.sort != WORDS
    ordered = sorted(
        zip(values, settled, models, strict=True),
        key=lambda row: (row[0] is None, by_score and row[2].model in without_rank, row[1], row[2].model),
    )
    return tuple(model for _value, _settled, model in ordered)

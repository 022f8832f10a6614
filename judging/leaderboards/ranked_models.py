"""Which models of a board are ranked, those judged on enough instructions to be compared, and the order of all."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np

from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.statistics.ties import settle_ties
from judging.leaderboards.filters import MODEL, WORDS, Filters
from judging.leaderboards.observations import Observations
from judging.scores.points import ModelScores

SHARE = 0.5
"""Of the median number of instructions of all models; a model with fewer is listed and not ranked."""


class Unranked(StrEnum):
    """Why a model with an overall score is listed and not ranked."""

    FEW = "few"
    NO_INTERVAL = "no_interval"


def instructions_of(observations: Observations) -> dict[int, int]:
    """Return the number of different instructions on which each model was judged, by the model's pk."""
    judged = observations.response > 0
    pairs = np.unique(np.column_stack([observations.model[judged], observations.instruction[judged]]), axis=0)
    models, counts = np.unique(pairs[:, 0], return_counts=True)
    return {int(model): int(n) for model, n in zip(models, counts, strict=True)}


def unranked_models(observations: Observations, names: Mapping[int, str]) -> dict[str, Unranked]:
    """Return the models that are not ranked, by name, and why.

    A model is not compared with others on fewer than half of the median number of instructions, nor without an interval
    of its own where the others have one: under MIN_CLUSTERS instructions on a board of as many or more.
    """
    counts = instructions_of(observations)
    if not counts:
        return {}
    median = float(np.median(list(counts.values())))
    some_have_intervals = max(counts.values()) >= MIN_CLUSTERS
    found = {}
    for model, n in counts.items():
        if n < SHARE * median:
            found[names[model]] = Unranked.FEW
        elif some_have_intervals and n < MIN_CLUSTERS:
            found[names[model]] = Unranked.NO_INTERVAL
    return found


def in_order(
    models: Sequence[ModelScores],
    filters: Filters,
    words: Mapping[tuple[str, str], float],
    columns: Mapping[int, str],
    unranked: Mapping[str, Unranked],
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
        key=lambda row: (row[0] is None, by_score and row[2].model in unranked, row[1], row[2].model),
    )
    return tuple(model for _value, _settled, model in ordered)

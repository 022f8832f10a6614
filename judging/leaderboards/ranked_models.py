"""Which models of a board are ranked: those judged on enough instructions to be compared with the others."""

from collections.abc import Mapping
from enum import StrEnum

import numpy as np

from calibration.statistics.resampling import MIN_CLUSTERS
from judging.leaderboards.observations import Observations

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

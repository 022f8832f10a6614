"""Which models are ranked, and which are only listed because they were judged on too few instructions. PURE."""

from collections.abc import Hashable, Mapping
from enum import StrEnum
from typing import TypeVar

import numpy as np

from calibration.statistics.codes import numbered
from calibration.statistics.ranking.comparisons import Games
from calibration.statistics.resampling import MIN_CLUSTERS, IntArray

SHARE = 0.5
"""Of the median number of instructions of all models; a model with fewer is listed and not ranked."""
Model = TypeVar("Model", bound=Hashable)


class Unranked(StrEnum):
    """Why a model with a score is listed and not ranked."""

    FEW = "few"
    NO_INTERVAL = "no_interval"


def unranked(instructions: Mapping[Model, int]) -> dict[Model, Unranked]:
    """Return the models that are not ranked, and why, by the number of different instructions of each.

    A model is not compared with others on fewer than SHARE of the median number, nor without an interval of its own
    where another has one: under MIN_CLUSTERS where another has as many or more.
    """
    if not instructions:
        return {}
    least = SHARE * float(np.median(list(instructions.values())))
    some_have_intervals = max(instructions.values()) >= MIN_CLUSTERS
    found = {}
    for model, n in instructions.items():
        if n < least:
            found[model] = Unranked.FEW
        elif some_have_intervals and n < MIN_CLUSTERS:
            found[model] = Unranked.NO_INTERVAL
    return found


def instructions_compared(games: Games) -> IntArray:
    """The number (k,) of different instructions, which are the clusters, on which each model was compared."""
    sides = np.concatenate([games.first, games.second])
    _, compared = numbered(sides * games.clusters + np.tile(games.cluster, 2))
    return np.bincount(compared // max(games.clusters, 1), minlength=len(games.models)).astype(np.int64)


def unranked_in(games: Games) -> dict[int, Unranked]:
    """Return the places of the models that are not ranked from these comparisons, and why."""
    return unranked(dict(enumerate(instructions_compared(games).tolist())))

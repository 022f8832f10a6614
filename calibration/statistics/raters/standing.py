"""Does a rater use the scale as the others do: correlation with the others' consensus, inverted and random raters. PURE."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import first_labels
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.agreement.such_correlations import correlation_of_sums, correlation_sums
from calibration.statistics.crossed import holm
from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import named_variance, these_raters
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray, IntArray, Labels, cluster_codes

Verdict: TypeAlias = Literal["inverted", "random", ""]
Unstated: TypeAlias = Literal["nobody", "few_instructions", "never_varies", ""]

LEVEL = 0.05
LEAST_RATERS = 3
"""Raters needed before one of them can be told from the typical one."""


@dataclass(frozen=True)
class Standing:
    """A named rater's correlation with the mean of the other raters' scores of the same `n` tasks.

    The ends are of 95 % for this rater among these others, over `instructions` instructions; `p` tests 0 and inverts the
    interval. `verdict` is corrected for the number of raters (Holm): "inverted" where the correlation is below 0, "random"
    where it is not shown to differ from 0 and lies below half of the median rater's. `unstated` says why there is none:
    "nobody" else rated a task of this rater, fewer than 20 instructions, or constant scores; the numbers are then nan.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    instructions: int
    verdict: Verdict
    unstated: Unstated


def standings(
    scores: FloatArray, *, items: Labels, raters: Labels, instructions: Labels
) -> Mapping[Hashable, Standing]:
    """Every rater's standing; one line per score (n,) of one criterion, a rater scores an item once."""
    values = np.asarray(scores, dtype=np.float64)
    item, m = cluster_codes(items)
    rater, people = cluster_codes(raters)
    instruction, _ = cluster_codes(instructions)
    given = np.bincount(item, minlength=m)
    total = sum_by(item, m, values)
    shared = given[item] > 1
    others = (total[item] - values) / np.maximum(given[item] - 1, 1)
    names = first_labels(raters, rater, people)
    found, scales = {}, {}
    for name, code in names:
        own = np.flatnonzero((rater == code) & shared)
        found[name], scales[name] = _standing(values[own], others[own], instruction[own])
    return _named(found, scales)


def _standing(own: FloatArray, others: FloatArray, instructions: IntArray) -> tuple[Standing, tuple[float, float, int]]:
    """The standing without a verdict, and its value and standard error on Fisher's scale with the number of clusters."""
    nothing = (np.nan, np.nan, 0)
    if not own.size:
        return _unstated(0, 0, "nobody"), nothing
    instruction, k = cluster_codes(instructions)
    if k < MIN_CLUSTERS:
        return _unstated(own.size, k, "few_instructions"), nothing
    try:
        variance = named_variance(correlation_sums(own, others, instruction), correlation_of_sums)
    except NoStatistic:
        return _unstated(own.size, k, "never_varies"), nothing
    ends = these_raters(variance, "correlation")
    if ends.not_stated is not None:
        return _unstated(own.size, k, "never_varies"), nothing
    value = float(variance.value[0])
    inside = float(np.clip(value, -1 + 1e-12, 1 - 1e-12))
    error = max(float(np.sqrt(variance.these[0])), 1e-12) / (1 - inside**2)
    scale = (float(np.arctanh(inside)), error, k)
    p = _two_sided(scale, 0.0)
    return Standing(value, float(ends.low[0]), float(ends.high[0]), p, int(own.size), k, "", ""), scale


def _named(
    found: Mapping[Hashable, Standing], scales: Mapping[Hashable, tuple[float, float, int]]
) -> Mapping[Hashable, Standing]:
    from scipy.special import stdtr

    stated = [name for name, one in found.items() if not one.unstated]
    if len(stated) < LEAST_RATERS:
        return found
    inverted = holm(np.array([found[name].p for name in stated])) < LEVEL
    half = float(np.arctanh(np.clip(np.median([found[name].value for name in stated]) / 2, 0.0, 0.999)))
    lower = []
    for name in stated:
        value, error, k = scales[name]
        lower.append(float(stdtr(k - 1, (value - half) / error)))
    far = holm(np.array(lower)) < LEVEL
    named: dict[Hashable, Verdict] = {}
    for place, name in enumerate(stated):
        if inverted[place] and found[name].value < 0:
            named[name] = "inverted"
        elif far[place] and half > 0 and found[name].low <= 0 <= found[name].high:
            named[name] = "random"
    return {
        name: Standing(**{**vars(one), "verdict": named[name]}) if name in named else one for name, one in found.items()
    }


def _two_sided(scale: tuple[float, float, int], against: float) -> float:
    from scipy.special import stdtr

    value, error, k = scale
    return float(2 * stdtr(k - 1, -abs(value - against) / error))


def _unstated(n: int, instructions: int, why: Unstated) -> Standing:
    return Standing(np.nan, np.nan, np.nan, np.nan, int(n), int(instructions), "", why)

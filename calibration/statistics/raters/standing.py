"""Does a rater use the scale as the others do: correlation with the others' consensus, inverted and random raters. PURE."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import first_labels
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.agreement.such_correlations import correlation_of_sums
from calibration.statistics.codes import numbered
from calibration.statistics.crossed import holm
from calibration.statistics.populations import named_correlation_ends
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, Labels, cluster_codes

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
    from scipy.special import stdtr

    values = np.asarray(scores, dtype=np.float64)
    item, m = cluster_codes(items)
    rater, people = cluster_codes(raters)
    instruction, _ = cluster_codes(instructions)
    given = np.bincount(item, minlength=m)
    total = sum_by(item, m, values)
    shared = given[item] > 1
    others = (total[item] - values) / np.maximum(given[item] - 1, 1)
    one = _correlations(values[shared], others[shared], rater[shared], instruction[shared], people)
    ends = named_correlation_ends(one.value, one.variance, np.maximum(one.instructions, 2))
    inside = np.clip(one.value, -1 + 1e-12, 1 - 1e-12)
    on_scale = np.arctanh(inside), np.maximum(np.sqrt(one.variance), 1e-12) / (1 - inside**2)
    p = 2 * stdtr(np.maximum(one.instructions - 1, 1), -np.abs(on_scale[0] / on_scale[1]))
    found: dict[Hashable, Standing] = {}
    scales: dict[Hashable, tuple[float, float, int]] = {}
    for name, code in first_labels(raters, rater, people):
        n, k = int(one.n[code]), int(one.instructions[code])
        if not n or k < MIN_CLUSTERS or not one.defined[code]:
            why: Unstated = "nobody" if not n else "few_instructions" if k < MIN_CLUSTERS else "never_varies"
            found[name] = Standing(np.nan, np.nan, np.nan, np.nan, n, k, "", why)
            continue
        low, high = float(ends.low[code]), float(ends.high[code])
        found[name] = Standing(float(one.value[code]), low, high, float(p[code]), n, k, "", "")
        scales[name] = float(on_scale[0][code]), float(on_scale[1][code]), k
    return _named(found, scales)


@dataclass(frozen=True)
class _Correlations:
    """Of every rater (people,): the correlation, its variance over instructions, answers, instructions, whether defined."""

    value: FloatArray
    variance: FloatArray
    n: IntArray
    instructions: IntArray
    defined: BoolArray


def _correlations(
    own: FloatArray, others: FloatArray, rater: IntArray, instruction: IntArray, people: int
) -> _Correlations:
    """Each rater's correlation, with the delete-one jackknife over instructions as in named_variance."""
    n = np.bincount(rater, minlength=people)
    width = int(instruction.max(initial=0)) + 1
    cell, cells = numbered(rater * width + instruction)
    owner = cells // width
    k = np.bincount(owner, minlength=people)
    x, y = (side - (sum_by(rater, people, side) / np.maximum(n, 1))[rater] for side in (own, others))
    parts = sum_by(cell, len(cells), np.column_stack([np.ones_like(x), x, y, x**2, y**2, x * y]))
    whole = sum_by(owner, people, parts)
    value, defined = correlation_of_sums(whole)
    left, stays = correlation_of_sums(whole[owner] - parts)
    defined &= np.bincount(owner, weights=~stays, minlength=people) == 0
    mean = sum_by(owner, people, left[:, 0]) / np.maximum(k, 1)
    squares = sum_by(owner, people, (left[:, 0] - mean[owner]) ** 2)
    return _Correlations(value[:, 0], squares * (k - 1) / np.maximum(k, 1), n, k, defined)


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

"""What a prediction from a judge's scores leaves over in each model, and whether it leaves the same in all. PURE.

Shared by the bridge from judge to judge and by the calibration carried to models that nobody labelled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.judges.estimates import holm
from calibration.statistics.resampling import FloatArray

Invariance: TypeAlias = Literal["holds", "fails", "cannot_tell"]

LEAST_OF_A_MODEL = 5
"""Fewest known scores of one model that say what a prediction leaves over in it."""
LEAST_MODELS = 6
"""Fewest models with known scores from which the variance between models is taken."""
PROMISED = 0.95
SIMULTANEOUS = 0.90


@dataclass(frozen=True)
class GroupResidual:
    """The mean of known minus predicted over a group's `n` responses, with simultaneous 90 % ends over all groups.

    `departs`: its distance from 0 is shown to exceed the margin, after Holm's correction over these groups.
    """

    name: str
    value: float
    low: float
    high: float
    n: int
    departs: bool


@dataclass(frozen=True)
class Residuals:
    """Groups' residuals against `margin` (in points of the scale predicted), and whether one prediction serves them all.

    "holds" if all ends lie within the margin, "fails" if one interval lies outside it, otherwise "cannot_tell".
    `left_out` groups have too few known scores.
    """

    groups: tuple[GroupResidual, ...]
    margin: float
    verdict: Invariance
    left_out: int


@dataclass(frozen=True)
class GroupMean:
    """A group's mean residual with the standard `error` and its degrees of `freedom`."""

    name: str
    value: float
    error: float
    freedom: float
    n: int


def against_margin(groups: Sequence[GroupMean], margin: float, left_out: int) -> Residuals:
    """The groups' simultaneous 90 % intervals by Student's t at 10 %/groups, the first step of Holm's (1979) procedure.

    So the verdict is that of Holm's procedure; `departs` follows its further steps.
    """
    from scipy.special import stdtr, stdtrit

    level = 1 - (1 - SIMULTANEOUS) / 2 / max(len(groups), 1)
    p: list[float | None] = []
    for group in groups:
        beyond = abs(group.value) - margin
        p.append(float(2 * stdtr(group.freedom, -beyond / group.error)) if group.error > 0 else float(beyond <= 0))
    tested = []
    for group, corrected in zip(groups, holm(p), strict=True):
        reach = float(stdtrit(group.freedom, level)) * group.error
        departs = abs(group.value) > margin and corrected is not None and corrected < 1 - SIMULTANEOUS
        tested.append(
            GroupResidual(group.name, group.value, group.value - reach, group.value + reach, group.n, departs)
        )
    verdict: Invariance = "cannot_tell"
    if any(group.low > margin or group.high < -margin for group in tested):
        verdict = "fails"
    elif tested and all(-margin <= group.low and group.high <= margin for group in tested):
        verdict = "holds"
    return Residuals(tuple(tested), margin, verdict, left_out)


def variance_between(means: FloatArray, variances: FloatArray) -> float:
    """tau^2 of means (k,) with sampling variances (k,), not below 0, by restricted maximum likelihood.

    Viechtbauer 2005, J. Educ. Behav. Statist. 30.
    """
    from scipy.optimize import minimize_scalar

    k = means.size

    def lost(tau2: float) -> float:
        weight = 1 / np.maximum(variances + tau2, 1e-18)
        centre = float((weight @ means) / weight.sum())
        total = np.log(variances + tau2 + 1e-18).sum() + np.log(weight.sum()) + weight @ (means - centre) ** 2
        return float(total)

    spread = float(means.var(ddof=1)) if k > 1 else 0.0
    if spread <= 0:
        return 0.0
    found = minimize_scalar(lost, bounds=(0.0, 4 * spread + float(variances.max())), method="bounded")
    return float(found.x) if lost(float(found.x)) < lost(0.0) else 0.0


def half_width(variance: float, freedom: float) -> float:
    """Half the width of a 95 % interval by Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + PROMISED) / 2)) * sqrt(variance)


def line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Slope and intercept of y on x (n,); a slope of 0 where x is constant."""
    away = x - x.mean()
    spread = float(away @ away)
    slope = float(away @ y) / spread if spread > 1e-12 else 0.0
    return slope, float(y.mean() - slope * x.mean())


def folds(instruction: np.ndarray, used: np.ndarray, number: int, seed: int) -> np.ndarray:
    """The fold of each row (n,) by its instruction's code from 0 up; those `used` are spread evenly over the folds."""
    fold = np.random.default_rng(seed).permutation(int(instruction.max()) + 1) % number
    fold[used] = np.random.default_rng(seed).permutation(used.size) % number
    return np.asarray(fold[instruction], dtype=np.int64)

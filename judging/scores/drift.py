"""Test whether a judge that answers the same tasks again has changed. PURE.

Each round is compared with the first by a paired t test over whole instructions. There is no last check, so check k of
m tests is held to 0.05/(m k (k + 1)): these levels add up to 0.05 over any number of rounds (Bonferroni with a summable
series), and a judge that never changes is ever flagged with a chance of at most 5 %.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import FloatArray, Labels, cluster_codes

FALSE_ALARMS = 0.05
TestName: TypeAlias = Literal["score", "people", "steadiness"]


@dataclass(frozen=True)
class SignificanceLevel:
    """A mean with its 95 % interval over whole instructions."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


@dataclass(frozen=True)
class Change:
    """This round minus the reference, paired by task. `reach` is the distance from 0 at which it counts at `alpha`."""

    value: float
    low: float
    high: float
    p: float
    alpha: float
    reach: float
    n: int
    clusters: int

    @property
    def flagged(self) -> bool:
        return self.p < self.alpha


def level_of_look(look: int, tests: int, false_alarms: float = FALSE_ALARMS) -> float:
    """Return the level of one test at check 1, 2, ..; over all checks and tests these sum to `false_alarms`."""
    if look < 1 or tests < 1:
        raise ValueError("Checks and tests are counted from 1.")
    return false_alarms / (tests * look * (look + 1))


def mean_level(values: FloatArray, clusters: Labels) -> SignificanceLevel:
    """Return the mean of values (n,). Raises TooFewRatings under two instructions."""
    from scipy.special import stdtrit

    error, k = _clustered_error(values, clusters)
    reach = float(stdtrit(k - 1, 0.975)) * error
    mean = float(values.mean())
    return SignificanceLevel(mean, mean - reach, mean + reach, values.size, k)


def change(
    reference: FloatArray,
    now: FloatArray,
    clusters: Labels,
    *,
    look: int,
    tests: int,
    false_alarms: float = FALSE_ALARMS,
) -> Change:
    """Compare the same tasks in the same order, arrays (n,). Raises TooFewRatings under two instructions."""
    from scipy.special import stdtr, stdtrit

    gap = np.asarray(now - reference, dtype=np.float64)
    error, k = _clustered_error(gap, clusters)
    value, alpha = float(gap.mean()), level_of_look(look, tests, false_alarms)
    # Where every instruction moved alike there is no spread to test with: then the sign test of k equal moves speaks.
    if error > 1e-12:
        p = 2 * float(stdtr(k - 1, -abs(value) / error))
    else:
        p = 1.0 if abs(value) < 1e-12 else 2.0 ** (1 - k)
    usual = float(stdtrit(k - 1, 0.975)) * error
    reach = float(stdtrit(k - 1, 1 - alpha / 2)) * error
    return Change(value, value - usual, value + usual, p, alpha, reach, gap.size, k)


def _clustered_error(values: FloatArray, clusters: Labels) -> tuple[float, int]:
    """Return the standard error of the mean over whole clusters, and the number of clusters."""
    codes, k = cluster_codes(clusters)
    if k < 2:
        raise TooFewRatings(k, 2, "instructions answered in both rounds")
    moved = sum_by(codes, k, values - values.mean()) / values.size
    return float(np.sqrt(k / (k - 1) * (moved @ moved))), k

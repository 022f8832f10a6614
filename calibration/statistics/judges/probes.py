"""What a change that must not matter does to a judge's verdicts: mean change and share of changed verdicts. PURE.

Every probe compares two verdicts of one judge on the same response. Intervals and p values take whole instructions as the
units: the variance of a ratio over clusters, with Student's t and clusters - 1 degrees of freedom.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.proportions import share_ends_of_clusters
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.crossed import holm
from calibration.statistics.design.needed import POWER, detectable
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, Labels, cluster_codes

FEW_CHANGES = 5
"""Under this many instructions with a change, no variance is estimated from them."""
LEVEL = 0.05
NOTHING = 1e-12

Ground: TypeAlias = Literal["t", "bound"]


@dataclass(frozen=True)
class ProbedVerdicts:
    """One probe: `change` (n,) is the verdict after the change minus that before, as a share of the scale, -1..1.

    `changed` (n,) says where any answer differs and `alone` (n,) where it differed when nothing was changed, NaN where
    this was not asked. `step` is the smallest change of a verdict that the scale allows, as a share of it.
    """

    change: FloatArray
    changed: BoolArray
    alone: FloatArray
    instruction: Labels
    step: float


@dataclass(frozen=True)
class ShareOfVerdicts:
    """A share, 0..1, with its 95 % interval over instructions."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ProbeEffect:
    """The effect of one probe on `n` verdicts about `instructions` instructions, as shares of the scale.

    `mean` has the 95 % interval `low` to `high`, and `p` is corrected by Holm over all tests of the judge. `ground`
    "bound": under FEW_CHANGES instructions changed, so that the interval is the widest that the share of instructions
    with a change allows, and the test is the sign test. `detectable` is the smallest mean change that this probe would
    have found with 80 % power at the strictest level of the correction, `detectable_share` the smallest share of
    verdicts that change in one direction by one step. `alone` is the share that changes where nothing was changed, on
    the same verdicts, and `p_changed` the corrected p of the difference to it; None where this was not asked.
    """

    mean: float
    low: float
    high: float
    p: float
    ground: Ground
    detectable: float
    detectable_share: float
    changed: ShareOfVerdicts
    alone: ShareOfVerdicts | None
    p_changed: float | None
    n: int
    instructions: int

    @property
    def found(self) -> bool:
        """Whether the mean change differs from 0 after the correction."""
        return self.p < LEVEL

    @property
    def unsteady(self) -> bool:
        """Whether verdicts change more often than where nothing was changed, after the correction."""
        return (
            self.p_changed is not None
            and self.alone is not None
            and self.p_changed < LEVEL
            and self.changed.value > self.alone.value
        )


def probe_effects(probes: Sequence[ProbedVerdicts]) -> list[ProbeEffect]:
    """Return the effects of all probes of one judge, corrected over them by Holm (1979).

    The family holds two tests a probe, of the mean and of the share that changes beyond what changes alone; one where
    the latter was not asked. Raises TooFewRatings where a probe has verdicts about fewer than MIN_CLUSTERS instructions.
    """
    tests = len(probes) + sum(bool(np.isfinite(probe.alone).any()) for probe in probes)
    raw = [_effect(probe, LEVEL / tests) for probe in probes]
    family = [effect.p for effect in raw] + [effect.p_changed for effect in raw if effect.p_changed is not None]
    corrected = holm(np.array(family)).tolist() if family else []
    shares = iter(corrected[len(raw) :])
    return [
        ProbeEffect(**{**vars(one), "p": p, "p_changed": None if one.p_changed is None else next(shares)})
        for one, p in zip(raw, corrected[: len(raw)], strict=True)
    ]


def share_alone(changed: BoolArray, instruction: Labels) -> ShareOfVerdicts:
    """Return the share of verdicts that differ, (n,), over whole instructions. Raises TooFewRatings under MIN_CLUSTERS."""
    code, count = cluster_codes(instruction)
    return _share(np.asarray(changed, dtype=np.float64), code, count)


def _effect(probe: ProbedVerdicts, level: float) -> ProbeEffect:
    from scipy.special import betaincinv, stdtr, stdtrit

    code, count = cluster_codes(probe.instruction)
    if count < MIN_CLUSTERS:
        raise TooFewRatings(count, MIN_CLUSTERS, "instructions")
    n = probe.change.size
    sums, entries = sum_by(code, count, probe.change), sum_by(code, count, np.ones(n))
    mean = float(sums.sum() / n)
    moved = int((np.abs(sums) > NOTHING).sum())
    signs_needed = min(count, ceil(1 + log2(1 / level)))
    share = float(betaincinv(signs_needed, count - signs_needed + 1, POWER))
    by_share = share * probe.step
    if moved < FEW_CHANGES:
        low, high = _bound(mean, moved, count)
        p, ground, size = _sign_test(sums), "bound", by_share
    else:
        error = _error(sums - mean * entries, count, n) or abs(mean) / (count + 1)
        reach, freedom = float(stdtrit(count - 1, 1 - LEVEL / 2)), count - 1
        low, high = max(-1.0, mean - reach * error), min(1.0, mean + reach * error)
        p, ground = float(min(1.0, 2 * stdtr(freedom, -abs(mean) / error))), "t"
        size = max(detectable(error, freedom, level=level), by_share)
    known = np.isfinite(probe.alone)
    alone, p_changed = None, None
    if known.any() and len(np.unique(code[known])) >= MIN_CLUSTERS:
        alone = share_alone(probe.alone[known] > 0, code[known])
        p_changed = _p_beyond(probe.changed[known] - probe.alone[known], code[known])
    return ProbeEffect(
        mean=mean,
        low=low,
        high=high,
        p=p,
        ground=ground,  # type: ignore[arg-type]
        detectable=min(1.0, size),
        detectable_share=share,
        changed=_share(np.asarray(probe.changed, dtype=np.float64), code, count),
        alone=alone,
        p_changed=p_changed,
        n=n,
        instructions=count,
    )


def _error(residuals: FloatArray, count: int, n: float) -> float:
    """The standard error of a ratio of sums over clusters; 0 where nothing varies."""
    variance = count / (count - 1) * float((residuals**2).sum()) / n**2
    return float(np.sqrt(variance)) if variance > NOTHING**2 else 0.0


def _bound(mean: float, moved: int, count: int) -> tuple[float, float]:
    """Ends that hold whatever the changes are: as many instructions change as Clopper and Pearson (1934) allow, each
    by the whole scale.
    """
    from scipy.special import betaincinv

    most = float(betaincinv(moved + 1, count - moved, 1 - LEVEL / 2)) if moved < count else 1.0
    return min(mean, -most), max(mean, most)


def _sign_test(sums: FloatArray) -> float:
    """Two-sided exact p of the signs of the clusters' sums; 1 where none differs from 0."""
    from scipy.special import bdtr

    up, down = int((sums > NOTHING).sum()), int((sums < -NOTHING).sum())
    if not up + down:
        return 1.0
    return float(min(1.0, 2 * bdtr(min(up, down), up + down, 0.5)))


def _p_beyond(difference: FloatArray, labels: Labels) -> float:
    """Two-sided p of the mean of differences (n,) against 0; by signs where few instructions differ."""
    from scipy.special import stdtr

    code, count = cluster_codes(labels)
    sums, entries = sum_by(code, count, difference), sum_by(code, count, np.ones(difference.size))
    if int((np.abs(sums) > NOTHING).sum()) < FEW_CHANGES:
        return _sign_test(sums)
    mean = float(sums.sum() / difference.size)
    error = _error(sums - mean * entries, count, difference.size) or abs(mean) / (count + 1)
    return float(min(1.0, 2 * stdtr(count - 1, -abs(mean) / error))) if error else 1.0


def _share(hit: FloatArray, code: Labels, count: int) -> ShareOfVerdicts:
    codes = np.asarray(code)
    sums, entries = sum_by(codes, count, hit), sum_by(codes, count, np.ones(hit.size))
    low, high = share_ends_of_clusters(sums, entries)
    return ShareOfVerdicts(float(hit.mean()), low, high)

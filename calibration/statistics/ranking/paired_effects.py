"""Bradley-Terry with covariates: the effects of being shown first or being longer between equal models. PURE.

The log-odds that the first side is preferred are strength of first - strength of second + the sum of effect x
covariate; the covariate of the position effect is always 1. A tie counts as half a win for each. The computation is our
own, by Newton steps.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.errors import ConstantScores, Undefined, not_converged, out_of_range
from calibration.statistics.ranking.bradley_terry import check_finite
from calibration.statistics.ranking.comparisons import Games, half_tie_wins, pair_tables
from calibration.statistics.ranking.newton import maximise
from calibration.statistics.ranking.rank_intervals import ranks
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray, IntArray

EffectIntervalKind: TypeAlias = Literal["cluster_robust95", "none"]
POSITION = "position"
SINGULAR = 1e-10
LARGEST = 12.0
"""Odds of 160,000 to 1: such an effect decides every comparison and has no finite estimate."""


@dataclass(frozen=True)
class PairedEffects:
    """Strengths without the effects, and the effects without the strengths.

    `strength` (k,), `low`, `high`, `rank` (k,): as in BradleyTerry, for responses with equal covariates. `effects`
    names the covariates; `effect` (q,) is the change in the log-odds of preferring the first side for one `unit` (q,) of
    each covariate: 1 for position, the root mean square of the others. `first_wins` is the probability that the first of
    two equal models is preferred. Intervals of the kind "cluster_robust95" are sandwich standard
    errors over whole clusters times t(clusters - 1); under 20 clusters the kind is "none" and the ends repeat the
    value.
    """

    models: tuple[Hashable, ...]
    strength: FloatArray
    low: FloatArray
    high: FloatArray
    rank: IntArray
    effects: tuple[str, ...]
    effect: FloatArray
    effect_low: FloatArray
    effect_high: FloatArray
    unit: FloatArray
    first_wins: float
    games: int
    interval_kind: EffectIntervalKind
    clusters: int


def length_contrast(first_chars: IntArray, second_chars: IntArray) -> FloatArray:
    """(first - second)/(first + second) of two lengths in characters, -1..1; two empty responses give 0."""
    first = np.asarray(first_chars, dtype=np.float64)
    second = np.asarray(second_chars, dtype=np.float64)
    if first.size and min(first.min(), second.min()) < 0:
        raise out_of_range("Lengths in characters", 0.0, np.inf, float(min(first.min(), second.min())))
    return np.asarray((first - second) / np.maximum(first + second, 1.0), dtype=np.float64)


def paired_effects(
    games: Games,
    covariates: Mapping[str, FloatArray] | None = None,
    *,
    position: bool = True,
    min_clusters: int = MIN_CLUSTERS,
) -> PairedEffects:
    """Strengths with the position effect and each of `covariates` (n,), first side minus second side.

    Raises ConstantScores for a covariate that is 0 throughout, Undefined (EffectNotIdentified, or NotConverged where an
    effect decides every game), and Undefined (DisconnectedComparisons) or UnboundedStrength as bradley_terry does.
    """
    from scipy.special import expit

    k, n = len(games.models), len(games)
    check_finite(games, *half_tie_wins(pair_tables(games).total))
    names, columns, unit = _columns(covariates or {}, position, n)
    design = np.zeros((n, k + len(names)))
    design[np.arange(n), games.first] = 1.0
    design[np.arange(n), games.second] = -1.0
    design[:, k:] = columns

    def objective(found: FloatArray, problems: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        ahead = found @ design.T
        value = (games.score * ahead - np.logaddexp(0.0, ahead)).sum(axis=1)
        chance = expit(ahead)
        information = np.stack([(design * (p * (1 - p))[:, None]).T @ design for p in chance])
        information[:, :k, :k] += np.trace(information[:, :k, :k], axis1=1, axis2=2)[:, None, None] / k**2
        return value, (games.score - chance) @ design, information

    start = np.zeros((1, k + len(names)))
    at_start = np.linalg.eigvalsh(objective(start, np.arange(1))[2][0])
    if at_start[0] < SINGULAR * at_start[-1]:
        raise Undefined(
            "EffectNotIdentified",
            f"These games cannot separate the effect of {', '.join(names)} from the models' strengths; "
            "show the same models on both sides, and with responses of differing length.",
        )
    fits, reached = maximise(objective, start, bound=LARGEST)
    found = fits[0]
    _, gradient, information = objective(fits, np.arange(1))
    if not reached[0]:
        raise not_converged("The fit with covariates", float(np.abs(gradient).max() / n), 1e-8)
    found[:k] -= found[:k].mean()
    low, high, kind = _ends(games, design, found, information[0], min_clusters)
    return PairedEffects(
        models=games.models,
        strength=found[:k],
        low=low[:k],
        high=high[:k],
        rank=ranks(found[:k]),
        effects=names,
        effect=found[k:],
        effect_low=low[k:],
        effect_high=high[k:],
        unit=unit,
        first_wins=float(expit(found[k])) if position else 0.5,
        games=n,
        interval_kind=kind,
        clusters=games.clusters,
    )


def _columns(
    covariates: Mapping[str, FloatArray], position: bool, n: int
) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Names, columns (n, q) in units, and units (q,)."""
    names, columns, units = [], [], []
    if position:
        names, columns, units = [POSITION], [np.ones(n)], [1.0]
    for name, values in covariates.items():
        column = np.asarray(values, dtype=np.float64)
        if column.shape != (n,) or not np.isfinite(column).all():
            raise ValueError(f"The covariate {name} needs one finite number for each of {n} comparisons.")
        # Not centred, because a difference of 0 must remain an advantage to neither side.
        unit = float(np.sqrt((column**2).mean()))
        if unit == 0:
            raise ConstantScores(f"values of the covariate {name}", 0.0)
        names.append(name)
        columns.append(column / unit)
        units.append(unit)
    return tuple(names), np.column_stack(columns) if columns else np.zeros((n, 0)), np.asarray(units)


def _ends(
    games: Games, design: FloatArray, found: FloatArray, information: FloatArray, min_clusters: int
) -> tuple[FloatArray, FloatArray, EffectIntervalKind]:
    """Sandwich intervals over clusters: scores summed by cluster between two inverses of the information."""
    from scipy.special import expit, stdtrit

    if games.clusters < min_clusters:
        return found, found, "none"
    left = (games.score - expit(design @ found))[:, None] * design
    sums = np.column_stack([np.bincount(games.cluster, weights=column, minlength=games.clusters) for column in left.T])
    spread = np.linalg.solve(information, sums.T)
    deviation = np.sqrt((spread**2).sum(axis=1) * games.clusters / (games.clusters - 1))
    reach = float(stdtrit(games.clusters - 1, 0.975)) * deviation
    return found - reach, found + reach, "cluster_robust95"

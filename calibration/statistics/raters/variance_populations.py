"""Intervals of variance components, and of what more raters and repeats do, for these and for such raters. PURE.

Instructions, raters and cells are left out in groups, and the variances combined as in calibration/statistics/crossed.py. A
component stands on the scale of the logarithm of its variance plus that of the noise in the mean of one of its levels, as
a sum of squares between levels does; a reliability stands on that of its logit. Models and orders are taken as given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp, log

import numpy as np

from calibration.statistics.crossed import Crossed, WhyNot, crossed_refits
from calibration.statistics.raters.decision import error_of, signal_of
from calibration.statistics.raters.variance import ConfoundedEffects, Scores, Sources, VarianceSplit
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray

GROUPS, GROUPS_OF_MANY = 40, 20
MANY_SCORES = 50_000
"""From how many scores on fewer groups are left out, because each takes its time."""
LEAST_RATERS = 3
NEAREST = 1e-6
"""How near to 0 and 1 a reliability is taken on the scale of its logit."""

Ends = tuple[float, float] | None


@dataclass(frozen=True)
class BothEnds:
    """The ends of the intervals for raters like these and for exactly these raters, None where not stated."""

    such: Ends
    these: Ends


@dataclass(frozen=True)
class SplitEnds:
    """Intervals of the components, in squared points, and of what a single answer and a repeat are worth.

    `reliability` is that of a score by one rater who is asked once or twice (0..1), `gain_of_repeat` their difference,
    None without repeats. `not_stated` says why no interval for raters like these is stated.
    """

    components: Mapping[str, BothEnds]
    reliability: Mapping[int, BothEnds]
    gain_of_repeat: BothEnds | None
    n_instructions: int
    n_raters: int
    not_stated: WhyNot


def split_ends(
    scores: FloatArray,
    sources: Sources,
    found: VarianceSplit,
    *,
    instructions: IntArray,
    raters: IntArray | None,
    seed: int = 0,
) -> SplitEnds:
    """Intervals for `found`, the split of scores (n,) by `sources`; instructions and raters (n,) are codes from 0 up.

    `raters` None: the data name no persons.
    """
    variances = {name: one.variance for name, one in found.components.items()}
    noise = sum(variances.get(name, 0.0) for name in ("residual", "repeat"))
    # The noise in the mean of a level: with it, a component near 0 has a logarithm.
    beside = np.array([max(noise * one.levels / found.n, 1e-9 * found.total) for one in found.components.values()])
    repeats = (1, 2) if "repeat" in variances else (1,)

    def statistic(of: FloatArray) -> FloatArray:
        named = dict(zip(sources.names, of.tolist(), strict=True))
        rates = [_reliability(named, asked) for asked in repeats]
        gains = [rates[1] - rates[0]] if len(rates) > 1 else []
        return np.array([*np.log(of + beside), *(log(rate / (1 - rate)) for rate in rates), *gains])

    def without_each(codes: IntArray, groups: int) -> tuple[FloatArray, BoolArray]:
        values = np.zeros((groups, len(value)))
        defined = np.ones((groups, len(value)), dtype=np.bool_)
        # The rows of each group, in order.
        ordered = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=groups))
        for group, rows in enumerate(np.split(ordered, ends[:-1])):
            try:
                values[group] = statistic(sources.estimate(summed, rows)[1])
            except ConfoundedEffects:
                defined[group] = False
        return values, defined

    summed = Scores(scores, sources)
    most = GROUPS if len(scores) < MANY_SCORES else GROUPS_OF_MANY
    value = statistic(np.array(list(variances.values())))
    left_out = crossed_refits(instructions, raters, without_each, value, most=most, groups=most, seed=seed).with_care()
    n_instructions, n_raters = int(left_out.n_instructions[0]), int(left_out.n_raters[0])
    why: WhyNot = left_out.not_stated[0] or ""
    if raters is None:
        why = "positions"
    elif why != "few_instructions" and n_raters < LEAST_RATERS:
        why = "few_raters"
    few = n_instructions < MIN_CLUSTERS or bool(np.isnan(left_out.these).any())
    ends = _all_ends(left_out, most, such=not why, these=not few)
    parts = len(beside)
    return SplitEnds(
        components={
            name: _back(both, partial(_variance, beside=c))
            for name, both, c in zip(sources.names, ends, beside.tolist(), strict=False)
        },
        reliability={
            asked: _back(both, lambda end: 1 / (1 + exp(-end)))
            for asked, both in zip(repeats, ends[parts:], strict=False)
        },
        gain_of_repeat=_back(ends[-1], lambda end: max(end, 0.0)) if len(repeats) > 1 else None,
        n_instructions=n_instructions,
        n_raters=n_raters,
        not_stated=why,
    )


def _variance(end: float, beside: float) -> float:
    return max(exp(end) - beside, 0.0)


def _reliability(variances: Mapping[str, float], asked: int) -> float:
    signal = signal_of(variances)
    whole = signal + error_of(variances, 1, asked)
    return min(max(signal / whole if whole > 0 else 0.0, NEAREST), 1 - NEAREST)


def _all_ends(found: Crossed, groups: int, *, such: bool, these: bool) -> list[BothEnds]:
    """The ends of every quantity, on the scale on which it stands."""
    # As many degrees of freedom as groups were left out.
    grouped = replace(found, n_instructions=np.minimum(found.n_instructions, groups))

    def pairs(stated: bool, of_such: bool) -> Sequence[Ends]:
        if not stated:
            return [None] * len(found.value)
        low, high = grouped.ends(such=of_such)
        return list(zip(low.tolist(), high.tolist(), strict=True))

    return [BothEnds(*both) for both in zip(pairs(such, True), pairs(these, False), strict=True)]


def _back(ends: BothEnds, turned: Callable[[float], float]) -> BothEnds:
    """The ends on the quantity's own scale."""
    return BothEnds(*(None if pair is None else (turned(pair[0]), turned(pair[1])) for pair in (ends.such, ends.these)))


def gain_of_rater(reliability: float) -> float:
    """What a second rater adds to the reliability (0..1) of a score by one: r(1 - r)/(1 + r)."""
    return reliability * (1 - reliability) / (1 + reliability)


def gain_of_rater_ends(single: BothEnds) -> BothEnds:
    """The ends of gain_of_rater from those of the reliability, between which it may be largest: at sqrt(2) - 1."""

    def of(pair: Ends) -> Ends:
        if pair is None:
            return None
        gains = [gain_of_rater(end) for end in pair]
        peak = 2**0.5 - 1
        return min(gains), gain_of_rater(peak) if pair[0] <= peak <= pair[1] else max(gains)

    return BothEnds(of(single.such), of(single.these))


def of_more_raters(single: BothEnds, raters: int) -> BothEnds:
    """The ends of the reliability of the mean of so many raters, from those of one (Spearman and Brown)."""
    return _back(single, lambda r: raters * r / (1 + (raters - 1) * r))

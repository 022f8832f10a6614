"""Sources of variance in the scores, and what more raters and repeats do to the reliability of a response's score."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibration.data.circumstances import Circumstances
from calibration.data.frames import NothingToRead, ScoreFrame
from calibration.reports.codec import Missing, part
from calibration.reports.people.populations import JACKKNIFE, EstimateForBoth, Interval, SuchRaters
from calibration.statistics.raters.decision import DecisionStudy, Design, TargetOutOfReach, cheapest_design, decide
from calibration.statistics.raters.variance import ConfoundedEffects, Sources, VarianceSplit, sources_of, split_by
from calibration.statistics.raters.variance_populations import (
    BothEnds,
    SplitEnds,
    gain_of_rater_ends,
    of_more_raters,
    split_ends,
)
from calibration.statistics.resampling import cluster_codes

BUDGET = 5.0
TARGETS = (0.7, 0.8, 0.9)
MOST_REPEATS, MOST_RATERS = 2, 10


@dataclass(frozen=True)
class ShownDesign(Design):
    """A design with the intervals of its reliability."""

    estimate: EstimateForBoth


@dataclass(frozen=True)
class Designs:
    """Designs of one or two answers from one to ten raters, and the best for `budget` answers per response.

    `gain_of_rater` and `gain_of_repeat` are the increases of reliability by a second rater and a repeat; that of a repeat is
    None where nobody was asked twice. `targets` maps a reliability to the cheapest design whose estimate reaches it, None if
    none does.
    """

    best: ShownDesign
    budget: float
    gain_of_rater: EstimateForBoth
    gain_of_repeat: EstimateForBoth | None
    targets: Mapping[str, Design | None]
    designs: list[ShownDesign]


@dataclass(frozen=True)
class Variances(VarianceSplit):
    """The variance of the scores by source, the `estimates` with their intervals, and the designs that follow from it."""

    estimates: Mapping[str, EstimateForBoth]
    design: Designs | Missing


def variance_part(frame: ScoreFrame, around: Circumstances, slots: set[int], seed: int) -> Variances:
    """Split the variance by source and derive the recommended designs; instructions are the items."""
    if not len(frame):
        raise NothingToRead("No person has rated anything.")
    models = frame.model if frame.model.all() and not frame.response_b.any() else None
    sides = around.first[around.rows(frame.assignment)]
    orders = sides if sides.all() and np.ptp(sides) > 0 else None
    items = frame.instruction if models is not None else frame.task
    sources = sources_of(items=items, raters=frame.rater, models=models, orders=orders)
    try:
        found = split_by(frame.value, sources)
    except ConfoundedEffects:
        # If every instruction has one model, or the like, only the response as a whole can be distinguished.
        sources = sources_of(items=frame.task, raters=frame.rater)
        found = split_by(frame.value, sources)
    ends = _ends(frame, sources, found, slots, seed)
    return Variances(
        **vars(found),
        estimates={
            name: _estimate(one.variance, ends.components[name], ends) for name, one in found.components.items()
        },
        design=part(lambda: _designs(found, ends)),
    )


def _ends(frame: ScoreFrame, sources: Sources, found: VarianceSplit, slots: set[int], seed: int) -> SplitEnds:
    named = None if slots & set(np.unique(frame.rater).tolist()) else cluster_codes(frame.rater)[0]
    instructions = cluster_codes(frame.instruction)[0]
    return split_ends(frame.value, sources, found, instructions=instructions, raters=named, seed=seed)


def _estimate(value: float, ends: BothEnds, found: SplitEnds) -> EstimateForBoth:
    low, high = ends.these or (None, None)
    such_low, such_high = ends.such or (None, None)
    over = (found.n_instructions, found.n_raters)
    return EstimateForBoth(
        value,
        Interval(low, high, "none" if ends.these is None else JACKKNIFE, found.n_instructions),
        SuchRaters(such_low, such_high, None, *over, found.not_stated),
    )


def _designs(found: VarianceSplit, ends: SplitEnds) -> Designs:
    variances = {name: component.variance for name, component in found.components.items()}
    study = decide(variances, budget=BUDGET)
    shown = [
        _shown(design, ends)
        for design in study.designs
        if design.repeats in ends.reliability and design.repeats <= MOST_REPEATS and design.raters <= MOST_RATERS
    ]
    repeat = ends.gain_of_repeat
    return Designs(
        best=_shown(study.best, ends),
        budget=BUDGET,
        gain_of_rater=_estimate(study.gain_of_rater, gain_of_rater_ends(ends.reliability[1]), ends),
        gain_of_repeat=None if repeat is None else _estimate(study.gain_of_repeat, repeat, ends),
        targets={str(target): _cheapest(study, target) for target in TARGETS},
        designs=sorted(shown, key=lambda design: (design.repeats, design.raters)),
    )


def _shown(design: Design, ends: SplitEnds) -> ShownDesign:
    both = of_more_raters(ends.reliability[design.repeats], design.raters)
    return ShownDesign(**vars(design), estimate=_estimate(design.reliability, both, ends))


def _cheapest(study: DecisionStudy, target: float) -> Design | None:
    try:
        return cheapest_design(study, target)
    except TargetOutOfReach:
        return None
